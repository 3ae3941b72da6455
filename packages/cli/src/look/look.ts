import { type OwnerRecord, ownerKey, ownersKey, recordIn } from "@quorlock/redlock/internal";
import type { Redis } from "ioredis";
import { codeOf, type Limit, unlessAborted, within } from "../masters.ts";
import type { Reached } from "./connections.ts";
import {
  isOfReaders,
  type KeyState,
  keysOfReadWriteLock,
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
  /** The masters that answered: unless they are a quorum, a resource without an owner may be locked. */
  readonly answered: number;
  /** The masters that say otherwise: with another owner, `free`, or the reason why they gave no answer. */
  readonly others: readonly { readonly master: string; readonly says: string }[];
  /** In their order, at most 50. */
  readonly waiters: readonly OwnerView[];
  readonly waiting: number;
}

/** A master that gave no answer, and why. */
export interface Silent {
  readonly master: string;
  readonly error: string;
}

/** The masters without an answer at any step; if the others are no quorum, locks may be missing. */
interface Answers {
  readonly of: number;
  readonly silent: readonly Silent[];
}

export function hasQuorum({ of, silent }: Answers): boolean {
  return of - silent.length > of / 2;
}

/** The answers of the masters, in their order, `undefined` without one; and the masters without. */
async function askEach<T>(
  masters: readonly Reached[],
  limit: Limit,
  ask: (redis: Redis, signal: AbortSignal) => Promise<T>,
): Promise<{ readonly answers: readonly (T | undefined)[]; readonly silent: readonly Silent[] }> {
  const silent: Silent[] = [];
  const answers = await Promise.all(
    masters.map(async ({ name, redis, error }) => {
      try {
        if (redis) return await within(limit, (signal) => ask(redis, signal));
        silent.push({ master: name, error: error ?? "ERR" });
      } catch (failure) {
        silent.push({ master: name, error: codeOf(failure) });
      }
      return undefined;
    }),
  );
  return { answers, silent };
}

/** Each master once, by its first error, in the order of the masters. */
function silentOf(masters: readonly Reached[], ...all: readonly (readonly Silent[])[]): readonly Silent[] {
  const silent = all.flat();
  return masters.flatMap(({ name }) => silent.find(({ master }) => master === name) ?? []);
}

export interface Overview extends Answers {
  readonly owners: readonly OwnerRecord[];
  readonly locks: readonly LockView[];
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

/** The owners in the index of any master: all have the same records. */
async function ownersAt(
  masters: readonly Reached[],
  limit: Limit,
): Promise<{ readonly owners: readonly OwnerRecord[]; readonly silent: readonly Silent[] }> {
  const { answers, silent } = await askEach(masters, limit, recordsOn);
  return { owners: distinctOwners(answers.flatMap((records) => records ?? [])), silent };
}

export interface Locks extends Answers {
  readonly locks: readonly LockView[];
}

/** The locks on these resources as the masters have them, with their owners as far as a record names them. */
export async function locksOn(
  masters: readonly Reached[],
  resources: readonly string[],
  limit: Limit,
): Promise<Locks> {
  const { owners } = await ownersAt(masters, limit);
  return locksOf(masters, resources, owners, limit);
}

async function locksOf(
  masters: readonly Reached[],
  resources: readonly string[],
  owners: readonly OwnerRecord[],
  limit: Limit,
): Promise<Locks> {
  const { answers, silent } = await askEach(masters, limit, async (redis, signal) => {
    const states: KeyState[] = [];
    for (let first = 0; first < resources.length; first += keysPerScript)
      states.push(...(await statesOf(redis, resources.slice(first, first + keysPerScript), signal)));
    return states;
  });
  const locks = resources.map((resource, index) => {
    const said = masters.map(({ name }, place) => ({
      master: name,
      state: answers[place]?.[index],
      error: silent.find(({ master }) => master === name)?.error ?? "ERR",
    }));
    return lockFrom(resource, said, owners);
  });
  return { locks, silent: silentOf(masters, silent), of: masters.length };
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
    answered: said.filter(({ state }) => state).length,
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

/**
 * Owners and the locks in their records: those that were held for ten seconds at the owner's last record. With `search`,
 * a number of keys of each master, also the locks that are found among them.
 */
export async function overview(
  masters: readonly Reached[],
  limit: Limit,
  search?: number,
): Promise<Overview> {
  const found = await ownersAt(masters, limit);
  const { owners } = found;
  const scans = search === undefined ? [] : await scansOf(masters, limit, search);
  const recorded = new Set(owners.flatMap(({ locks }) => locks.flatMap((lock) => lock.resources)));
  const [ofReaders, others] = [
    [...recorded].filter(isOfReaders),
    [...recorded].filter((key) => !isOfReaders(key)),
  ];
  const resources = [...new Set([...others, ...scans.flatMap(({ locks }) => locks)])];
  const [exclusive, shared] = await Promise.all([
    locksOf(masters, resources, owners, limit),
    readLocksOf(masters, ofReaders, owners, limit),
  ]);
  // A record may be ten seconds old: a lock that was released since is left out.
  const locks = [...exclusive.locks, ...shared.locks]
    .filter(({ masters: count }) => count > 0)
    .sort((one, other) => (one.resource < other.resource ? -1 : 1));
  const silent = silentOf(masters, found.silent, exclusive.silent, shared.silent);
  const all = { owners, locks, silent, of: masters.length };
  if (search === undefined) return all;
  return { ...all, scanned: scans.map(({ master, looked, of: keys }) => ({ master, looked, of: keys })) };
}

/** The read locks in the records: one for each owner, which is not told apart from another read lock of the same owner. */
async function readLocksOf(
  masters: readonly Reached[],
  keys: readonly string[],
  owners: readonly OwnerRecord[],
  limit: Limit,
): Promise<Pick<Locks, "locks" | "silent">> {
  if (keys.length === 0) return { locks: [], silent: [] };
  const { answers, silent } = await askEach(masters, limit, (redis, signal) =>
    Promise.all(keys.map((key) => readersOf(redis, key, signal))),
  );
  const locks = keys.flatMap((resource, index) =>
    owners.flatMap(({ tag, locks: recorded }): LockView[] => {
      const since = recorded.find(({ resources }) => resources.includes(resource))?.since;
      if (since === undefined) return [];
      const ends = masters.map((_, place) => answers[place]?.[index]?.get(tag));
      return [
        {
          resource,
          owner: ownerOf(tag, owners),
          revokedBy: undefined,
          since,
          remaining: Math.max(0, ...ends.map((end) => end ?? 0)),
          masters: ends.filter((end) => end !== undefined).length,
          of: masters.length,
          answered: answers.filter(Boolean).length,
          others: masters.flatMap(({ name }, place) => {
            if (ends[place] !== undefined) return [];
            const error = silent.find(({ master }) => master === name)?.error ?? "ERR";
            return [{ master: name, says: answers[place] ? "free" : error }];
          }),
          waiters: [],
          waiting: 0,
        },
      ];
    }),
  );
  return { locks, silent };
}

/** The keys that a master found until its time was over count. */
async function scansOf(masters: readonly Reached[], limit: Limit, search: number): Promise<readonly Scan[]> {
  const { answers } = await askEach(masters, limit, (redis, signal) => scan(redis, search, signal));
  return masters.flatMap(({ name }, place) => {
    const found = answers[place];
    return found ? { master: name, ...found } : [];
  });
}

/** The slots of a semaphore that are held, and the waiters of the semaphore. */
export interface SemaphoreView extends Answers {
  readonly semaphore: string;
  readonly limit: number;
  readonly held: readonly LockView[];
  readonly waiters: readonly OwnerView[];
}

/** A waiter of a semaphore waits for all slots at once, and those after it for the admission lock. */
export async function semaphoreAt(
  masters: readonly Reached[],
  name: string,
  size: number,
  limit: Limit,
): Promise<SemaphoreView> {
  const slots = Array.from({ length: size }, (_, index) => `{${name}}:slot:${index}`);
  const { locks, ...answers } = await locksOn(masters, [`{${name}}:admission`, ...slots], limit);
  const [admission, ...permits] = locks;
  const first = admission?.owner ? [admission.owner] : [];
  const held = permits.filter(({ owner, revokedBy }) => owner || revokedBy !== undefined);
  const waiters = [...first, ...(admission?.waiters ?? [])];
  return { semaphore: name, limit: size, held, waiters, ...answers };
}

export interface ReadWriteView extends Answers {
  readonly readWriteLock: string;
  readonly writer: LockView;
  /** Those with a quorum of masters. */
  readonly readers: readonly OwnerView[];
}

export async function readWriteLockAt(
  masters: readonly Reached[],
  name: string,
  limit: Limit,
): Promise<ReadWriteView> {
  const { owners } = await ownersAt(masters, limit);
  const keys = keysOfReadWriteLock(name);
  const { locks, of, silent } = await locksOf(masters, [keys.writer], owners, limit);
  const ofReaders = await askEach(masters, limit, (redis, signal) => readersOf(redis, keys.readers, signal));
  const tags = ofReaders.answers.flatMap((answer) => [...(answer?.keys() ?? [])]);
  const count = (tag: string): number => tags.filter((other) => other === tag).length;
  const readers = [...new Set(tags)].filter((tag) => count(tag) > masters.length / 2);
  return {
    readWriteLock: name,
    writer: locks[0]!,
    readers: readers.map((tag) => ownerOf(tag, owners)),
    silent: silentOf(masters, silent, ofReaders.silent),
    of,
  };
}
