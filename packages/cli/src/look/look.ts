import type { Limit } from "../masters.ts";
import { counted } from "../output.ts";
import { type Answers, askEach, type Silent, silentOf } from "./ask.ts";
import type { Reached } from "./connections.ts";
import {
  isOfReaders,
  type KeyState,
  keysOfReadWriteLock,
  lockOfReaders,
  readersOf,
  type Scan,
  scan,
  statesOf,
} from "./keys.ts";
import { type OwnerView, ownerOf, ownersAt, ownersOf, type SeenOwner } from "./owners.ts";
import { commonestToken, type Key, type Verdict, verdictOf } from "./verdict.ts";

// The holders of locks, from the keys of the locks and the records that their owners write about themselves.

/** The number of keys in one script. */
const keysPerScript = 100;

/** `owner-gone`: held, and its owner has ended or has written no record for 30 s; `revoked`: by `quorlock release`. */
export type LockState = Verdict | "owner-gone" | "revoked";

export interface LockView {
  readonly resource: string;
  readonly state: LockState;
  /** The owner whose token most masters have, whether they are a quorum or not. */
  readonly owner: OwnerView | undefined;
  /** By whom the lock was revoked. */
  readonly revokedBy: string | undefined;
  /** ms since the epoch by the owner's clock; `undefined` until it is recorded, after 10 to 20 s. */
  readonly since: number | undefined;
  /** Until the last key has expired, unless it is extended, ms; `null` for a key without an expiry. */
  readonly remaining: number | null;
  /** The masters that have the owner's token, out of all. */
  readonly masters: number;
  readonly of: number;
  /** The masters that answered. */
  readonly answered: number;
  /** The masters that say otherwise: with another owner, `free`, or the reason why they gave no answer. */
  readonly others: readonly { readonly master: string; readonly says: string }[];
  /** In their order, at most 50. */
  readonly waiters: readonly OwnerView[];
  readonly waiting: number;
}

export interface Overview extends Answers {
  readonly owners: readonly SeenOwner[];
  readonly locks: readonly LockView[];
  /** With `--scan`: how many of its keys each master was searched for locks. */
  readonly scanned?: readonly Scan[];
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
  const { said, silent } = await keysOn(masters, resources, limit);
  const named = await ownersOf(masters, tagsIn(said), limit);
  // Another one may have resumed a lock of an owner that has quit: that is found among all.
  const owners = named.some(({ hasQuit }) => hasQuit) ? (await ownersAt(masters, limit)).owners : named;
  return locksFrom(resources, said, owners, { silent, of: masters.length });
}

interface Said {
  readonly master: string;
  readonly state: KeyState | undefined;
  readonly error: string;
}

/** The answer of each master about each resource. */
export async function keysOn(
  masters: readonly Reached[],
  resources: readonly string[],
  limit: Limit,
): Promise<{ readonly said: ReadonlyArray<readonly Said[]>; readonly silent: readonly Silent[] }> {
  const { answers, silent } = await askEach(masters, limit, async (redis, signal) => {
    const states: KeyState[] = [];
    for (let first = 0; first < resources.length; first += keysPerScript)
      states.push(...(await statesOf(redis, resources.slice(first, first + keysPerScript), signal)));
    return states;
  });
  const errors = new Map(silent.map(({ master, error }) => [master, error]));
  const isGuarded = answers.some((states) => states?.some(({ guard }) => guard !== "none"));
  const said = resources.map((_, index) =>
    masters.map(({ name }, place) => ({
      master: name,
      state: withQuarantine(answers[place]?.[index], isGuarded),
      error: errors.get(name) ?? "ERR",
    })),
  );
  return { said, silent: silentOf(masters, silent) };
}

/** Where masters are guarded, one that no guard has seen is in quarantine from the next question on. */
function withQuarantine(state: KeyState | undefined, isGuarded: boolean): KeyState | undefined {
  const quarantine = state?.guard === "none" ? (isGuarded ? "QUARANTINE" : "") : state?.guard;
  return state && { ...state, refusal: state.refusal ?? (quarantine || undefined) };
}

/** Of holders and waiters. A value that is no token has none. */
function tagsIn(said: ReadonlyArray<readonly Said[]>): readonly string[] {
  const shown = said.flat().flatMap(({ state }) => (state ? [state.shown, ...state.waiters] : []));
  return [...new Set(shown)].filter((tag) => /^[\da-f]{8}$/.test(tag));
}

function locksFrom(
  resources: readonly string[],
  said: ReadonlyArray<readonly Said[]>,
  owners: readonly SeenOwner[],
  answers: Answers,
): Locks {
  const byTag = new Map(owners.map((owner) => [owner.tag, owner]));
  return { locks: resources.map((resource, index) => lockFrom(resource, said[index]!, byTag)), ...answers };
}

function lockFrom(resource: string, said: readonly Said[], owners: ReadonlyMap<string, SeenOwner>): LockView {
  const keys = said.map(({ state }) => state);
  const digest = commonestToken(keys);
  const most = said.filter(({ state }) => digest !== undefined && state?.digest === digest);
  const shown = most[0]?.state?.shown ?? "";
  const isRevoked = shown.startsWith("revoked:");
  const isOwned = most.length > 0 && !isRevoked;
  const record = isOwned ? holderAmong(owners, shown, resource) : undefined;
  const ends = most.map(({ state }) => state!.remaining);
  const longest = keys.toSorted((one, other) => (other?.waiting ?? 0) - (one?.waiting ?? 0))[0];
  const verdict = verdictOf(keys);
  return {
    resource,
    state: verdict === "held" ? (isRevoked ? "revoked" : stateOfHeld(record)) : verdict,
    owner: isOwned ? ownerOf(record?.tag ?? shown, record) : undefined,
    revokedBy: isRevoked ? shown.slice("revoked:".length) : undefined,
    since: record?.locks.find(({ resources }) => resources.includes(resource))?.since,
    remaining: ends.includes(Number.POSITIVE_INFINITY) ? null : Math.max(0, ...ends),
    masters: most.length,
    of: said.length,
    answered: said.filter(({ state }) => state).length,
    others: said
      .filter((one) => !most.includes(one) && (most.length > 0 || saysOf(one.state, one.error) !== "free"))
      .map(({ master, state, error }) => ({ master, says: saysOf(state, error) })),
    waiters: (longest?.waiters ?? []).map((tag) => ownerOf(tag, owners.get(tag))),
    waiting: longest?.waiting ?? 0,
  };
}

/** The owner whose tag the token has; or, if it has quit and left the lock, one that has resumed it since, as its record says. */
function holderAmong(
  owners: ReadonlyMap<string, SeenOwner>,
  tag: string,
  resource: string,
): SeenOwner | undefined {
  const owner = owners.get(tag);
  if (!owner?.hasQuit) return owner;
  const since = ({ locks }: SeenOwner): number =>
    locks.find(({ resources }) => resources.includes(resource))?.since ?? 0;
  // The clock of a lock that is resumed was last read up to 10 s before. One that held it earlier did so for 10 s at least.
  return [...owners.values()].find((other) => !other.isGone && since(other) > since(owner) - 10_000) ?? owner;
}

const stateOfHeld = (owner?: SeenOwner): LockState => (owner?.isGone ? "owner-gone" : "held");

function saysOf(state: KeyState | undefined, error: string): string {
  if (!state) return error;
  return state.otherType
    ? `a ${state.otherType}, not a lock`
    : state.digest === undefined
      ? (state.refusal ?? "free")
      : state.shown;
}

/**
 * Owners and the locks in their records: those that were held for ten seconds at the owner's last record. Also those of
 * `known` resources; and with `search`, a number of keys of each master, the locks that are found among them.
 */
export async function overview(
  masters: readonly Reached[],
  limit: Limit,
  { search, known = [] }: { readonly search?: number | undefined; readonly known?: readonly string[] } = {},
): Promise<Overview> {
  const found = await ownersAt(masters, limit);
  const { owners } = found;
  const scans = search === undefined ? [] : await scansOf(masters, limit, search);
  const recorded = new Set([
    ...known,
    ...owners.flatMap(({ locks }) => locks.flatMap((lock) => lock.resources)),
  ]);
  const all = [...new Set([...recorded, ...scans.flatMap(({ locks }) => locks)])];
  const ofReaders = all.filter(isOfReaders);
  // Those who wait for a readers-writer lock wait for its exclusive key.
  const resources = [
    ...new Set(all.map((key) => (isOfReaders(key) ? keysOfReadWriteLock(lockOfReaders(key)!).writer : key))),
  ];
  const exclusive = await keysOn(masters, resources, limit);
  const { locks: held } = locksFrom(resources, exclusive.said, owners, { silent: [], of: masters.length });
  const shared = await readLocksOf(masters, ofReaders, owners, held, limit);
  // A record may be ten seconds old: a lock that was released since is left out.
  const locks = [...held, ...shared.locks]
    .filter(({ state, masters: count }) => count > 0 || (state !== "free" && state !== "unknown"))
    .sort((one, other) => (one.resource < other.resource ? -1 : 1));
  const silent = silentOf(masters, found.silent, exclusive.silent, shared.silent);
  return { owners, locks, silent, of: masters.length, ...(search !== undefined && { scanned: scans }) };
}

/** The read locks: one for each owner, which is not told apart from another read lock of the same owner. `held`: with the writers. */
async function readLocksOf(
  masters: readonly Reached[],
  keys: readonly string[],
  owners: readonly SeenOwner[],
  held: readonly LockView[],
  limit: Limit,
): Promise<Pick<Locks, "locks" | "silent">> {
  if (keys.length === 0) return { locks: [], silent: [] };
  const { answers, silent } = await askEach(masters, limit, (redis, signal) =>
    Promise.all(keys.map((key) => readersOf(redis, key, signal))),
  );
  const byTag = new Map(owners.map((owner) => [owner.tag, owner]));
  const locks = keys.flatMap((resource, index) => {
    const readers = answers.map((answer) => answer?.[index]);
    const writer = keysOfReadWriteLock(lockOfReaders(resource)!).writer;
    const { waiters, waiting } = held.find((lock) => lock.resource === writer)!;
    const tags = new Set([
      ...owners.map(({ tag }) => tag),
      ...readers.flatMap((each) => [...(each?.keys() ?? [])]),
    ]);
    return [...tags].flatMap((tag): LockView[] => {
      const record = byTag.get(tag);
      const since = record?.locks.find(({ resources }) => resources.includes(resource))?.since;
      const ends = readers.map((each) => each?.get(tag));
      const verdict = verdictOf(readingOf(readers, tag));
      // (One without a record that too few masters have is what an attempt has left.)
      if (since === undefined && verdict !== "held") return [];
      return [
        {
          resource,
          state: verdict === "held" ? stateOfHeld(record) : verdict,
          owner: ownerOf(tag, record),
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
          waiters,
          waiting,
        },
      ];
    });
  });
  return { locks, silent };
}

/** Readers do not keep each other out: what one of them has is told as if it were alone. */
function readingOf(
  answers: ReadonlyArray<ReadonlyMap<string, number> | undefined>,
  tag: string,
): ReadonlyArray<Key | undefined> {
  return answers.map(
    (readers) =>
      readers && { digest: readers.has(tag) ? tag : undefined, otherType: undefined, refusal: undefined },
  );
}

/** The keys that a master found until its time was over count. */
async function scansOf(masters: readonly Reached[], limit: Limit, search: number): Promise<readonly Scan[]> {
  const { answers } = await askEach(masters, limit, (redis, signal) => scan(redis, search, signal));
  return masters.flatMap(({ name }, place) => {
    const found = answers[place];
    return found ? { master: name, ...found } : [];
  });
}

/** The slots of a semaphore that are held or may be, and the waiters of the semaphore. */
export interface SemaphoreView extends Answers {
  readonly semaphore: string;
  readonly limit: number;
  readonly held: readonly LockView[];
  /** Those that nobody holds and nobody can take. */
  readonly blocked: readonly LockView[];
  /** How many may be held, for all that the masters without an answer may have. */
  readonly unknown: number;
  /** In their order, at most 51. */
  readonly waiters: readonly OwnerView[];
  readonly waiting: number;
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
  return {
    semaphore: name,
    limit: size,
    held: permits.filter(({ state }) => isHeld(state)),
    blocked: permits.filter(({ state }) => state === "no-quorum"),
    unknown: permits.filter(({ state }) => state === "unknown").length,
    waiters: [...first, ...(admission?.waiters ?? [])],
    waiting: first.length + (admission?.waiting ?? 0),
    ...answers,
  };
}

/** Whether nobody else can take it, since a quorum has one token. */
export function isHeld(state: LockState): boolean {
  return state === "held" || state === "owner-gone" || state === "revoked";
}

export interface ReadWriteView extends Answers {
  readonly readWriteLock: string;
  readonly writer: LockView;
  /** Those with a quorum of masters. */
  readonly readers: readonly OwnerView[];
  /** Whether others may read, for all that the masters without an answer may have. */
  readonly areAllKnown: boolean;
}

export async function readWriteLockAt(
  masters: readonly Reached[],
  name: string,
  limit: Limit,
): Promise<ReadWriteView> {
  const keys = keysOfReadWriteLock(name);
  const { said, silent } = await keysOn(masters, [keys.writer], limit);
  const ofReaders = await askEach(masters, limit, (redis, signal) => readersOf(redis, keys.readers, signal));
  const tags = new Set(ofReaders.answers.flatMap((answer) => [...(answer?.keys() ?? [])]));
  const verdicts = [...tags].map((tag) => ({ tag, verdict: verdictOf(readingOf(ofReaders.answers, tag)) }));
  const owners = await ownersOf(masters, [...new Set([...tagsIn(said), ...tags])], limit);
  // Any reader keeps writers from a master, also one that no other master has.
  const barred = said[0]!.map(({ state, ...one }, place) => {
    const count = ofReaders.answers[place]?.size ?? 0;
    return { ...one, state: state && count > 0 ? { ...state, refusal: counted(count, "reader") } : state };
  });
  const byTag = new Map(owners.map((owner) => [owner.tag, owner]));
  const answers = { silent: silentOf(masters, silent, ofReaders.silent), of: masters.length };
  return {
    readWriteLock: name,
    writer: locksFrom([keys.writer], [barred], owners, answers).locks[0]!,
    readers: verdicts
      .filter(({ verdict }) => verdict === "held")
      .map(({ tag }) => ownerOf(tag, byTag.get(tag))),
    areAllKnown:
      verdictOf(readingOf(ofReaders.answers, "")) !== "unknown" &&
      verdicts.every(({ verdict }) => verdict !== "unknown"),
    ...answers,
  };
}
