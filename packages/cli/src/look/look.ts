import { type OwnerRecord, ownerKey, ownersKey, recordIn } from "@quorlock/redlock/internal";
import type { Redis } from "ioredis";
import { codeOf, unlessAborted } from "../masters.ts";
import {
  type KeyState,
  keysOfReadWriteLock,
  type Reached,
  readersOf,
  type Scan,
  scan,
  statesOf,
} from "./keys.ts";

// The holders of locks, from the keys of the locks and the records that their owners write about themselves.

/** The number of owners that are read of one master, and of keys in one script. */
const maxOwners = 1000;
const keysPerScript = 100;

export interface OwnerView {
  readonly tag: string;
  /** `undefined`: it writes no record, or is gone. */
  readonly name: string | undefined;
  readonly host: string | undefined;
  readonly pid: number | undefined;
}

export interface LockView {
  readonly resource: string;
  /** The owner with a quorum of the masters that answered, or with the most; `undefined`: the resource is free. */
  readonly owner: OwnerView | undefined;
  /** By whom the lock was revoked. */
  readonly revokedBy: string | undefined;
  /** ms since the epoch by the owner's clock; `undefined` for the first ten seconds. */
  readonly since: number | undefined;
  /** Until the last key has expired, unless it is extended, ms; `null` for a key without an expiry. */
  readonly remaining: number | null;
  /** The masters that have the owner's token, out of all. */
  readonly masters: number;
  readonly of: number;
  /** The masters that say otherwise: with another owner, `free`, or the reason why they gave no answer. */
  readonly others: readonly { readonly master: string; readonly says: string }[];
  /** In their order, at most 50. */
  readonly waiters: readonly OwnerView[];
  readonly waiting: number;
}

export interface Overview {
  readonly owners: readonly OwnerRecord[];
  readonly locks: readonly LockView[];
  readonly silent: readonly { readonly master: string; readonly error: string }[];
  /** With `--scan`: how many of its keys each master was searched for locks. */
  readonly scanned?: readonly Omit<Scan, "locks">[];
}

/** The records of the owners in the index of one master. */
export async function recordsOn(redis: Redis, signal: AbortSignal): Promise<readonly OwnerRecord[]> {
  const tags = await unlessAborted(signal, redis.zrange(ownersKey(false), 0, String(maxOwners - 1)));
  // The documented permissions have GET, and not MGET.
  const texts = await unlessAborted(signal, Promise.all(tags.map((tag) => redis.get(ownerKey(tag, false)))));
  return tags.flatMap((tag, index) => recordIn(tag, texts[index]) ?? []);
}

/** Each owner once, by the record with the most locks: a master may have an older one. */
export function distinctOwners(records: readonly OwnerRecord[]): readonly OwnerRecord[] {
  const owners = new Map<string, OwnerRecord>();
  for (const record of records)
    if (record.locks.length >= (owners.get(record.tag)?.locks.length ?? 0)) owners.set(record.tag, record);
  return [...owners.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** The owners in the index of any master. */
export async function ownersAt(
  masters: readonly Reached[],
  signal: AbortSignal,
): Promise<readonly OwnerRecord[]> {
  const found = await Promise.all(
    // The other masters have the same records.
    masters.map(async ({ redis }) =>
      redis ? recordsOn(redis, signal).catch((): readonly OwnerRecord[] => []) : [],
    ),
  );
  return distinctOwners(found.flat());
}

/** The locks on these resources as the masters have them. */
export async function locksOn(
  masters: readonly Reached[],
  resources: readonly string[],
  owners: readonly OwnerRecord[],
  signal: AbortSignal,
): Promise<readonly LockView[]> {
  const answers = await Promise.all(
    masters.map(async ({ name, redis, error }) => {
      const states: KeyState[] = [];
      try {
        if (!redis) return { name, states, error };
        for (let first = 0; first < resources.length; first += keysPerScript)
          states.push(...(await statesOf(redis, resources.slice(first, first + keysPerScript), signal)));
        return { name, states, error };
      } catch (failure) {
        return { name, states: [], error: codeOf(failure) };
      }
    }),
  );
  return resources.map((resource, index) =>
    lockFrom(
      resource,
      answers.map(({ name, states, error }) => ({
        master: name,
        state: states[index],
        error: error ?? "ERR",
      })),
      owners,
    ),
  );
}

interface Said {
  readonly master: string;
  readonly state: KeyState | undefined;
  readonly error: string;
}

function lockFrom(resource: string, said: readonly Said[], owners: readonly OwnerRecord[]): LockView {
  const byDigest = new Map<string, Said[]>();
  for (const one of said) {
    const { digest } = one.state ?? {};
    if (digest !== undefined) byDigest.set(digest, [...(byDigest.get(digest) ?? []), one]);
  }
  const most = [...byDigest.values()].sort((one, other) => other.length - one.length)[0];
  const shown = most?.[0]?.state?.shown ?? "";
  const isRevoked = shown.startsWith("revoked:");
  const owner = most && !isRevoked ? ownerOf(shown, owners) : undefined;
  const record = owner && owners.find(({ tag }) => tag === owner.tag);
  const ends = (most ?? []).map(({ state }) => state!.remaining);
  const longest = said
    .map(({ state }) => state)
    .sort((one, other) => (other?.waiting ?? 0) - (one?.waiting ?? 0))[0];
  return {
    resource,
    owner,
    revokedBy: isRevoked ? shown.slice("revoked:".length) : undefined,
    since: record?.locks.find(({ resources }) => resources.includes(resource))?.since,
    remaining: ends.includes(Number.POSITIVE_INFINITY) ? null : Math.max(0, ...ends),
    masters: most?.length ?? 0,
    of: said.length,
    others: said
      .filter(
        (one) =>
          !most?.includes(one) && (most !== undefined || one.state === undefined || one.state.otherType),
      )
      .map(({ master, state, error }) => ({ master, says: saysOf(state, error) })),
    waiters: (longest?.waiters ?? []).map((tag) => ownerOf(tag, owners)),
    waiting: longest?.waiting ?? 0,
  };
}

function saysOf(state: KeyState | undefined, error: string): string {
  if (!state) return error;
  return state.otherType
    ? `a ${state.otherType}, not a lock`
    : state.digest === undefined
      ? "free"
      : state.shown;
}

function ownerOf(tag: string, owners: readonly OwnerRecord[]): OwnerView {
  const { name, host, pid } = owners.find((owner) => owner.tag === tag) ?? {};
  return { tag, name, host, pid };
}

/** A search of the keys of each master for locks. */
export interface Search {
  /** The number of keys that it looks at on each. */
  readonly limit: number;
  /** Ends the search; what was found until then is shown. */
  readonly until: AbortSignal;
}

/**
 * Owners and the locks in their records: those that were held for ten seconds at the owner's last record. With `search`
 * also the locks that are found among the keys.
 */
export async function overview(
  masters: readonly Reached[],
  signal: AbortSignal,
  search?: Search,
): Promise<Overview> {
  const owners = await ownersAt(masters, signal);
  const scans: Scan[] = [];
  for (const { redis, ...master } of search ? masters : [])
    if (redis) scans.push(await scan({ redis, ...master }, search!.limit, search!.until));
  const recorded = owners.flatMap(({ locks }) => locks.flatMap((lock) => lock.resources));
  const resources = [...new Set([...recorded, ...scans.flatMap(({ locks }) => locks)])].sort();
  const locks = await locksOn(masters, resources, owners, signal);
  const silent = masters.flatMap(({ name, error }) => (error === undefined ? [] : [{ master: name, error }]));
  // A record may be ten seconds old: a lock that was released since is left out.
  const held = locks.filter(({ masters: count }) => count > 0);
  if (!search) return { owners, locks: held, silent };
  const scanned = scans.map(({ master, looked, of }) => ({ master, looked, of }));
  return { owners, locks: held, silent, scanned };
}

/** The slots of a semaphore that are held, and the waiters of the semaphore. */
export interface SemaphoreView {
  readonly semaphore: string;
  readonly limit: number;
  readonly held: readonly LockView[];
  readonly waiters: readonly OwnerView[];
}

/** A waiter of a semaphore waits for all slots at once, and those after it for the admission lock. */
export async function semaphoreAt(
  masters: readonly Reached[],
  name: string,
  limit: number,
  signal: AbortSignal,
): Promise<SemaphoreView> {
  const slots = Array.from({ length: limit }, (_, index) => `{${name}}:slot:${index}`);
  const owners = await ownersAt(masters, signal);
  const [admission, ...locks] = await locksOn(masters, [`{${name}}:admission`, ...slots], owners, signal);
  const first = admission?.owner ? [admission.owner] : [];
  const held = locks.filter(({ owner, revokedBy }) => owner || revokedBy !== undefined);
  return { semaphore: name, limit, held, waiters: [...first, ...(admission?.waiters ?? [])] };
}

export interface ReadWriteView {
  readonly readWriteLock: string;
  readonly writer: LockView;
  /** Those with a quorum of masters. */
  readonly readers: readonly OwnerView[];
}

export async function readWriteLockAt(
  masters: readonly Reached[],
  name: string,
  signal: AbortSignal,
): Promise<ReadWriteView> {
  const owners = await ownersAt(masters, signal);
  const [writer] = await locksOn(masters, [keysOfReadWriteLock(name).writer], owners, signal);
  const answers = await Promise.all(
    masters.map(
      async ({ redis }): Promise<readonly string[]> =>
        redis ? readersOf(redis, name, signal).catch((): readonly string[] => []) : [],
    ),
  );
  const count = (tag: string): number => answers.filter((tags) => tags.includes(tag)).length;
  const readers = [...new Set(answers.flat())].filter((tag) => count(tag) > masters.length / 2);
  return { readWriteLock: name, writer: writer!, readers: readers.map((tag) => ownerOf(tag, owners)) };
}
