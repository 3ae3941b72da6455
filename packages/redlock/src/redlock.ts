import {
  buildClient,
  type Client,
  type CustomScripts,
  type RedlockOptions,
  type RedlockParts,
} from "./client.ts";
import {
  AbortError,
  ClosedError,
  InvalidArgumentError,
  LockLostError,
  type NodeError,
  type RedlockError,
} from "./errors.ts";
import { Events } from "./events.ts";
import { detach } from "./holding/detach.ts";
import { type DetachedLock, Lock, type LockOwner } from "./holding/lock.ts";
import { type Entered, enter, outerFor } from "./holding/reentrancy.ts";
import { ReentrantLock } from "./holding/reentrant-lock.ts";
import { hold, type Routine } from "./holding/using.ts";
import type { LockRequest } from "./protocol/attempt.ts";
import type { Context, StandingLease } from "./protocol/context.ts";
import { Attempts } from "./protocol/execution-stats.ts";
import { extend, verify } from "./protocol/extend.ts";
import { type Inspection, inspect } from "./protocol/inspect.ts";
import type { ReleaseResult } from "./protocol/lease.ts";
import { Lease } from "./protocol/lease.ts";
import { release } from "./protocol/release.ts";
import { lateTimer } from "./protocol/round.ts";
import type { ClockEvent } from "./safeguards/clock-watch.ts";
import { checkOptions, type Place, routineAmong } from "./settings/options.ts";
import { shown } from "./settings/ranges.ts";
import { resourceList, whyReserved } from "./settings/resources.ts";
import { checkHolding, checkTtl, type Settings, settingsFrom } from "./settings/settings.ts";
import { onAbort } from "./time/abort.ts";
import { outside } from "./time/async-context.ts";
import { Cancellation } from "./time/cancellation.ts";
import { sleep } from "./time/sleep.ts";
import { never } from "./time/validity.ts";
import { acquire } from "./waiting/acquire.ts";

export interface AcquireOptions extends Partial<Settings> {
  /** Ends the waiting: `acquire` rejects with an {@link AbortError}, and leaves nothing behind. */
  readonly signal?: AbortSignal | undefined;
  /**
   * With `reentrant`: a lock that holds the resources, to be inside of. Calls inside of the same lock exclude each
   * other, those inside of the inner one do not. Rejects with a {@link LockLostError} when it is released or lost.
   */
  readonly within?: Lock | undefined;
}

export interface RedlockEvents {
  /** A master failed to vote: unreachable, silent, or an error reply. Never contention. */
  error: (error: NodeError) => void;
  /** A lock was lost before it was released. */
  lost: (lock: Lock) => void;
  /** With `clockWatch`: a master's clock has stepped, is skewed, or is synced again. Once for each change. */
  clock: (event: ClockEvent) => void;
}

/** What primitives that are built on a Redlock work with, besides its public face. */
export interface Inside {
  readonly context: Context;
  /** As in {@link RedlockParts}. */
  alsoFor(leases: ReadonlySet<StandingLease>): void;
  /** Cancelled by `quit`. */
  readonly closed: Cancellation;
  /** `quit` begins this work with its own, and waits for it as well before it closes the connections. */
  atQuit(work: () => Promise<unknown>): void;
  /** `place`: which options are known there; default those of `acquire`. */
  settingsFor(options: Partial<Settings> | null | undefined, place?: Place): Settings;
  /** A handle on a hold. */
  lockOf(lease: Lease, attempts: Attempts): Lock;
  /** As `acquire` with just these settings, but comes to the reason where there is no lock. */
  acquire(
    resources: readonly string[],
    ttl: number,
    settings: Settings,
    signal: AbortSignal | undefined,
  ): Promise<Lock | RedlockError>;
}

/** Why a lock is lost that its Redlock has released. */
const givenUp = "quit() has given it up";

/**
 * Locks over independent Redis masters. Each master is asked in parallel; a majority makes the lock.
 *
 * An `error` event without a listener throws nothing.
 */
export class Redlock extends Events<RedlockEvents> implements LockOwner {
  readonly #parts: RedlockParts;
  readonly #context: Context;
  readonly #settings: Settings;
  /** Every `acquire` that is under way, and how to end it. */
  readonly #underWay = new Map<Cancellation, Promise<unknown>>();
  #quit: Promise<void> | undefined;
  /** Cancelled by `quit`. */
  readonly #closed = new Cancellation();
  /** What primitives that are built on it have to do when it quits. */
  readonly #atQuit: Array<() => Promise<unknown>> = [];
  /** What `acquire` comes to: one function for all that wait. */
  readonly #lockFrom = (result: Entered): Lock => {
    if (!result.lease) throw result.error;
    return result.lock ?? this.#lockOf(result.lease, result.attempts);
  };

  /**
   * @param clients one for each master; the masters must not replicate to one another. Each has to be a server of its own: of
   * two that are found to be one when they are connected one votes, and an `error` event with reason `SAME_SERVER` tells.
   * @throws InvalidArgumentError for no clients, one client twice, or settings that cannot hold.
   */
  constructor(clients: Iterable<Client>, options?: RedlockOptions, scripts?: CustomScripts) {
    super();
    this.#parts = buildClient(clients, options, scripts, {
      error: (error) => this.#tell(() => void this.emit("error", error)),
      lost: (lock) => this.#tell(() => void this.emit("lost", lock as Lock)),
      clock: (event) => this.#tell(() => void this.emit("clock", event)),
    });
    this.#context = this.#parts.context;
    this.#settings = this.#parts.settings;
  }

  /**
   * Locks all of `resources`, or none, for `ttl` ms. While somebody else holds one of them it tries again, as
   * the settings say.
   * @throws ResourceLockedError when it stayed locked; ExecutionError when no quorum answered; AbortError;
   * InvalidArgumentError before anything is sent.
   */
  acquire(resources: string | readonly string[], ttl: number, options?: AcquireOptions): Promise<Lock> {
    // Not awaited here: thousands may wait, and suspended functions are most of what that takes.
    return this.#acquire(resources, ttl, options).then(this.#lockFrom);
  }

  /**
   * The same in one attempt, without waiting: `null` when somebody else holds one of them.
   * @throws ExecutionError when no quorum answered; AbortError; InvalidArgumentError.
   */
  async tryAcquire(
    resources: string | readonly string[],
    ttl: number,
    options?: AcquireOptions,
  ): Promise<Lock | null> {
    const once = { ...this.#settingsFor(options), retryCount: 0, waitTimeout: undefined };
    const result = await this.#acquire(resources, ttl, options, once);
    if (result.lease) return result.lock ?? this.#lockOf(result.lease, result.attempts);
    if (result.contended) return null;
    throw result.error;
  }

  /**
   * Acquires, runs `routine` while the lock is kept extended, releases, and comes to what the routine came to.
   * The routine's signal aborts when the lock is lost (the reason is a {@link LockLostError}) or when the
   * caller's own signal does.
   * @throws what `acquire` throws, then only what the routine throws.
   */
  using<T>(resources: string | readonly string[], ttl: number, routine: Routine<T>): Promise<T>;
  using<T>(
    resources: string | readonly string[],
    ttl: number,
    options: AcquireOptions | undefined,
    routine: Routine<T>,
  ): Promise<T>;
  async using<T>(
    resources: string | readonly string[],
    ttl: number,
    optionsOrRoutine: AcquireOptions | Routine<T> | undefined,
    routineAfterOptions?: Routine<T>,
  ): Promise<T> {
    const { options, routine } = routineAmong<AcquireOptions, Routine<T>>(
      "using",
      ttl,
      optionsOrRoutine,
      routineAfterOptions,
    );
    const settings = this.#settingsFor(options);
    checkHolding(ttl, settings, options?.automaticExtensionThreshold);
    const lock = await this.acquire(resources, ttl, options);
    const inside = this.#parts.reentrancy?.inside(routine) ?? routine;
    return hold(lock, ttl, settings, options?.signal, inside);
  }

  /**
   * Extends `lock` to at least `ttl` ms from now, in place, and resolves to it; under a `maxHoldTime` to no more than
   * that has left.
   * @throws LockLostError when it is lost, or was released or detached; ExecutionError when no quorum answered.
   */
  async extend(lock: Lock, ttl: number, options?: Partial<Settings>): Promise<Lock> {
    const settings = this.#settingsFor(options, "extend, detach and release");
    checkTtl(ttl, settings);
    const lease = Lock.leaseOf(lock);
    throwIfEnded(lock);
    if (this.#quit) throw new ClosedError();
    // `quit` ends what is held. A resumed lock is not held until it is confirmed.
    const forget = lease.isResumed ? this.#closed.onCancel(() => lease.lose(givenUp)) : undefined;
    try {
      Lock.extended(lock, await extend(lease, ttl, { ...settings, limit: lock.limit }));
    } finally {
      forget?.();
    }
    return lock;
  }

  /** Whether a majority of masters holds `lock` for us, asked now; see {@link Lock.verify}. */
  async verify(lock: Lock): Promise<boolean> {
    const lease = Lock.leaseOf(lock);
    return lock.whyEnded === undefined && verify(lease, this.#settings);
  }

  /** Gives `lock` up; see {@link Lock.release}. */
  release(lock: Lock, options?: Partial<Settings>): Promise<ReleaseResult> {
    try {
      const lease = Lock.leaseOf(lock);
      const settings = this.#settingsFor(options, "extend, detach and release");
      const releaseLease = () => release(lease, settings);
      return lock instanceof ReentrantLock ? lock.leave(releaseLease) : releaseLease();
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Gives `lock` away; see {@link Lock.detach}. */
  async detach(lock: Lock, options?: Partial<Settings>): Promise<DetachedLock> {
    const lease = Lock.leaseOf(lock);
    const settings = this.#settingsFor(options, "extend, detach and release");
    throwIfEnded(lock);
    if (lock instanceof ReentrantLock) lock.detachLease();
    else lease.detach();
    return detach(lease, settings);
  }

  /**
   * A handle on a lock that was detached, mostly by another process. Its state is `unknown` and nothing remains of it
   * until `verify()` or `extend()` has asked the masters.
   * @throws InvalidArgumentError for anything that is no detached lock; ClosedError after `quit`.
   */
  resume(detached: DetachedLock): Lock {
    if (this.#quit) throw new ClosedError();
    const resources = resourceList(detached?.resources);
    this.#checkKeys(resources);
    const { value: token, ttl, fencingToken } = detached;
    if (typeof token !== "string" || token === "") {
      throw new InvalidArgumentError("a detached lock needs its value, a non-empty string");
    }
    checkTtl(ttl, this.#settings);
    const deadlines = this.#context.nodes.map(() => never);
    if (fencingToken !== undefined && !(Number.isSafeInteger(fencingToken) && fencingToken > 0)) {
      throw new InvalidArgumentError("the fencingToken of a detached lock must be a whole number above 0");
    }
    const placement = this.#context.placements.current;
    const terms = { placement, resources, token, ttl, deadlines, resumed: true, fencingToken };
    const lease = new Lease(this.#context, terms);
    return this.#lockOf(lease, new Attempts(this.#context.nodes));
  }

  /**
   * With `restartGuard`: declares that all masters are new, so that they vote at once. To be called once in the life of
   * a deployment: without it the first locks are had when `maxTtl` has passed.
   * @throws InvalidArgumentError where a master is not new, or there is no guard; ExecutionError unless all answer.
   */
  async initialize(): Promise<void> {
    if (!this.#parts.guard) throw new InvalidArgumentError("initialize is for a Redlock with restartGuard");
    await this.#parts.guard.initialize();
  }

  /** Who holds `resource` on each master, and for how long. For people: by the time it is read it is past. */
  async inspect(resource: string): Promise<readonly Inspection[]> {
    const [name, ...more] = resourceList(resource);
    if (more.length > 0) throw new InvalidArgumentError("inspect takes one resource");
    this.#checkKeys([name!]);
    return inspect(this.#context, name!, this.#parts.nodeTimeout);
  }

  /**
   * Releases every lock that is held (its signal aborts), ends every waiting `acquire` with a {@link ClosedError}, and quits the
   * clients, as redlock 5 does. Settles within two `nodeTimeout`s of the constructor (default: a second), whatever the
   * masters do and whatever was given to a call; idempotent.
   */
  quit(): Promise<void> {
    this.#quit ??= this.#quitNow();
    return this.#quit;
  }

  /** @internal What primitives that are built on it work with. */
  static insideOf(redlock: Redlock): Inside {
    if (typeof redlock !== "object" || redlock === null || !(#context in redlock)) {
      throw new InvalidArgumentError(`redlock must be a Redlock of this package, but is ${shown(redlock)}`);
    }
    return {
      context: redlock.#context,
      alsoFor: redlock.#parts.alsoFor,
      closed: redlock.#closed,
      atQuit: (work) => void (redlock.#quit ? work() : redlock.#atQuit.push(work)),
      settingsFor: (options, place) => redlock.#settingsFor(options, place),
      lockOf: (lease, attempts) => redlock.#lockOf(lease, attempts),
      acquire: async (resources, ttl, settings, signal) => {
        const result = await redlock.#acquire(resources, ttl, { signal }, settings);
        return result.lease ? redlock.#lockOf(result.lease, result.attempts) : result.error;
      },
    };
  }

  async #quitNow(): Promise<void> {
    const { nodes, rollbacks } = this.#context;
    const underWay = [...this.#underWay.values()];
    this.#closed.cancel(new ClosedError());
    for (const cancellation of this.#underWay.keys()) cancellation.cancel(new ClosedError());
    const held = [...this.#parts.leases];
    // Who still works under one of these locks is told: it is given away.
    for (const lease of held) lease.lose(givenUp);
    for (const lease of held) void release(lease, this.#settings);
    // Each of the two steps has a time of its own, whatever time was given to the calls that are waited for.
    const time = this.#parts.nodeTimeout;
    await atMost(time, this.#settled(underWay), this.#context);
    rollbacks.stop();
    await atMost(time, Promise.allSettled(nodes.map((node) => node.close())), this.#context);
    for (const node of nodes) node.disconnect();
  }

  /** Each acquire that was ended rolls back first, and releases that others have begun are on their way as well. */
  async #settled(underWay: readonly Promise<unknown>[]): Promise<void> {
    await Promise.allSettled([...underWay, ...this.#atQuit.map((work) => work())]);
    await this.#parts.room?.passed;
    await this.#context.rollbacks.answered;
  }

  async #acquire(
    resources: string | readonly string[],
    ttl: number,
    options: AcquireOptions | undefined,
    settings: Settings = this.#settingsFor(options),
  ): Promise<Entered> {
    const { signal, within } = options ?? {};
    const request = { resources: resourceList(resources), ttl, settings };
    checkTtl(ttl, settings);
    this.#checkKeys(request.resources);
    if (this.#quit) throw new ClosedError();
    if (signal !== undefined) throwIfAborted(signal);
    const cancellation = new Cancellation();
    const forget = signal && onAbort(signal, () => cancellation.cancel(new AbortError(signal.reason)));
    const { context, reentrancy, guard, room } = this.#parts;
    try {
      const entering =
        reentrancy || guard || within
          ? this.#enterOrAcquire(request, cancellation, within)
          : acquire({ context, request, cancellation, room });
      this.#underWay.set(cancellation, entering);
      const result = await entering;
      if (!this.#quit || !result.lease) return result;
      // Granted in the moment of `quit`, which did not see it.
      await release(result.lease, settings);
      throw new ClosedError();
    } finally {
      this.#underWay.delete(cancellation);
      forget?.();
    }
  }

  /** Enters the lease that the call is inside of, where there is one; else asks the masters. */
  #enterOrAcquire(
    request: LockRequest,
    cancellation: Cancellation,
    within: Lock | undefined,
  ): Promise<Entered> {
    const { context, reentrancy, guard, room } = this.#parts;
    if (reentrancy || within) {
      const outer = outerFor(reentrancy, request.resources, within);
      const anew = (wanted: LockRequest): Promise<Entered> =>
        this.#enterOrAcquire(wanted, cancellation, within);
      if (outer) return enter({ owner: this, outer, request, cancellation }, anew);
    }
    const acquisition = { context, request, cancellation, room };
    // 9 No vote before the guard knows which masters may have forgotten some.
    if (guard) return cancellation.race(guard.begin()).then(() => acquire(acquisition));
    return acquire(acquisition);
  }

  #checkKeys(resources: readonly string[]): void {
    for (const node of this.#context.nodes) {
      const why = node.refuses ? node.refuses(resources) : whyReserved(resources);
      if (why) throw new InvalidArgumentError(`${node.name}: ${why}`);
    }
  }

  #lockOf(lease: Lease, attempts: Attempts): Lock {
    const lock = this.#parts.reentrancy
      ? new ReentrantLock(this, lease, attempts)
      : new Lock(this, lease, attempts);
    lease.handle = lock;
    return lock;
  }

  /** A listener's mistake is an uncaught exception of its own: it stops no round and ends no hold half-way. */
  #tell(emit: () => void): void {
    outside(() => {
      try {
        emit();
      } catch (error) {
        this.#context.runtime.setTimer(() => {
          throw error;
        }, 0);
      }
    });
  }

  #settingsFor(
    options: Partial<Settings> | null | undefined,
    place: Place = "acquire, tryAcquire and using",
  ): Settings {
    if (options === undefined || options === null) return this.#settings;
    checkOptions(options, place);
    return settingsFrom(this.#settings, options);
  }
}

/**
 * Waits for `work`, which never rejects, but no longer than `time` ms, and for as long as a master works off what it was
 * asked. For a stall of this process nothing of the masters could be read: then they are given the time once more.
 */
async function atMost(time: number, work: Promise<unknown>, context: Context): Promise<void> {
  const { nodes, runtime, clock } = context;
  const done = new Cancellation();
  void work.then(() => done.cancel(new ClosedError()));
  let mayHaveStalled = true;
  for (;;) {
    const begun = clock.now();
    await sleep(runtime, time, done);
    const stall = clock.now() - begun - time;
    const drainedSince = runtime.monotonic() - time - stall;
    const isDraining = nodes.some(({ drainedAt = Number.NEGATIVE_INFINITY }) => drainedAt > drainedSince);
    if (done.reason || !(isDraining || (mayHaveStalled && stall > lateTimer))) return;
    mayHaveStalled = false;
  }
}

function throwIfEnded(lock: Lock): void {
  const why = lock.whyEnded;
  if (why !== undefined) throw new LockLostError(lock.resources, why);
}

function throwIfAborted(signal: AbortSignal): void {
  if (typeof (signal as Partial<AbortSignal> | null)?.addEventListener !== "function") {
    throw new InvalidArgumentError(`signal must be an AbortSignal, but is ${shown(signal)}`);
  }
  if (signal.aborted) throw new AbortError(signal.reason);
}
