import { type ExecutionStats, InvalidArgumentError, type LockLostError } from "../errors.ts";
import type { Attempts } from "../protocol/execution-stats.ts";
import type { Lease, LockState, ReleaseResult } from "../protocol/lease.ts";
import type { LeaseLimit } from "../settings/lease-limit.ts";
import type { Settings } from "../settings/settings.ts";

/** What a lock asks of the Redlock that granted it. */
export interface LockOwner {
  extend(lock: Lock, ttl: number, settings?: Partial<Settings>): Promise<Lock>;
  verify(lock: Lock): Promise<boolean>;
  release(lock: Lock, settings?: Partial<Settings>): Promise<ReleaseResult>;
  detach(lock: Lock, settings?: Partial<Settings>): Promise<DetachedLock>;
}

/**
 * A lock that was given away, as plain data that can travel as JSON: enough for {@link Redlock.resume} in another
 * process to go on with it, and to release it. Keep it secret.
 */
export interface DetachedLock {
  readonly resources: readonly string[];
  readonly value: string;
  /** The longest ttl it was given, ms. No clock is in it: clocks do not travel. */
  readonly ttl: number;
  readonly fencingToken?: number;
}

/** As `node:util` exports it; an import would keep the core out of browsers. */
type Inspect = (value: unknown, options: object) => string;

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
    return this.#lease.exposeToken();
  }

  /**
   * With `fencing`: a number that is larger than that of every lock before on any of its resources, below 2^53. A lock
   * of several has one for all. Pass it with each write, and let the resource refuse what comes with a smaller one
   * than it has seen: then a holder that was paused beyond its lock harms nothing. It stays the same when extended.
   */
  get fencingToken(): number | undefined {
    return this.#lease.fencingToken;
  }

  /** When the lock runs out by this machine's wall clock, ms since the epoch; 0 once it has ended. */
  get expiration(): number {
    const left = this.remaining();
    return left > 0 ? Math.floor(this.#lease.context.runtime.wall() + left) : 0;
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
   * a twentieth of a shorter ttl) before the deadline, even if no master answers any more. Neither on release nor
   * when it is detached. Reading `aborted` looks at the clocks, so it is right where timers are late, too: after the
   * event loop was blocked or the machine suspended. What follows the signal (`AbortSignal.any`) hears by the timer.
   */
  get signal(): AbortSignal {
    return this.#lease.signal;
  }

  /** What is certainly left, ms; 0 once it has ended. Look before each act that needs the lock. */
  remaining(): number {
    return this.#lease.remaining();
  }

  /**
   * Extends this lock to at least `ttl` ms from now, in place, and resolves to it; inside of a `using` with `maxHoldTime`
   * to no more than that has left.
   * @throws LockLostError when it is lost, or was released or detached; ExecutionError when no quorum answered.
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
   * Gives the lock away: what this resolves to is for {@link Redlock.resume}, in this process or another one. From the
   * call on the lock has ended here, as by a release, but its keys stay: `state` is `detached`, nothing remains,
   * `using` neither extends nor releases it, and `quit` leaves it alone. The keys live for what is left of them, so
   * resume and extend it soon. Resolves when all that was sent for this lock has been answered, after one `nodeTimeout`
   * at the latest: this process changes none of its keys after that.
   * @throws LockLostError when it is lost, or was released or detached; InvalidArgumentError for a re-entrant handle
   * that shares its hold with others.
   */
  detach(): Promise<DetachedLock> {
    return this.#owner.detach(this);
  }

  /** For logs: without the token, and without any effect. To give a lock away there is {@link Lock.detach}. */
  toJSON(): Readonly<Pick<Lock, "resources" | "state" | "expiration"> & { remaining: number }> {
    const { resources, state, expiration } = this;
    return { resources, state, remaining: this.remaining(), expiration };
  }

  static {
    // Node, Bun and Deno ask for this when a console shows a lock: it is what `toJSON` shows.
    Object.defineProperty(Lock.prototype, Symbol.for("nodejs.util.inspect.custom"), {
      value(this: Lock, _depth: number, options: object, inspect?: Inspect): unknown {
        const shown = this.toJSON();
        return inspect ? `Lock ${inspect(shown, options)}` : shown;
      },
    });
  }

  /** @internal Why it stands no longer, for an error; `undefined` while it stands. The clocks are read now. */
  get whyEnded(): string | undefined {
    return this.#lease.whyEnded;
  }

  /** @internal It ends by then, at the latest. */
  limitTo(limit: LeaseLimit): void {
    this.#lease.limitTo(limit);
  }

  /** @internal */
  get limit(): LeaseLimit | undefined {
    return this.#lease.limit;
  }

  /** @internal The hold is lost: all handles that are lost with it, and were not before. */
  lostWith(_lost: LockLostError): readonly Lock[] {
    return [this];
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
