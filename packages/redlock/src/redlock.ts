import {
  buildClient,
  type Client,
  type ClientContext,
  type RedlockOptions,
  type RedlockParts,
} from "./client.ts";
import {
  AbortError,
  type ClockEvent,
  ClosedError,
  InvalidArgumentError,
  type LockLostError,
  type NodeError,
  type Owner,
  type RedlockError,
} from "./errors.ts";
import { Events } from "./events.ts";
import { detach } from "./holding/detach.ts";
import { type DetachedLock, Lock, type LockOwner, type Routine, throwIfEnded } from "./holding/lock.ts";
import { type EnterResult, enter, outerFor } from "./holding/reentrancy.ts";
import { ReentrantLock } from "./holding/reentrant-lock.ts";
import { runWithLock } from "./holding/using.ts";
import type { Context } from "./protocol/context.ts";
import { Attempts, type ExecutionResult } from "./protocol/execution-stats.ts";
import { extend, verify } from "./protocol/extend.ts";
import { type Inspection, inspectAll, toldBy } from "./protocol/inspect.ts";
import { Lease } from "./protocol/lease.ts";
import type { RecordStore } from "./protocol/node.ts";
import { ready } from "./protocol/ready.ts";
import { release } from "./protocol/release.ts";
import type { LockRequest } from "./protocol/request.ts";
import { lateTimerThreshold } from "./protocol/round.ts";
import { Votes } from "./protocol/votes.ts";
import { claimScript, releaseScript } from "./scripts.generated.ts";
import { checkOptions, type Place, routineAmong } from "./settings/options.ts";
import { checkNumber, milliseconds, shownCopy } from "./settings/ranges.ts";
import { resourceList, resourcesOf, whyReserved } from "./settings/resources.ts";
import {
  checkExtension,
  checkHolding,
  checkTtl,
  checkTtlRange,
  type Settings,
  settingsFrom,
  withoutWaiting,
} from "./settings/settings.ts";
import { abortWith, onAbort } from "./time/abort.ts";
import { outside } from "./time/async-context.ts";
import { Cancellation, Latch } from "./time/cancellation.ts";
import { never } from "./time/lease-clock.ts";
import { endedFromOutside, sleep } from "./time/sleep.ts";
import { acquiring, holding } from "./tracing/channels.ts";
import { traceAcquire, traceHold } from "./tracing/traces.ts";
import { acquire } from "./waiting/acquire.ts";

export interface AcquireOptions extends Partial<Settings<undefined>> {
  /** Aborts the wait: `acquire` rejects with an {@link AbortError} and leaves no keys behind. */
  readonly signal?: AbortSignal | undefined;
  /**
   * With `reentrant`: the lock that holds the resources, and that this call is nested in. Calls nested in the same
   * lock exclude each other; calls nested in an inner one do not. Rejects with a {@link LockLostError} if the lock is
   * released or lost.
   */
  readonly parent?: Lock | undefined;
}

export interface ReadyOptions {
  /** The time that a quorum of masters has to answer, ms. Default 10,000. */
  readonly timeout?: number | undefined;
  /** Ends the wait: `ready` rejects with an {@link AbortError}. */
  readonly signal?: AbortSignal | undefined;
}

export interface RedlockEvents {
  /** A master failed to vote: unreachable, silent, or an error reply; or lists of masters do not go together. Never contention. */
  error: (error: NodeError) => void;
  /** A lock ended before it was released: `loss` says why, and whether that is a fault. */
  lost: (lock: Lock, loss: LockLostError) => void;
  /** With `clockWatch`: a master's clock has stepped, is skewed, or is synced again. Once for each change. */
  clock: (event: ClockEvent) => void;
}

/** The internals of a Redlock that other primitives use. */
export interface RedlockInternals {
  readonly context: Context;
  /** Cancelled by `quit`. */
  readonly closed: Latch;
  /** Aborted by `quit` with a `drain`, before that: what would never end by itself ends now. */
  readonly draining: AbortSignal;
  /** Whether its masters have answered {@link Redlock.ready}. */
  readonly isReady: boolean;
  /** `place`: determines the known options; default those of `acquire`. */
  settingsFor(options: Partial<Settings<undefined>> | null | undefined, place?: Place): Settings;
  /** Creates a handle on a lease. */
  lockOf(lease: Lease, attempts: Attempts): Lock;
  /** Like `acquire`, also of the library's own keys, but resolves to the error if there is no lock. */
  acquire(request: LockRequest, signal: AbortSignal | undefined): Promise<Lock | RedlockError>;
  /** Like {@link Redlock.tryAcquire}, but resolves to the error if there is no lock. */
  readonly attempt: (resource: string, ttl: number, options: AcquireOptions) => Promise<Lock | RedlockError>;
  /** Like {@link Redlock.resume}, also of the library's own keys. */
  resume(detached: DetachedLock): Lock;
  /**
   * Like {@link Redlock.inspect}, also of the library's own keys. `nodeTimeout`: ms, default that of the constructor.
   */
  inspect(resources: readonly string[], nodeTimeout?: number): Promise<ReadonlyArray<readonly Inspection[]>>;
  /** The shared claims on a key on each master; `undefined` for one that does not tell. */
  readersOf(key: string): Promise<ReadonlyArray<Awaited<ReturnType<RecordStore["readersOf"]>> | undefined>>;
  /** The owners with these tags, as far as they have names. */
  ownersOf(tags: readonly string[]): Promise<ReadonlyMap<string, Owner>>;
}

/** The reason for the loss of a lock that its Redlock released. */
const releasedByQuit = ["quit() released it", "QUIT"] as const;

/**
 * A distributed lock over independent Redis masters. Each master is asked in parallel; a majority of votes makes the
 * lock.
 *
 * An `error` event without a listener throws nothing.
 */
export class Redlock extends Events<RedlockEvents> implements LockOwner {
  readonly #parts: RedlockParts;
  readonly #context: ClientContext;
  /** Without what only the library sets. */
  readonly #shownSettings: Settings;
  /** The `acquire` calls in flight, and their cancellations. */
  readonly #underWay = new Map<Cancellation, Promise<unknown>>();
  #quit: Promise<void> | undefined;
  /** Whether {@link ready} has resolved. */
  #isReady = false;
  /** Cancelled by `quit`. */
  readonly #closed = new Latch();
  readonly #draining = new AbortController();
  /** Cancelled when locks have had the time to end that `quit` gives them. */
  readonly #drained = new Latch();
  /** Converts the result of `acquire`: one function for all waiting calls. */
  readonly #lockFrom = (result: EnterResult): Lock => {
    if (!result.lease) throw result.error;
    return result.lock ?? this.#lockOf(result.lease, result.attempts);
  };

  /**
   * @param clients one for each master, or the client of a single one; the masters must not replicate to one another. Each must be a server of its
   * own: if two turn out to be the same server once they are connected, only one of them votes, and an `error` event
   * with reason `SAME_SERVER` reports it.
   * @throws InvalidArgumentError for no clients, the same client twice, or incompatible settings.
   */
  constructor(
    clients: Client | Iterable<Client>,
    options?: RedlockOptions,
    scripts?: { readonly [name in "acquireScript" | "extendScript" | "releaseScript"]?: undefined },
  ) {
    super();
    this.#parts = buildClient(clients, options, scripts, {
      error: (error) => this.#emitSafely(() => void this.emit("error", error)),
      lost: (lock, loss) => this.#emitSafely(() => void this.emit("lost", lock as Lock, loss)),
      clock: (event) => this.#emitSafely(() => void this.emit("clock", event)),
      safely: (act) => this.#emitSafely(act),
    });
    this.#context = this.#parts.context;
    const { maxTtl: _, ...shown } = this.#parts.settings;
    this.#shownSettings = Object.freeze(shown);
  }

  /** The clients as they were passed: a copy. (No property: a printed client would show its password.) */
  get clients(): Set<Client> {
    return new Set(this.#context.nodes.map(({ client }) => client as Client));
  }

  /** The settings of the constructor. Frozen: a call takes settings of its own. */
  get settings(): Settings {
    return this.#shownSettings;
  }

  /** The scripts for one lock on one master, and their SHA-1, as in redlock 5. */
  get scripts(): {
    readonly [name in "acquireScript" | "extendScript" | "releaseScript"]: { value: string; hash: string };
  } {
    const [claim, release] = [claimScript, releaseScript].map(({ source, sha1 }) => ({
      value: source,
      hash: sha1,
    }));
    return { acquireScript: claim!, extendScript: claim!, releaseScript: release! };
  }

  /**
   * Locks all of `resources`, or none, for `ttl` ms. While another client holds one of them it retries, according to
   * the settings.
   * @throws ResourceLockedError if it stayed locked; ExecutionError if no quorum answered; AbortError;
   * InvalidArgumentError before anything is sent.
   * @example
   * ```ts
   * await using lock = await redlock.acquire(["account:1", "account:2"], 5_000, { waitTimeout: 10_000 });
   * await transfer(lock.signal);
   * ```
   */
  acquire(resources: string | readonly string[], ttl: number, options?: AcquireOptions): Promise<Lock> {
    // Not awaited here: of thousands of calls that wait, each would keep one suspended function more.
    return this.#acquire(resources, ttl, options).then(this.#lockFrom);
  }

  /**
   * Like `acquire`, in one attempt and without waiting: resolves to `null` if another client holds one of the
   * resources. With a `nodeTimeout` it settles within that time (with `fencing` two), the wait for admission
   * (`acquireConcurrency`) included. Without one it waits for admission for 500 ms, or up to 2 s while masters answer
   * other calls, and then for the masters.
   * @throws ExecutionError if no quorum answered; AbortError; InvalidArgumentError.
   * @example
   * ```ts
   * const lock = await redlock.tryAcquire("report:daily", 30_000);
   * if (lock === null) return; // another process writes the report
   * ```
   */
  async tryAcquire(
    resources: string | readonly string[],
    ttl: number,
    options?: AcquireOptions,
  ): Promise<Lock | null> {
    const result = await this.#attempt(resources, ttl, options);
    if (!result.lease && result.contended) return null;
    return this.#lockFrom(result);
  }

  /**
   * Acquires the lock, runs `routine` while the lock is kept extended, releases it, and settles as the routine did.
   * The routine's signal aborts if the lock is lost (the reason is a {@link LockLostError}) or if the caller's own
   * signal does.
   * @throws what `acquire` throws, then only what the routine throws.
   * @example
   * ```ts
   * const total = await redlock.using("invoice:42", 5_000, async (signal) => {
   *   const invoice = await load(42);
   *   signal.throwIfAborted(); // still locked
   *   return save(invoice);
   * });
   * ```
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
    ...given: [AcquireOptions | Routine<T> | undefined, Routine<T>?]
  ): Promise<T> {
    const { options, routine } = routineAmong<AcquireOptions, Routine<T>>("using", ttl, given);
    const settings = this.#settingsFor(options);
    checkHolding(ttl, settings, options?.automaticExtensionThreshold);
    const lock = await this.acquire(resources, ttl, options);
    const inside = this.#parts.reentrancy?.nest(routine) ?? routine;
    return runWithLock(lock, ttl, settings, options?.signal, inside);
  }

  /**
   * Extends `lock` to at least `ttl` ms from now, in place, and resolves to it; with a `maxHoldTime`, not beyond
   * that.
   * @throws LockLostError if it is lost, or was released or detached; ExecutionError if no quorum answered.
   * @example
   * ```ts
   * if (lock.remaining() < 1_000) await redlock.extend(lock, 5_000, { retryCount: 2 });
   * ```
   */
  async extend(lock: Lock, ttl: number, options?: Partial<Settings<undefined>>): Promise<Lock> {
    const settings = this.#settingsFor(options, "extend, detach and release");
    checkExtension(ttl, settings);
    const lease = Lock.leaseOf(lock);
    throwIfEnded(lock);
    const asked = { ...settings, limit: lock.limit };
    const attempts = await this.#unlessClosed(lease, () => extend(lease, ttl, asked));
    // A nested handle may have ended meanwhile, and the lease not.
    throwIfEnded(lock);
    Lock.extended(lock, attempts);
    return lock;
  }

  /**
   * Asks the masters whether a majority holds `lock` now; see {@link Lock.verify}.
   * @example
   * ```ts
   * if (!(await redlock.verify(lock))) throw new Error("another process may hold it");
   * ```
   */
  async verify(lock: Lock): Promise<boolean> {
    const lease = Lock.leaseOf(lock);
    if (lock.whyEnded !== undefined) return false;
    const isHeld = await this.#unlessClosed(lease, () => verify(lease, this.#parts.settings));
    return isHeld && lock.whyEnded === undefined;
  }

  /** Runs `confirm`. `quit` ends the active leases; one that was resumed is not among them before it is confirmed, and ends here. */
  async #unlessClosed<T>(lease: Lease, confirm: () => Promise<T>): Promise<T> {
    const isActive = this.#context.leases.has(lease);
    // A lock that is held goes on while `quit` waits for its end.
    if (this.#quit && (!isActive || this.#drained.isOver)) throw new ClosedError();
    const forget = isActive ? undefined : this.#closed.onEnd(() => this.#end([lease]));
    try {
      return await confirm();
    } finally {
      forget?.();
      if (!isActive && holding.hasSubscribers && this.#context.leases.has(lease))
        traceHold(lease, this.#context);
    }
  }

  /** Notifies the holders, then releases their leases. */
  #end(leases: readonly Lease[]): void {
    for (const lease of leases) lease.lose(...releasedByQuit);
    for (const lease of leases) void release(lease, this.#parts.settings);
  }

  /**
   * Releases `lock`; see {@link Lock.release}.
   * @example
   * ```ts
   * const { outcome } = await redlock.release(lock, { nodeTimeout: 100 });
   * if (outcome === "expired") console.warn("it ended before the release");
   * ```
   */
  release(lock: Lock, options?: Partial<Settings<undefined>>): Promise<ExecutionResult> {
    try {
      const lease = Lock.leaseOf(lock);
      const settings = this.#settingsFor(options, "extend, detach and release");
      if (lock instanceof ReentrantLock) return lock.leave(() => release(lease, settings));
      return release(lease, settings);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Detaches `lock`, for another process to resume; see {@link Lock.detach}.
   * @example
   * ```ts
   * const detached = await redlock.detach(lock);
   * await queue.add("continue", detached);
   * ```
   */
  async detach(lock: Lock, options?: Partial<Settings<undefined>>): Promise<DetachedLock> {
    const lease = Lock.leaseOf(lock);
    const settings = this.#settingsFor(options, "extend, detach and release");
    throwIfEnded(lock);
    if (lock instanceof ReentrantLock) lock.detachLease();
    else lease.detach();
    return detach(lease, settings);
  }

  /**
   * Returns a handle on a lock that was detached, usually by another process. Its state is `unknown` and nothing
   * remains of it until `verify()` or `extend()` has asked the masters.
   * @throws InvalidArgumentError for anything but a detached lock; ClosedError after `quit`.
   * @example
   * ```ts
   * const lock = redlock.resume(detached);
   * await lock.extend(5_000); // rejects if it has ended meanwhile
   * ```
   */
  resume(detached: DetachedLock): Lock {
    this.#checkKeys(resourcesOf(detached));
    return this.#resume(detached);
  }

  #resume(detached: DetachedLock): Lock {
    if (this.#quit) throw new ClosedError();
    const resources = resourcesOf(detached);
    const { value: token, ttl, fencingToken } = detached;
    if (typeof token !== "string" || token === "") {
      throw new InvalidArgumentError("a detached lock needs its value, a non-empty string");
    }
    checkTtlRange(ttl);
    if (fencingToken !== undefined && !(Number.isSafeInteger(fencingToken) && fencingToken > 0)) {
      throw new InvalidArgumentError("the fencingToken of a detached lock must be a whole number above 0");
    }
    const { placements, nodes } = this.#context;
    const deadlines = nodes.map(() => never);
    // No key of a guarded master lives longer. (The ttl of a lock that was built by hand is a guess.)
    const longest = Math.min(ttl, this.#parts.settings.maxTtl ?? ttl);
    const votes = new Votes(placements.current, resources, token, longest, 0, deadlines);
    return this.#lockOf(new Lease(this.#context, votes, fencingToken, true), new Attempts(nodes));
  }

  /**
   * With `restartGuard`: declares that all masters are new, so that they vote at once. Call it once in the life of a
   * deployment: without it the first locks are granted after `maxTtl`.
   * @throws InvalidArgumentError if a master is not new, or there is no guard; ExecutionError unless all answer.
   * @example
   * ```ts
   * const redlock = new Redlock(newMasters, { restartGuard: { maxTtl: 60_000 } });
   * await redlock.initialize();
   * ```
   */
  async initialize(): Promise<void> {
    if (!this.#parts.guard) throw new InvalidArgumentError("initialize() requires the option restartGuard");
    await this.#parts.guard.initialize();
  }

  /**
   * Connects to the masters, and resolves when a quorum answers, allows what locks need and takes writes: what an ACL lacks, or
   * that a master is full or a replica, is named by the error, and by one `error` event for each master. With `restartGuard` their guards agree as well: a quorum knows this
   * `maxTtl`, or it was compared with enough masters to begin a quarantine. The first call of a process waits for its connections within its own `nodeTimeout`, which may be too short for them.
   * `timeout`: ms; default 10,000. Masters that are unreachable are asked again within that time.
   * @throws ExecutionError if no quorum answers, or agrees, in time; AbortError; InvalidArgumentError; ClosedError after `quit`.
   * @example
   * ```ts
   * await redlock.ready({ timeout: 5_000 });
   * const lock = await redlock.tryAcquire("report:daily", 1_000);
   * ```
   */
  async ready(options?: ReadyOptions): Promise<void> {
    checkOptions(options, "ready");
    const timeout = options?.timeout ?? 10_000;
    checkNumber("timeout", timeout, milliseconds);
    const signal = options?.signal ?? undefined;
    if (this.#quit) throw new ClosedError();
    if (signal?.aborted) throw new AbortError(signal.reason);
    const { ended, forget } = endedFromOutside(signal, this.#closed);
    try {
      const { runtime } = this.#context;
      const startedAt = runtime.monotonic();
      await ready(this.#context, timeout, ended);
      await this.#parts.guard?.ready(startedAt, timeout, ended);
      if (ended.reason) throw ended.reason;
      this.#isReady = true;
    } finally {
      forget();
    }
  }

  /**
   * Returns the holder of `resource` on each master, with its name (the option `owner`), the remaining time, who waits in
   * which place, and whether the master disagrees with the quorum. For diagnosis: the answer is outdated when it is read.
   * @example
   * ```ts
   * for (const { node, holder, remaining, waiters, disagrees } of await redlock.inspect("invoice:42")) {
   *   console.log(node, holder?.name, remaining, waiters.map(({ place, holder }) => `${place}. ${holder?.name}`), disagrees);
   * }
   * ```
   */
  async inspect(resource: string): Promise<readonly Inspection[]> {
    const [name, ...more] = resourceList(resource);
    if (more.length > 0) throw new InvalidArgumentError("inspect takes one resource");
    this.#checkKeys([name!]);
    return (await this.#inspect([name!]))[0]!;
  }

  async #inspect(
    resources: readonly string[],
    nodeTimeout: number = this.#parts.nodeTimeout,
  ): Promise<ReadonlyArray<readonly Inspection[]>> {
    const { owners } = this.#context;
    const inspections = await inspectAll(this.#context, resources, nodeTimeout);
    return owners ? owners.named(resources, inspections, nodeTimeout) : inspections;
  }

  /**
   * Ends every waiting `acquire` with a {@link ClosedError}, releases every held lock (its signal aborts), with `drain`
   * once it has had that time to end, and quits the clients, as redlock 5 does. Resolves within two `nodeTimeout`s of the
   * constructor (default: a second) after the drain, whatever was passed to a call; under load later, for as long as
   * masters go on answering earlier requests. Idempotent.
   * `drain`: the time that held locks have to end, ms; `using` goes on extending them while their routines run. A further
   * `quit()` ends this time at once. Default 0. `keepClients`: whether the clients that were passed stay open, and only the
   * connections that Quorlock has made are ended. Default false.
   * @throws InvalidArgumentError for an unknown option, or one of the wrong type.
   * @example
   * ```ts
   * process.once("SIGTERM", () => void redlock.quit({ drain: 20_000 }));
   * ```
   */
  quit(options?: {
    readonly drain?: number | undefined;
    readonly keepClients?: boolean | undefined;
  }): Promise<void> {
    checkOptions(options, "quit");
    const { drain, keepClients } = { drain: options?.drain ?? 0, keepClients: options?.keepClients ?? false };
    checkNumber("drain", drain, milliseconds);
    if (drain === 0) this.#drained.end();
    this.#quit ??= this.#quitAfter(drain, keepClients);
    return this.#quit;
  }

  /** @internal The internals that other primitives use. */
  static internalsOf(redlock: Redlock): RedlockInternals {
    if (typeof redlock !== "object" || redlock === null || !(#context in redlock)) {
      throw new InvalidArgumentError(
        `redlock must be a Redlock of this package, but is ${shownCopy(redlock, "tryAcquire")}`,
      );
    }
    return {
      context: redlock.#context,
      closed: redlock.#closed,
      draining: redlock.#draining.signal,
      isReady: redlock.#isReady,
      settingsFor: (options, place) => redlock.#settingsFor(options, place),
      lockOf: (lease, attempts) => redlock.#lockOf(lease, attempts),
      acquire: async (request, signal) => {
        const { resources, ttl, settings } = request;
        const result = await redlock.#acquire(resources, ttl, { signal }, settings, request);
        return result.lease ? redlock.#lockOf(result.lease, result.attempts) : result.error;
      },
      attempt: async (resource, ttl, options) => {
        const result = await redlock.#attempt(resource, ttl, options);
        return result.lease ? redlock.#lockFrom(result) : result.error;
      },
      resume: (detached) => redlock.#resume(detached),
      inspect: (resources, nodeTimeout) => redlock.#inspect(resources, nodeTimeout),
      readersOf: (key) =>
        toldBy(redlock.#context, redlock.#parts.nodeTimeout, (records) => records.readersOf(key)),
      ownersOf: async (tags) => {
        const { context, nodeTimeout } = redlock.#parts;
        return (await context.owners?.recordsOf(tags, nodeTimeout)) ?? new Map<string, Owner>();
      },
    };
  }

  /** The order of these steps is PROTOCOL 5.11. */
  async #quitAfter(drain: number, keepsClients: boolean): Promise<void> {
    const { nodes } = this.#context;
    const underWay = [...this.#underWay.values()];
    if (drain > 0) abortWith(this.#draining, new ClosedError());
    this.#closed.end();
    for (const cancellation of this.#underWay.keys()) cancellation.cancel(new ClosedError());
    if (drain > 0) await this.#drain(drain);
    this.#end([...this.#context.leases]);
    // Each of the two steps has its own time limit, independent of the settings of the calls that are awaited.
    const time = this.#parts.nodeTimeout;
    const settled = Promise.all([this.#context.owners?.end(time), this.#settled(underWay)]);
    await atMost(time, settled, this.#context);
    this.#context.deletions.stop();
    if (keepsClients) {
      for (const node of nodes) node.leave?.();
      return;
    }
    await atMost(time, Promise.allSettled(nodes.map((node) => node.close())), this.#context);
    for (const node of nodes) node.disconnect();
  }

  /** Until every held lock has ended, or the time is over. */
  async #drain(time: number): Promise<void> {
    const { leases, runtime } = this.#context;
    const allEnded = async (): Promise<void> => {
      // Visits those that are added meanwhile: one lease may be followed by another.
      for (const lease of leases) await lease.ended.done;
    };
    void allEnded().then(() => this.#drained.end());
    await sleep(runtime, time, this.#drained);
    this.#drained.end();
  }

  /** Resolves when the cancelled acquires have rolled back, and the releases in flight are answered. */
  async #settled(underWay: readonly Promise<unknown>[]): Promise<void> {
    await Promise.allSettled(underWay);
    await this.#context.deletions.answered;
  }

  /** `checked`: the request, if it is one of another primitive; it may lock the library's own keys. */
  async #acquire(
    resources: string | readonly string[],
    ttl: number,
    options: AcquireOptions | undefined,
    settings: Settings = this.#settingsFor(options),
    checked?: LockRequest,
  ): Promise<EnterResult> {
    // Absent options may be null.
    const signal = options?.signal ?? undefined;
    const parent = options?.parent ?? undefined;
    const request = checked ?? this.#requestFor(resourceList(resources), ttl, settings);
    if (this.#quit) throw new ClosedError();
    if (signal?.aborted) throw new AbortError(signal.reason, request.resources);
    const cancellation = new Cancellation();
    const aborted = (): AbortError => new AbortError(signal!.reason, request.resources);
    const forget = signal && onAbort(signal, () => cancellation.cancel(aborted));
    const { context, reentrancy, guard, queues } = this.#parts;
    try {
      // The usual call is the last of these: nothing to enter, nothing to wait for.
      // (It may throw, for a parent that has ended: the message of a trace needs its end.)
      const entering = acquiring.hasSubscribers
        ? traceAcquire(request, context.runtime, async (call) =>
            this.#enterOrAcquire({ ...request, call }, cancellation, parent),
          )
        : reentrancy || guard || parent !== undefined
          ? this.#enterOrAcquire(request, cancellation, parent)
          : acquire({ context, request, cancellation, queues });
      this.#underWay.set(cancellation, entering);
      const result: EnterResult = await entering;
      if (!this.#quit || !result.lease) return result;
      // Granted at the moment of `quit`, which did not see it. A nested handle ends alone: the outer one keeps the lease.
      const { lease, lock } = result;
      await (lock ? lock.leave(() => release(lease, settings)) : release(lease, settings));
      throw new ClosedError();
    } finally {
      this.#underWay.delete(cancellation);
      forget?.();
    }
  }

  #attempt(
    resources: string | readonly string[],
    ttl: number,
    options: AcquireOptions | undefined,
  ): Promise<EnterResult> {
    return this.#acquire(resources, ttl, options, withoutWaiting(this.#settingsFor(options)));
  }

  #requestFor(resources: readonly string[], ttl: number, settings: Settings): LockRequest {
    checkTtl(ttl, settings);
    this.#checkKeys(resources);
    return { resources, ttl, settings };
  }

  /** Enters the lease that the call is nested in, if there is one; otherwise asks the masters. */
  #enterOrAcquire(
    request: LockRequest,
    cancellation: Cancellation,
    parent: Lock | undefined,
  ): Promise<EnterResult> {
    const { context, reentrancy, guard, queues } = this.#parts;
    if (reentrancy || parent !== undefined) {
      const outer = outerFor(reentrancy, request.resources, parent);
      const anew = (wanted: LockRequest): Promise<EnterResult> =>
        this.#enterOrAcquire(wanted, cancellation, parent);
      if (outer) return enter({ owner: this, outer, request, cancellation }, anew);
    }
    const acquisition = { context, request, cancellation, queues };
    // PROTOCOL 9.8: no vote is requested before the guard knows which masters may have forgotten votes, if the call has time
    // for that.
    if (guard && !guard.agrees())
      return acquire({ ...acquisition, prepare: (limit) => guard.ensureAgreed(limit) });
    return acquire(acquisition);
  }

  #checkKeys(resources: readonly string[]): void {
    const reserved = whyReserved(resources);
    if (reserved) throw new InvalidArgumentError(reserved);
    for (const node of this.#context.nodes) {
      const why = node.refuses?.(resources);
      if (why) throw new InvalidArgumentError(`${node.name}: ${why}`);
    }
  }

  #lockOf(lease: Lease, attempts: Attempts): Lock {
    // From the first lock on, others can see whose it is.
    this.#context.owners?.begin();
    const lock = this.#parts.reentrancy
      ? new ReentrantLock(this, lease, attempts)
      : new Lock(this, lease, attempts);
    lease.handle = lock;
    // A lock that is resumed is none yet, and may never be one.
    if (holding.hasSubscribers && this.#context.leases.has(lease)) traceHold(lease, this.#context);
    return lock;
  }

  /** An error in a listener becomes an uncaught exception: it interrupts no round and no release. */
  #emitSafely(emit: () => void): void {
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
    options: Partial<Settings<undefined>> | null | undefined,
    place: Place = "acquire, tryAcquire and using",
  ): Settings {
    if (options === undefined || options === null) return this.#parts.settings;
    checkOptions(options, place);
    return settingsFrom(this.#parts.settings, options);
  }
}

/**
 * Waits for `work`, which never rejects, but at most `time` ms, extended for as long as a master works off earlier
 * requests. During a stall of this process nothing could be read: after one, the masters get the time once more.
 */
async function atMost(time: number, work: Promise<unknown>, context: Context): Promise<void> {
  const { nodes, runtime, clock } = context;
  const done = new Latch();
  void work.then(() => done.end());
  let mayHaveStalled = true;
  for (;;) {
    const begun = clock.now();
    await sleep(runtime, time, done);
    const stall = clock.now() - begun - time;
    const drainedSince = runtime.monotonic() - time - stall;
    const isDraining = nodes.some(({ drainedAt = Number.NEGATIVE_INFINITY }) => drainedAt > drainedSince);
    if (done.isOver || !(isDraining || (mayHaveStalled && stall > lateTimerThreshold))) return;
    mayHaveStalled = false;
  }
}
