import type { Redis } from "ioredis";
import { reasonOf, unlessAborted } from "../masters.ts";
import { readingScript, scanScript, statesScript } from "../scripts.generated.ts";

// The keys of locks, as the masters have them. Tokens and queue members never leave a master: of a token its digest and its
// beginning are read, of a queue member the tag of its owner.

/** A key on one master. */
export interface KeyState {
  /** The Redis type of a key that is no lock; `undefined` for a lock and for a free key. */
  readonly otherType: string | undefined;
  /** Equal on two masters if the token is; `undefined`: the key is free. */
  readonly digest: string | undefined;
  /** Why the master would refuse a vote for a free key: it refuses writes, or is in quarantine. */
  readonly refusal: string | undefined;
  /** As `guardOf` in states.lua. */
  readonly guard: string;
  /** The beginning of the token: the tag of its owner; or `revoked:user@host`. */
  readonly shown: string;
  /** Its value has the form of a token. */
  readonly isToken: boolean;
  /** ms; `Infinity` for a key without an expiry. */
  readonly remaining: number;
  /** The length of the queue, and the tags of the first 50: without those of them that have crashed. */
  readonly waiting: number;
  readonly waiters: readonly string[];
}

export type Reply = readonly [
  kind: string,
  digest: string,
  shown: string,
  left: number,
  waiting: number,
  waiters: readonly string[],
  isToken: number,
  refusal: string,
  guard: string,
];

/** The states of these keys on one master, in their order. */
export async function statesOf(
  redis: Redis,
  keys: readonly string[],
  signal: AbortSignal,
): Promise<readonly KeyState[]> {
  const replies = await unlessAborted(
    signal,
    redis.eval(statesScript.source, keys.length, ...keys, Date.now()),
  );
  return (replies as readonly Reply[]).map(
    ([kind, digest, shown, left, waiting, waiters, hasToken, refusal, guard]) => ({
      otherType: kind === "string" || kind === "none" ? undefined : kind,
      digest: kind === "string" ? digest : undefined,
      refusal: refusal || undefined,
      guard,
      shown,
      isToken: hasToken === 1,
      remaining: kind === "none" ? 0 : left < 0 ? Number.POSITIVE_INFINITY : left,
      waiting,
      waiters,
    }),
  );
}

/** The keys of a readers-writer lock: that of the writer is like that of any lock, and the readers are in a sorted set. */
export function keysOfReadWriteLock(name: string): { readonly writer: string; readonly readers: string } {
  return { writer: `quorlock:rw:{${name}}:write`, readers: `quorlock:rw:{${name}}:readers` };
}

/** The name of the readers-writer lock whose readers have this key; `undefined` for any other key. */
export function lockOfReaders(key: string): string | undefined {
  return /^quorlock:rw:\{(.+)\}:readers$/s.exec(key)?.[1];
}

export const isOfReaders = (key: string): boolean => lockOfReaders(key) !== undefined;

/** The owners that read on one master, and the ms until the last read lock of each expires. */
export async function readersOf(
  redis: Redis,
  key: string,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number>> {
  const reply = (await unlessAborted(signal, redis.eval(readingScript.source, 1, key))) as (
    | string
    | number
  )[];
  const readers = new Map<string, number>();
  for (let place = reply.length - 2; place >= 0; place -= 2)
    readers.set(String(reply[place]), Number(reply[place + 1]));
  return readers;
}

/** One script looks at this many keys, which takes a master about a millisecond. */
const keysPerScan = 500;

/** How far a search for locks came on one master. */
export interface Scan {
  readonly master: string;
  readonly looked: number;
  readonly of: number;
  /** Of the keys that it looked at, those that this user may not read. */
  readonly unread: number;
  readonly locks: readonly string[];
  /** Why the master refused to search further. */
  readonly refusal: string | undefined;
}

/** Looks at `limit` keys, or at all, and at no more once the signal is aborted. */
export async function scan(redis: Redis, limit: number, signal: AbortSignal): Promise<Omit<Scan, "master">> {
  const locks = new Set<string>();
  let [looked, unread] = [0, 0];
  let cursor: string | undefined;
  let failure: string | undefined;
  const of = await unlessAborted(signal, redis.dbsize()).catch(() => 0);
  do {
    const count = Math.min(keysPerScan, limit - looked);
    try {
      const part = redis.eval(scanScript.source, 0, cursor ?? "0", String(count));
      const reply = (await unlessAborted(signal, part)) as [string, number, readonly string[], number];
      cursor = reply[0];
      looked += reply[1];
      for (const key of reply[2]) locks.add(key);
      unread += reply[3];
    } catch (error) {
      // A master that refuses ends its own search: the others go on.
      failure = reasonOf(error);
    }
  } while (failure === undefined && cursor !== "0" && looked < limit);
  const refusal = failure === "TIMEOUT" ? undefined : failure;
  return { looked: cursor === "0" ? of : Math.min(looked, of), of, unread, locks: [...locks], refusal };
}
