import { InvalidArgumentError, LockLostError, type Owner, ResourceLockedError } from "../errors.ts";
import type { RedlockAbortSignal, Routine } from "../holding/lock.ts";
import { type DetachedLock, Lock } from "../holding/lock.ts";
import { Renewal } from "../holding/renewal.ts";
import { runWithLock } from "../holding/using.ts";
import { Attempts } from "../protocol/execution-stats.ts";
import type { Inspection } from "../protocol/inspect.ts";
import { Lease } from "../protocol/lease.ts";
import { Released } from "../protocol/release.ts";
import { tagIn } from "../protocol/token.ts";
import { claimKeysOf } from "../redis/commands.ts";
import { RedisNode } from "../redis/redis-node.ts";
import { type AcquireOptions, Redlock, type RedlockInternals } from "../redlock.ts";
import { placeOf, routineAmong } from "../settings/options.ts";
import { checkName, resourcesOf } from "../settings/resources.ts";
import {
  checkExtension,
  checkHolding,
  checkTtl,
  nodeTimeoutFor,
  type Settings,
  withoutWaiting,
} from "../settings/settings.ts";
import { isAwaitedByRoutineOf } from "../time/async-context.ts";
import { ownCall } from "../waiting/failures.ts";
import { WaitingMark } from "./waiting-mark.ts";

export type ReadOptions = Omit<AcquireOptions, "parent">;

export interface WriteOptions extends ReadOptions {
  /**
   * A read lock of the caller. While it is held, writing is refused (InvalidArgumentError): two readers that
   * wait for each other to stop reading would both wait for ever. Release it first, and read again after the
   * write lock is granted.
   */
  readonly from?: Lock | undefined;
}

/** An exclusive lock for writing. */
export type WriteLock = Lock & {
  /**
   * Continues as a reader, without another writer in between. Resolves to the read lock; this lock counts as
   * released from the call on. The read lock lasts for at least `ttl` ms, by default the ttl of this one. If
   * no quorum confirms it, it is still a read lock for the time that was left, with `state` "unknown"; other
   * readers are admitted on the masters that have confirmed it. Each master has the `nodeTimeout` of the call that
   * acquired this lock.
   * @throws LockLostError if this lock is lost, released or detached; InvalidArgumentError for a `ttl` that does not go
   * with the settings of that call.
   * @example
   * ```ts
   * const reading = await writing.downgrade(2_000);
   * ```
   */
  downgrade(ttl?: number): Promise<Lock>;
};

/** Like {@link Routine}, with a write lock. */
export type WriteRoutine<T> = (signal: RedlockAbortSignal, lock: WriteLock) => T | Promise<T>;

/** A reader, as one master has it. */
export interface Reader {
  /** As {@link Inspection.tag}. */
  readonly tag: string | undefined;
  readonly holder: Owner | undefined;
  /** ms. */
  readonly remaining: number;
}

/** The state of a readers-writer lock on one master: `owner`, `tag`, `holder` and `since` are those of the writer. */
export interface ReadWriteInspection extends Inspection {
  /** At most 50, those that stay for longest first. */
  readonly readers: readonly Reader[];
}

const readers = placeOf("the readers of a ReadWriteLock", ["parent"], []);
const writers = placeOf("the writers of a ReadWriteLock", ["parent"], ["from"]);

/** One call, with its settings. */
interface Call {
  readonly isShared: boolean;
  readonly ttl: number;
  readonly settings: Settings;
  readonly signal: AbortSignal | undefined;
}

/**
 * Many readers or one writer, on the same masters as the locks of `redlock`: each of them needs a majority,
 * and each master admits readers or a writer (PROTOCOL 10.3). The result is a `Lock` with all its guarantees.
 *
 * Calls that wait are served in the order in which they began, like those of `acquire`; readers that follow each other are
 * let in together (PROTOCOL 10.4).
 */
export class ReadWriteLock {
  readonly name: string;
  readonly #internals: RedlockInternals;
  readonly #keys: ReturnType<typeof claimKeysOf>;

  /**
   * @param name the name of the lock. The keys are `quorlock:rw:{name}:write`, `:readers`, `:rounds` and `:marks`.
   * @throws InvalidArgumentError for nodes without scripts, and on a Redis Cluster for a name that begins with `}`.
   */
  constructor(redlock: Redlock, name: string) {
    this.#internals = Redlock.internalsOf(redlock);
    if (!this.#internals.context.nodes.every((node) => node instanceof RedisNode)) {
      throw new InvalidArgumentError("readers-writer locks need masters that run scripts");
    }
    checkName("readers-writer lock", name, this.#internals.context.hasCluster);
    this.#keys = claimKeysOf(name);
    this.name = name;
  }

  /**
   * Waits until no writer holds the lock, and no writer that called before waits for it; then excludes writers for `ttl` ms.
   * @throws ResourceLockedError if there was a writer all the time; otherwise like {@link Redlock.acquire}.
   * @example
   * ```ts
   * const report = new ReadWriteLock(redlock, "report");
   * await using reading = await report.read(5_000); // beside other readers
   * ```
   */
  async read(ttl: number, options?: ReadOptions): Promise<Lock> {
    return this.#acquire(this.#call(true, ttl, options));
  }

  /**
   * The same without waiting: `null` if a writer holds the lock or waits for it.
   * @example
   * ```ts
   * const reading = await report.tryRead(5_000);
   * if (reading === null) return; // a writer holds it, or waits
   * ```
   */
  async tryRead(ttl: number, options?: ReadOptions): Promise<Lock | null> {
    return this.#try(this.#call(true, ttl, options));
  }

  /**
   * Waits until there is no other reader or writer, and excludes all others for `ttl` ms. Readers that arrive
   * while it waits come after it; present readers may stay as long as they extend.
   * @throws ResourceLockedError if others held the lock all the time; otherwise like {@link Redlock.acquire}.
   * @example
   * ```ts
   * await using writing = await report.write(5_000, { waitTimeout: 10_000 });
   * ```
   */
  async write(ttl: number, options?: WriteOptions): Promise<WriteLock> {
    const call = this.#call(false, ttl, options);
    return this.#writeLockOf(await this.#acquire(call), call.settings);
  }

  /**
   * The same without waiting: `null` if others read or write.
   * @example
   * ```ts
   * const writing = await report.tryWrite(5_000);
   * if (writing === null) return; // others read or write
   * ```
   */
  async tryWrite(ttl: number, options?: WriteOptions): Promise<WriteLock | null> {
    const call = this.#call(false, ttl, options);
    const lock = await this.#try(call);
    return lock && this.#writeLockOf(lock, call.settings);
  }

  /**
   * Acquires a read lock, runs `routine` while it is kept extended, and releases it, like {@link
   * Redlock.using}.
   * @example
   * ```ts
   * const text = await report.usingRead(5_000, () => load());
   * ```
   */
  usingRead<T>(ttl: number, routine: Routine<T>): Promise<T>;
  usingRead<T>(ttl: number, options: ReadOptions | undefined, routine: Routine<T>): Promise<T>;
  async usingRead<T>(ttl: number, ...given: [ReadOptions | Routine<T> | undefined, Routine<T>?]): Promise<T> {
    const { options, routine } = routineAmong<ReadOptions, Routine<T>>("usingRead", ttl, given);
    const call = this.#call(true, ttl, options);
    checkHolding(ttl, call.settings, options?.automaticExtensionThreshold);
    return runWithLock(await this.#acquire(call), ttl, call.settings, call.signal, routine);
  }

  /**
   * Acquires the write lock, runs `routine` while it is kept extended, and releases it, like {@link
   * Redlock.using}. After a downgrade in the routine, the read lock is kept extended and released in the same
   * way, and has its own signal.
   * @example
   * ```ts
   * await report.usingWrite(5_000, async (signal, lock) => {
   *   await save("new text");
   *   const reading = await lock.downgrade(); // no writer comes between
   * });
   * ```
   */
  usingWrite<T>(ttl: number, routine: WriteRoutine<T>): Promise<T>;
  usingWrite<T>(ttl: number, options: WriteOptions | undefined, routine: WriteRoutine<T>): Promise<T>;
  async usingWrite<T>(
    ttl: number,
    ...given: [WriteOptions | WriteRoutine<T> | undefined, WriteRoutine<T>?]
  ): Promise<T> {
    const { options, routine } = routineAmong<WriteOptions, WriteRoutine<T>>("usingWrite", ttl, given);
    const call = this.#call(false, ttl, options);
    const { settings } = call;
    checkHolding(ttl, settings, options?.automaticExtensionThreshold);
    const lock = await this.#acquire(call);
    let reading: { readonly lock: Lock; readonly renewal: Renewal } | undefined;
    const writing = this.#writeLockOf(lock, settings, (read) => {
      reading = { lock: read, renewal: new Renewal(read, ttl, settings) };
    });
    try {
      return await runWithLock(lock, ttl, settings, call.signal, (signal) => routine(signal, writing));
    } finally {
      reading?.renewal.stop();
      if (reading) await Lock.releaseWithin(reading.lock, settings);
    }
  }

  /**
   * A handle on a read or write lock that another process has detached, see {@link Redlock.resume}.
   * @example
   * ```ts
   * const lock = report.resume(detached);
   * await lock.extend(5_000);
   * ```
   */
  resume(detached: DetachedLock): Lock {
    const [resource, ...more] = resourcesOf(detached);
    const { shared, exclusive } = this.#keys;
    if (more.length > 0 || (resource !== shared && resource !== exclusive)) {
      throw new InvalidArgumentError(`the detached lock is none of ${JSON.stringify(this.name)}`);
    }
    const lock = this.#internals.resume(detached);
    return resource === exclusive ? this.#writeLockOf(lock, this.#internals.settingsFor(undefined)) : lock;
  }

  /**
   * Returns the writer or the readers on each master, and who waits, like {@link Redlock.inspect}.
   * @example
   * ```ts
   * for (const { node, holder, readers } of await report.inspect()) {
   *   console.log(node, holder?.name ?? readers.map((reader) => reader.holder?.name));
   * }
   * ```
   */
  async inspect(): Promise<readonly ReadWriteInspection[]> {
    const { shared, exclusive } = this.#keys;
    const internals = this.#internals;
    const [[inspections], told] = await Promise.all([
      internals.inspect([exclusive]),
      internals.readersOf(shared),
    ]);
    const found = told.map((readers) => readers ?? []);
    const tags = found.flatMap((readers) => readers.flatMap(([token]) => tagIn(token) ?? []));
    const owners = await internals.ownersOf([...new Set(tags)]);
    return inspections!.map((inspection, index) => ({
      ...inspection,
      // Readers keep others out under one name.
      owner: inspection.tag === undefined && found[index]!.length > 0 ? undefined : inspection.owner,
      readers: found[index]!.map(([token, remaining]) => {
        const tag = tagIn(token);
        return { tag, holder: tag === undefined ? undefined : owners.get(tag), remaining };
      }),
    }));
  }

  #call(isShared: boolean, ttl: number, given: WriteOptions | null | undefined): Call {
    const settings = this.#internals.settingsFor(given, isShared ? readers : writers);
    checkTtl(ttl, settings);
    const { from, signal } = given ?? {};
    if (from !== undefined && from !== null) Lock.leaseOf(from);
    const isReading = from?.resources.includes(this.#keys.shared) && from.remaining() > 0;
    if (!isReading) return { isShared, ttl, settings, signal };
    throw new InvalidArgumentError(
      `a read lock of ${JSON.stringify(this.name)} cannot be upgraded: two readers would wait for each other; release it first`,
    );
  }

  async #try(call: Call): Promise<Lock | null> {
    const answer = await this.#ask({ ...call, settings: withoutWaiting(call.settings) });
    if (answer instanceof Lock) return answer;
    if (answer instanceof ResourceLockedError) return null;
    throw answer;
  }

  async #acquire(call: Call): Promise<Lock> {
    const answer = await this.#ask(call);
    if (answer instanceof Lock) return answer;
    throw answer instanceof ResourceLockedError ? this.#refusalOf(answer, call.isShared) : answer;
  }

  #ask({ isShared, ttl, settings, signal }: Call): ReturnType<RedlockInternals["acquire"]> {
    const { shared, exclusive } = this.#keys;
    const { context } = this.#internals;
    const request = { resources: [isShared ? shared : exclusive], ttl, settings, isShared };
    if (isShared || context.isQueued) return this.#internals.acquire(request, signal);
    const mark = new WaitingMark(context, exclusive, nodeTimeoutFor(ttl, settings));
    return this.#internals.acquire({ ...request, mark }, signal);
  }

  /** Says so if a lock of this same Redlock was in the way. */
  #refusalOf(error: ResourceLockedError, isShared: boolean): ResourceLockedError {
    const { shared, exclusive } = this.#keys;
    const held = [...this.#internals.context.leases].flatMap(({ resources }) => resources);
    const hasWriter = held.includes(exclusive);
    if (!hasWriter && !held.includes(shared)) return error;
    // Readers do not exclude readers: only a waiting writer keeps further ones out.
    const isNested = [shared, exclusive].some((key) => isAwaitedByRoutineOf([key]));
    const owner = isShared && !hasWriter ? waitingWriter : isNested ? nested : ownCall;
    return new ResourceLockedError(this.name, error.remaining, error.attempts, owner);
  }

  /** The same object that the `lost` event passes, with the methods of a write lock. `settings`: those of its call. */
  #writeLockOf(lock: Lock, settings: Settings, onDowngrade: (reading: Lock) => void = () => {}): WriteLock {
    return Object.assign(lock, {
      downgrade: (ttl?: number): Promise<Lock> => this.#downgrade(lock, ttl, settings, onDowngrade),
    });
  }

  /**
   * PROTOCOL 10.5. The write claim ends before the first command is sent. The read claim starts with
   * the deadlines of the write claim: until then each master has one kind of key or the other, and admits no
   * writer. The command is an extension of the read claim that finds the writer's token on the master, so
   * any later extension repairs a lost one.
   */
  async #downgrade(
    lock: Lock,
    ttl: number | undefined,
    settings: Settings,
    onDowngrade: (reading: Lock) => void,
  ): Promise<Lock> {
    const writing = Lock.leaseOf(lock);
    const why = writing.whyEnded;
    if (why !== undefined) throw new LockLostError(lock.resources, why);
    const { ttl: before, fencingToken, context } = writing;
    checkExtension(ttl ?? before, settings);
    const votes = writing.votes.continuedAs([this.#keys.shared], before);
    const lease = new Lease(context, votes, fencingToken, !writing.mayRepair);
    writing.successor = lease;
    writing.end();
    const reading = this.#internals.lockOf(lease, new Attempts(context.nodes));
    // The same `maxHoldTime` for both, from the start of the write lock.
    if (lock.limit) reading.limitTo(lock.limit);
    // Without retries: the next extension continues it if necessary.
    const { nodeTimeout, driftFactor } = settings;
    const request = { nodeTimeout, driftFactor, retryCount: 0 };
    const confirmed = reading.redlock.extend(reading, ttl ?? before, request);
    const released = new Released("released", context.nodes, context.runtime.wall());
    writing.releasing = Promise.resolve(released);
    onDowngrade(reading);
    await confirmed.catch((error: unknown) => {
      // Too few masters answered: the lock keeps its earlier deadline.
      if (reading.remaining() > 0) return;
      void reading.release();
      throw error;
    });
    return reading;
  }
}

const nested =
  "this same Redlock (a call nested in that lock waits for itself: readers and writers cannot be nested)";
const waitingWriter = "a writer that waits for the readers of this same Redlock";
