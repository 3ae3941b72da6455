import type { Attempts, ExecutionStats } from "./attempts.ts";
import { InvalidArgumentError } from "./errors.ts";
import type { Lease, LockState } from "./lease.ts";
import type { ReleaseResult } from "./release.ts";
import type { Settings } from "./settings.ts";

/** What a lock asks of the Redlock that granted it. */
export interface LockOwner {
  extend(lock: Lock, ttl: number, settings?: Partial<Settings>): Promise<Lock>;
  verify(lock: Lock): Promise<boolean>;
  release(lock: Lock, settings?: Partial<Settings>): Promise<ReleaseResult>;
}

/** A lock in JSON: enough for another process to go on with it, and to release it. Keep it secret. */
export interface SerializedLock {
  readonly resources: readonly string[];
  readonly value: string;
  /** The longest ttl it was given, ms. No clock is in it: clocks do not travel. */
  readonly ttl: number;
  readonly fencingToken?: number;
}

/**
 * A lock that was granted. It says at any moment what is certain: {@link remaining} and {@link state} read the
 * clocks when they are asked, {@link signal} tells those who wait.
 */
export class Lock implements AsyncDisposable {
  readonly #owner: LockOwner;
  readonly #lease: Lease;
  #attempts: Attempts;

  /** @internal Locks come from {@link Redlock.acquire}. */
  constructor(owner: LockOwner, lease: Lease, attempts: Attempts) {
    this.#owner = owner;
    this.#lease = lease;
    this.#attempts = attempts;
  }

  get resources(): readonly string[] {
    return this.#lease.resources;
  }

  /**
   * The token in the masters' keys. Whoever knows it can release the lock: not for logs. Once asked for it stays this
   * hold's own; else it may have been another's before, which has ended.
   */
  get value(): string {
    return this.#lease.tell();
  }

  /**
   * With `fencing`: a number that is larger than that of every lock before on any of its resources, below 2^53. A lock
   * of several has one for all. Pass it with each write, and let the resource refuse what comes with a smaller one
   * than it has seen: then a holder that was paused beyond its lock harms nothing. It stays the same when extended.
   */
  get fencingToken(): number | undefined {
    return this.#lease.fencingToken;
  }

  /** When the lock runs out by this machine's wall clock, ms since the epoch; 0 once lost or released. */
  get expiration(): number {
    const left = this.remaining();
    return left > 0 ? Math.floor(this.#lease.coordinator.runtime.wall() + left) : 0;
  }

  /** The votes of the latest acquire or extension, as in redlock 5. */
  get attempts(): ReadonlyArray<Promise<ExecutionStats>> {
    return this.#attempts.stats;
  }

  get state(): LockState {
    return this.#lease.state;
  }

  /**
   * Aborts when the lock is lost, with a {@link LockLostError} as its reason: at the latest a little (10 ms, or
   * a twentieth of a shorter ttl) before the deadline, even if no master answers any more. Not on release.
   */
  get signal(): AbortSignal {
    return this.#lease.signal;
  }

  /** What is certainly left, ms; 0 once lost or released. Look before each act that needs the lock. */
  remaining(): number {
    return this.#lease.remaining();
  }

  /**
   * Extends this lock to at least `ttl` ms from now, in place, and resolves to it.
   * @throws LockLostError when it is lost or was released; ExecutionError when no quorum answered.
   */
  async extend(ttl: number): Promise<this> {
    await this.#owner.extend(this, ttl);
    return this;
  }

  /**
   * Asks a majority of masters, now: true when they hold the lock for us, false when they do not.
   * @throws ExecutionError when too few answer to tell.
   */
  verify(): Promise<boolean> {
    return this.#owner.verify(this);
  }

  /** Gives the lock up. Idempotent; a lock that is gone already is a result, never an error. */
  release(): Promise<ReleaseResult> {
    return this.#owner.release(this);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release().then(() => {});
  }

  /**
   * Hands the lock over, for {@link Redlock.resume} in another process. From here on this side does nothing by
   * itself: `using` extends and releases it no more, `quit` leaves it alone, and what is extended all the same
   * gives no master its key again. So do not write locks into logs: `JSON.stringify` calls this.
   */
  toJSON(): SerializedLock {
    this.#lease.handedOver = true;
    const { resources, token: value, longestTtl: ttl, fencingToken } = this.#lease;
    return { resources, value, ttl, ...(fencingToken === undefined ? {} : { fencingToken }) };
  }

  /** @internal */
  static leaseOf(lock: Lock): Lease {
    if (typeof lock === "object" && lock !== null && #lease in lock) return lock.#lease;
    throw new InvalidArgumentError("lock must be one that acquire, tryAcquire, using or resume has given");
  }

  /** @internal */
  static extended(lock: Lock, attempts: Attempts): void {
    lock.#attempts = attempts;
  }
}
