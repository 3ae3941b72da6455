import { InvalidArgumentError, LockLostError } from "../errors.ts";
import { type DetachedLock, Lock } from "../holding/lock.ts";
import { Renewal } from "../holding/renewal.ts";
import { type RedlockAbortSignal, type Routine, runWithLock } from "../holding/using.ts";
import { Attempts } from "../protocol/execution-stats.ts";
import { Lease } from "../protocol/lease.ts";
import { Released } from "../protocol/release.ts";
import type { AcquireOptions, Redlock } from "../redlock.ts";
import { checkOptions, routineAmong } from "../settings/options.ts";
import { checkName } from "../settings/resources.ts";
import { checkHolding, checkTtl, nodeTimeoutFor, type Settings } from "../settings/settings.ts";
import { ReadWriteMasters } from "./read-write-masters.ts";
import { resourcesOf } from "./read-write-node.ts";

export { readWriteScripts } from "./read-write-scripts.ts";

export type ReadOptions = Omit<AcquireOptions, "parent">;

export interface WriteOptions extends ReadOptions {
  /**
   * A read lock that the caller holds: as long as it does, writing is refused (InvalidArgumentError). Of two readers
   * that wait for each other to stop reading neither would ever write: release it first, and read again what it read.
   */
  readonly from?: Lock | undefined;
}

/** A lock to write under, alone. */
export type WriteLock = Lock & {
  /**
   * Goes on as a reader: nobody else writes in between. Resolves to the read lock; this lock counts as released from
   * the call on, so whoever looks at it writes no more. The read lock lives for at least `ttl` ms, by default the ttl of
   * this one. Where no quorum of masters confirms that, it is a read lock all the same for the time that was left, and
   * its `state` is "unknown": other readers come in where the masters know of it.
   * @throws LockLostError when this one is lost, or was released or detached.
   */
  downgrade(ttl?: number): Promise<Lock>;
};

/** As {@link Routine}, under a lock to write. */
export type WriteRoutine<T> = (signal: RedlockAbortSignal, lock: WriteLock) => T | Promise<T>;

const readers = "the readers of a ReadWriteLock";
const writers = "the writers of a ReadWriteLock";

/** Where a `backoff` decides when a writer asks again, it is taken to do so within this time, ms. */
const usualBackoff = 1000;

/**
 * Many read, or one writes, over the same masters as the locks of `redlock`: everybody needs a majority of them, and
 * each master lets in readers or a writer (PROTOCOL 10.3). What is granted is a `Lock`: whatever is true of one is true of
 * these, but they have no fencing token.
 *
 * Waiting is asking again, by `retryDelay`. Where readers refuse a writer, the masters let no further reader in until it
 * has asked again, so readers who come and go do not keep it out. That holds for each waiting writer by name, and only
 * readers cause it: while none is let in there are fewer and fewer, so writers do not keep readers out.
 */
export class ReadWriteLock {
  readonly name: string;
  readonly #redlock: Redlock;
  readonly #masters: ReadWriteMasters;
  readonly #resources: ReturnType<typeof resourcesOf>;

  /**
   * @param name what is read and written. The keys are `quorlock:rw:{name}:readers`, `:write` and `:intent`.
   * @throws InvalidArgumentError for masters that are asked without scripts, or a redlock with `restartGuard`.
   */
  constructor(redlock: Redlock, name: string) {
    this.#masters = ReadWriteMasters.of(redlock);
    checkName("readers-writer lock", name);
    this.#redlock = this.#masters.redlock;
    this.#resources = resourcesOf(name);
    this.name = name;
  }

  /**
   * Waits until nobody writes, and keeps writers out for `ttl` ms.
   * @throws ResourceLockedError when there was a writer all the time; otherwise as {@link Redlock.acquire}.
   */
  async read(ttl: number, options?: ReadOptions): Promise<Lock> {
    checkOptions(options, readers);
    return this.#redlock.acquire(this.#resources.read, ttl, options);
  }

  /** The same without waiting: `null` when somebody writes, or waits to. */
  async tryRead(ttl: number, options?: ReadOptions): Promise<Lock | null> {
    checkOptions(options, readers);
    return this.#redlock.tryAcquire(this.#resources.read, ttl, options);
  }

  /**
   * Waits until nobody else writes or reads, and keeps everybody out for `ttl` ms. Readers that come while it waits come
   * behind it; those that are there may stay for as long as they extend.
   * @throws ResourceLockedError when others had it all the time; otherwise as {@link Redlock.acquire}.
   */
  async write(ttl: number, options: WriteOptions = {}): Promise<WriteLock> {
    return this.#writeLockOf(await this.#acquire(ttl, options));
  }

  /** The same without waiting: `null` when somebody else writes or reads. */
  async tryWrite(ttl: number, options: WriteOptions = {}): Promise<WriteLock | null> {
    const lock = await this.#redlock.tryAcquire(this.#resources.write, ttl, this.#optionsOf(options));
    return lock && this.#writeLockOf(lock);
  }

  /** Reads, runs `routine` while the lock is kept extended, and releases it; as {@link Redlock.using}. */
  usingRead<T>(ttl: number, routine: Routine<T>): Promise<T>;
  usingRead<T>(ttl: number, options: ReadOptions | undefined, routine: Routine<T>): Promise<T>;
  async usingRead<T>(
    ttl: number,
    ...[optionsOrRoutine, routineAfterOptions]: [ReadOptions | Routine<T> | undefined, Routine<T>?]
  ): Promise<T> {
    const { options, routine } = routineAmong<ReadOptions, Routine<T>>(
      "usingRead",
      ttl,
      optionsOrRoutine,
      routineAfterOptions,
    );
    checkOptions(options, readers);
    return this.#redlock.using(this.#resources.read, ttl, options, routine);
  }

  /**
   * Writes, runs `routine` while the lock is kept extended, and releases it; as {@link Redlock.using}. Where the routine
   * downgrades, its read lock is kept extended and released in the same way, and has the signal that tells of its loss.
   */
  usingWrite<T>(ttl: number, routine: WriteRoutine<T>): Promise<T>;
  usingWrite<T>(ttl: number, options: WriteOptions | undefined, routine: WriteRoutine<T>): Promise<T>;
  async usingWrite<T>(
    ttl: number,
    ...[optionsOrRoutine, routineAfterOptions]: [WriteOptions | WriteRoutine<T> | undefined, WriteRoutine<T>?]
  ): Promise<T> {
    const { options = {}, routine } = routineAmong<WriteOptions, WriteRoutine<T>>(
      "usingWrite",
      ttl,
      optionsOrRoutine,
      routineAfterOptions,
    );
    const settings = this.#masters.settingsFor(options, writers);
    checkHolding(ttl, settings, options.automaticExtensionThreshold);
    const lock = await this.#acquire(ttl, options);
    let reading: { readonly lock: Lock; readonly renewal: Renewal } | undefined;
    const writing = this.#writeLockOf(lock, (read) => {
      reading = { lock: read, renewal: new Renewal(read, ttl, settings) };
    });
    try {
      return await runWithLock(lock, ttl, settings, options.signal, (signal) => routine(signal, writing));
    } finally {
      reading?.renewal.stop();
      await reading?.lock.release();
    }
  }

  /** A handle on a read or write lock that another process has detached; see {@link Redlock.resume}. */
  resume(detached: DetachedLock): Lock {
    const [resource, ...more] = detached?.resources ?? [];
    const { read, write } = this.#resources;
    if (more.length > 0 || (resource !== read && resource !== write)) {
      throw new InvalidArgumentError(`the detached lock is none of ${JSON.stringify(this.name)}`);
    }
    const lock = this.#redlock.resume(detached);
    return resource === write ? this.#writeLockOf(lock) : lock;
  }

  async #acquire(ttl: number, given: WriteOptions): Promise<Lock> {
    const options = this.#optionsOf(given);
    const settings = this.#masters.settingsFor(given, writers);
    const { write } = this.#resources;
    if (!isWaiting(settings)) return this.#redlock.acquire(write, ttl, options);
    const stopWaiting = this.#masters.startWaiting(write, pauseAtMost(ttl, settings));
    try {
      return await this.#redlock.acquire(write, ttl, options);
    } finally {
      stopWaiting();
    }
  }

  /** Those of `acquire`. */
  #optionsOf(given: WriteOptions | null): AcquireOptions {
    checkOptions(given, writers);
    const { from, ...options } = given ?? {};
    if (from !== undefined) Lock.leaseOf(from);
    const isReading = from?.resources.includes(this.#resources.read) && from.remaining() > 0;
    if (!isReading) return options;
    throw new InvalidArgumentError(
      `a read lock of ${JSON.stringify(this.name)} cannot be upgraded: two readers would wait for each other; release it first`,
    );
  }

  /** The very handle that the `lost` event will name, and what only writers can do. */
  #writeLockOf(lock: Lock, onDowngrade: (reading: Lock) => void = () => {}): WriteLock {
    return Object.assign(lock, {
      downgrade: (ttl?: number): Promise<Lock> => this.#downgrade(lock, ttl, onDowngrade),
    });
  }

  /**
   * PROTOCOL 10.5. The write claim ends before the first swap is sent. The read claim begins with what each master has
   * promised to the writer: it has the key of one kind or the other until then, and lets no writer in. The swap is an
   * extension of the read claim, which finds the writer's token on the master: so any later one makes up for a lost one.
   */
  async #downgrade(lock: Lock, ttl: number | undefined, onDowngrade: (reading: Lock) => void): Promise<Lock> {
    const writing = Lock.leaseOf(lock);
    const why = writing.whyEnded;
    if (why !== undefined) throw new LockLostError(lock.resources, why);
    const { placement, token, deadlines, longestTtl, context } = writing;
    checkTtl(ttl ?? longestTtl, this.#masters.settingsFor(undefined));
    const attempts = new Attempts(context.nodes);
    const resources = [this.#resources.read];
    const terms = { placement, resources, token, ttl: longestTtl, deadlines, resumed: !writing.mayRepair };
    let reading!: Lock;
    let confirmed!: Promise<unknown>;
    void writing.releaseOnce(() => {
      reading = this.#masters.lockOf(new Lease(context, terms), attempts);
      // One `maxHoldTime` for both, from the beginning.
      if (lock.limit) reading.limitTo(lock.limit);
      // Once: where that is not enough, the next extension goes on with it.
      confirmed = this.#redlock.extend(reading, ttl ?? longestTtl, { retryCount: 0 });
      return Promise.resolve(new Released("released", context.nodes));
    });
    onDowngrade(reading);
    await confirmed.catch((error: unknown) => {
      // Too few have answered: it stands for as long as it did.
      if (reading.remaining() > 0) return;
      void reading.release();
      throw error;
    });
    return reading;
  }
}

function isWaiting({ waitTimeout, retryCount }: Settings): boolean {
  return waitTimeout === undefined ? retryCount !== 0 : waitTimeout > 0;
}

/** So long after one attempt the masters have heard of the next, ms, with as much again to spare. */
function pauseAtMost(ttl: number, settings: Settings): number {
  const { backoff, retryDelay, retryJitter } = settings;
  return 2 * (backoff ? usualBackoff : retryDelay + retryJitter) + nodeTimeoutFor(ttl, settings);
}
