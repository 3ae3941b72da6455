import { type ExecutionStats, InvalidArgumentError, LockLostError } from "../errors.ts";
import type { Attempts, ExecutionResult } from "../protocol/execution-stats.ts";
import { Lease, type LockState } from "../protocol/lease.ts";
import type { LeaseLimit } from "../settings/lease-limit.ts";
import { shownCopy } from "../settings/ranges.ts";
import type { Settings } from "../settings/settings.ts";
import { abortWith, selfCheckingController } from "../time/abort.ts";

/** The signal of a routine: aborts when the lock is lost. The reason is also at `error`, as in redlock 5. */
export type RedlockAbortSignal = AbortSignal & { error?: Error };

export type Routine<T> = (signal: RedlockAbortSignal, lock: Lock) => T | Promise<T>;

/** The Redlock that granted the lock, as redlock 5 has it. */
export interface LockOwner {
  readonly settings: Settings;
  acquire(resources: string[], ttl: number, settings?: Partial<Settings<undefined>>): Promise<Lock>;
  extend(lock: Lock, ttl: number, settings?: Partial<Settings<undefined>>): Promise<Lock>;
  verify(lock: Lock): Promise<boolean>;
  release(lock: Lock, settings?: Partial<Settings<undefined>>): Promise<ExecutionResult>;
  using<T>(resources: string[], ttl: number, routine: Routine<T>): Promise<T>;
  using<T>(
    resources: string[],
    ttl: number,
    settings: Partial<Settings<undefined>> | undefined,
    routine: Routine<T>,
  ): Promise<T>;
  on(event: "error", listener: (error: Error) => void): this;
  once(event: "error", listener: (error: Error) => void): this;
  off(event: "error", listener: (error: Error) => void): this;
  detach(lock: Lock, settings?: Partial<Settings<undefined>>): Promise<DetachedLock>;
  resume(detached: DetachedLock): Lock;
  quit(): Promise<void>;
}

/**
 * A detached lock as plain data, which can be sent as JSON: all that {@link Redlock.resume} needs to continue
 * and release it in another process. Keep it secret.
 */
export interface DetachedLock {
  readonly resources: readonly string[];
  readonly value: string;
  /** The longest ttl that was requested, ms. Contains no time stamp: clocks differ between machines. */
  readonly ttl: number;
  readonly fencingToken?: number;
}

/** The assumed ttl of a lock that was built by hand, ms. */
const unknownTtl = 86_400_000;

/** As in `node:util`. */
type Inspect = (value: unknown, options: object) => string;

/**
 * A granted lock. Its state is certain at any moment: {@link remaining} and {@link state} read the clocks on
 * each call, and {@link signal} notifies of a loss.
 */
export class Lock implements AsyncDisposable {
  readonly #owner: LockOwner;
  readonly #lease: Lease;
  #attempts: Attempts;
  /** Made when its signal is first read. */
  #controller: AbortController | undefined;

  /**
   * A handle on a lock that exists, as in redlock 5; see {@link Redlock.resume}. `attempts` and `expiration` are not
   * relied upon: `verify()` or `extend()` it first.
   */
  constructor(
    redlock: LockOwner,
    resources: string[],
    value: string,
    attempts: ReadonlyArray<Promise<ExecutionStats>>,
    expiration: number,
  );
  /** @internal Locks come from {@link Redlock.acquire}. */
  constructor(owner: LockOwner, lease: Lease, attempts: Attempts);
  /** @internal */
  constructor(owner: LockOwner, of: Lease | readonly string[], given: Attempts | string) {
    this.#owner = owner;
    if (of instanceof Lease) {
      this.#lease = of;
      this.#attempts = given as Attempts;
    } else {
      const resumed = owner.resume({ resources: of, value: given as string, ttl: unknownTtl });
      this.#lease = resumed.#lease;
      this.#attempts = resumed.#attempts;
      // Nobody has the handle that `resume` made.
      this.#lease.handle = this;
    }
  }

  /** The Redlock that it belongs to. */
  get redlock(): LockOwner {
    return this.#owner;
  }

  /** A copy. */
  get resources(): string[] {
    return [...this.#lease.resources];
  }

  /**
   * The token in the masters' keys. It is enough to release the lock: keep it out of logs. After the
   * first read it belongs to this lease alone; before, it may be a reused token of an earlier lease that has
   * ended.
   */
  get value(): string {
    return this.#lease.votes.exposeToken();
  }

  /**
   * With `fencing`: a number larger than that of every earlier lock on any of its resources, below 2^53. A
   * lock of several resources has one for all. Pass it with each write, and let the storage refuse writes
   * with a smaller number than it has seen: then a holder that was paused beyond its lock does no harm. It
   * stays the same when the lock is extended.
   */
  get fencingToken(): number | undefined {
    return this.#lease.fencingToken;
  }

  /**
   * The end of the lock by this machine's wall clock, ms since the epoch; 0 once it has ended. An earlier time that is
   * written ends the lock then; a later one has no effect, only `extend` prolongs it.
   */
  get expiration(): number {
    const left = this.remaining();
    return left > 0 ? Math.floor(this.#lease.context.runtime.wall() + left) : 0;
  }

  set expiration(time: number) {
    const { runtime, clock } = this.#lease.context;
    const left = time - runtime.wall();
    // No number ends it now: no timer has such a due time.
    const until = clock.now() + (Number.isNaN(left) ? 0 : left);
    if (until < (this.limit?.until ?? Number.POSITIVE_INFINITY)) {
      this.limitTo({ until, why: "its expiration was set", isReached: false });
    }
  }

  /** The votes of the latest acquire or extension, as in redlock 5. */
  get attempts(): ReadonlyArray<Promise<ExecutionStats>> {
    return this.#attempts.stats;
  }

  get state(): LockState {
    return this.#lease.state;
  }

  /**
   * Aborts when the lock is lost, with a {@link LockLostError} as its reason: at the latest 10 ms (or a
   * twentieth of a shorter ttl) before the deadline, even if no master answers. Not on release, nor when the
   * lock is detached. Reading `aborted` checks the clocks, so it is correct even if timers are late after a
   * blocked event loop or a suspension. Signals that follow it (`AbortSignal.any`) are notified by the timer.
   */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = selfCheckingController(() => void this.remaining());
      this.remaining();
      this.showLoss();
    }
    return this.#controller.signal;
  }

  /**
   * The time that certainly remains, ms; 0 once the lock has ended. Check it before each action that needs
   * the lock.
   * @example
   * ```ts
   * if (lock.remaining() < 500) throw new Error("too late for a write");
   * ```
   */
  remaining(): number {
    return this.#lease.remaining();
  }

  /**
   * Extends this lock in place to at least `ttl` ms from now, and resolves to it. Within a `using` with
   * `maxHoldTime`, at most to the end of that time.
   * @throws LockLostError if it is lost, released or detached; ExecutionError if no quorum answered.
   * @example
   * ```ts
   * await lock.extend(5_000);
   * ```
   */
  async extend(ttl: number): Promise<this> {
    await this.#owner.extend(this, ttl);
    return this;
  }

  /**
   * Asks the masters whether a majority still holds the lock for this token.
   * @throws ExecutionError if too few answered to decide.
   * @example
   * ```ts
   * if (await lock.verify()) await publish();
   * ```
   */
  verify(): Promise<boolean> {
    return this.#owner.verify(this);
  }

  /**
   * Releases the lock. Idempotent. Releasing an expired lock resolves with `outcome: "expired"`; it does not
   * throw.
   * @example
   * ```ts
   * try {
   *   await work(lock.signal);
   * } finally {
   *   await lock.release();
   * }
   * ```
   */
  release(): Promise<ExecutionResult> {
    return this.#owner.release(this);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release().then(() => {});
  }

  /**
   * Detaches the lock for {@link Redlock.resume}, in this process or another one. The lock ends here with the
   * call, but its keys stay: `state` is `detached`, `remaining()` is 0, `using` neither extends nor releases
   * it, and `quit` ignores it. The keys expire at the same time as before, so resume and extend it soon.
   * Resolves when all earlier commands for this lock are answered, after one `nodeTimeout` at the latest;
   * this process changes none of its keys after that.
   * @throws LockLostError if it is lost, released or detached; InvalidArgumentError for a reentrant handle
   * that shares its lease with others.
   * @example
   * ```ts
   * response.json(await lock.detach()); // another process passes it to resume()
   * ```
   */
  detach(): Promise<DetachedLock> {
    return this.#owner.detach(this);
  }

  /**
   * For logs: without the token, and without side effects. To pass a lock to another process, use {@link
   * Lock.detach}.
   */
  toJSON(): Readonly<Pick<Lock, "resources" | "state" | "expiration"> & { remaining: number }> {
    const { resources, state, expiration } = this;
    return { resources, state, remaining: this.remaining(), expiration };
  }

  static {
    // Node, Bun and Deno call this to print a lock: it shows the same as `toJSON`.
    Object.defineProperty(Lock.prototype, Symbol.for("nodejs.util.inspect.custom"), {
      value(this: Lock, _depth: number, options: object, inspect?: Inspect): unknown {
        const shown = this.toJSON();
        return inspect ? `Lock ${inspect(shown, options)}` : shown;
      },
    });
  }

  /** @internal The reason why it has ended, for an error; `undefined` if it has not. Reads the clocks. */
  get whyEnded(): string | undefined {
    return this.#lease.whyEnded;
  }

  /** @internal Ends the lock at this limit, at the latest. */
  limitTo(limit: LeaseLimit): void {
    this.#lease.limitTo(limit);
  }

  /** @internal */
  get limit(): LeaseLimit | undefined {
    return this.#lease.limit;
  }

  /** @internal Why it was lost; reads no clock. */
  get loss(): LockLostError | undefined {
    return this.#lease.loss;
  }

  /** @internal The lease is lost: returns all handles that are lost with it and were not lost before. */
  lostWith(_lost: LockLostError): readonly Lock[] {
    this.showLoss();
    return [this];
  }

  /** @internal A listener of the signal may read or release any handle of the lease: all show the loss before. */
  protected showLoss(): void {
    if (this.#controller && this.loss) abortWith(this.#controller, this.loss);
  }

  /** @internal */
  static leaseOf(lock: Lock, name = "lock"): Lease {
    if (typeof lock === "object" && lock !== null && #lease in lock) return lock.#lease;
    throw new InvalidArgumentError(
      `${name} must come from acquire, tryAcquire, using or resume, but is ${shownCopy(lock, "verify")}`,
    );
  }

  /** @internal Releases it by settings of a call's own. */
  static releaseWithin(lock: Lock, { nodeTimeout }: Settings): Promise<ExecutionResult> {
    return lock.#owner.release(lock, { nodeTimeout });
  }

  /** @internal */
  static extended(lock: Lock, attempts: Attempts): void {
    lock.#attempts = attempts;
  }
}

/** @internal */
export function throwIfEnded(lock: Lock): void {
  const why = lock.whyEnded;
  if (why !== undefined) throw new LockLostError(lock.resources, why);
}
