import pLimit, { type LimitFunction } from "p-limit";
import { onAbort } from "./abort.ts";
import { Attempts } from "./attempts.ts";
import { Cancellation } from "./cancellation.ts";
import { CleanUps } from "./clean-ups.ts";
import { LeaseClock } from "./clock.ts";
import { type Contest, contend } from "./contend.ts";
import type { Coordinator } from "./coordinator.ts";
import { AbortError, ClosedError, InvalidArgumentError, type NodeError } from "./errors.ts";
import { Events } from "./events.ts";
import { extend } from "./extend.ts";
import { type Inspection, inspect } from "./inspect.ts";
import { connectionOf, type IoredisClient } from "./ioredis.ts";
import { Lease } from "./lease.ts";
import { Lock, type LockOwner, type SerializedLock } from "./lock.ts";
import type { LockNode } from "./node.ts";
import { quorumOf } from "./quorum.ts";
import { type ReleaseResult, release } from "./release.ts";
import type { Runtime } from "./runtime.ts";
import { ScriptedNode } from "./scripted-node.ts";
import {
  checkConcurrency,
  checkHolding,
  checkTtl,
  defaultSettings,
  resourceList,
  type Settings,
  settingsFrom,
} from "./settings.ts";
import { sleep } from "./sleep.ts";
import { systemRuntime } from "./system.ts";
import { hold, type Routine } from "./using.ts";
import { never } from "./validity.ts";
import { verify } from "./verify.ts";

/** An ioredis `Redis` or `Cluster`, or a {@link LockNode} of your own. */
export type Client = IoredisClient | LockNode;

export interface RedlockOptions extends Partial<Settings> {
  /** Rounds of `acquire` in flight at once; more wait in this process. Default 1000. */
  readonly acquireConcurrency?: number;
  /**
   * Whether votes, extensions and releases that come while a master has not answered yet are sent to it together.
   * Saves most of the commands where many locks are taken at a time; one at a time makes no difference. Default true.
   */
  readonly groupCommit?: boolean;
  /** Clocks, timers and random bytes. Default: the system's. */
  readonly runtime?: Runtime;
}

export interface AcquireOptions extends Partial<Settings> {
  /** Ends the waiting: `acquire` rejects with an {@link AbortError}, and leaves nothing behind. */
  readonly signal?: AbortSignal | undefined;
}

export interface RedlockEvents {
  /** A master failed to vote: unreachable, silent, or an error reply. Never contention. */
  error: (error: NodeError) => void;
  /** A lock was lost before it was released. */
  lost: (lock: Lock) => void;
}

/** The third argument of redlock 5's constructor. Its scripts cannot be replaced here: see the README. */
export type CustomScripts = {
  readonly [name in "acquireScript" | "extendScript" | "releaseScript"]?: undefined;
};

/** What `inspect` and `quit` wait for a master, ms, where no `nodeTimeout` is given. */
const defaultNodeTimeout = 500;

/**
 * Locks over independent Redis masters. Each master is asked in parallel; a majority makes the lock.
 *
 * An `error` event without a listener throws nothing.
 */
export class Redlock extends Events<RedlockEvents> implements LockOwner {
  readonly #coordinator: Coordinator;
  readonly #settings: Settings;
  readonly #limit: LimitFunction;
  /** Every `acquire` that is under way, and how to end it. */
  readonly #contests = new Map<Cancellation, Promise<unknown>>();
  #quit: Promise<void> | undefined;

  /**
   * @param clients one for each master; the masters must not replicate to one another.
   * @throws InvalidArgumentError for no clients, one master twice, or settings that cannot hold.
   */
  constructor(clients: Iterable<Client>, options?: RedlockOptions, scripts?: CustomScripts) {
    super();
    const { acquireConcurrency = 1000, groupCommit = true, runtime = systemRuntime } = options ?? {};
    this.#settings = settingsFrom(defaultSettings, options ?? {});
    checkConcurrency(acquireConcurrency);
    if (Object.values(scripts ?? {}).some((script) => script !== undefined)) {
      throw new InvalidArgumentError("custom scripts are not taken");
    }
    this.#limit = pLimit(acquireConcurrency);
    const nodes = nodesOf(clients, groupCommit);
    const leases = new Set<Lease>();
    const clock = new LeaseClock(runtime, () => {
      for (const lease of leases) lease.leap();
    });
    const report = (error: NodeError) => {
      // Given up by ourselves: no fault of the master's.
      if (error.reason !== "ABANDONED") this.#tell(() => void this.emit("error", error));
    };
    this.#coordinator = {
      nodes,
      quorum: quorumOf(nodes.length),
      runtime,
      clock,
      cleanUps: new CleanUps(runtime, clock, report),
      leases,
      report,
    };
  }

  /**
   * Locks all of `resources`, or none, for `ttl` ms. While somebody else holds one of them it tries again, as
   * the settings say.
   * @throws ResourceLockedError when it stayed locked; ExecutionError when no quorum answered; AbortError;
   * InvalidArgumentError before anything is sent.
   */
  async acquire(resources: string | readonly string[], ttl: number, options?: AcquireOptions): Promise<Lock> {
    const contest = await this.#contend(resources, ttl, this.#settingsFor(options), options?.signal);
    if (!contest.lease) throw contest.error;
    return this.#lockOf(contest.lease, contest.attempts);
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
    const contest = await this.#contend(resources, ttl, once, options?.signal);
    if (contest.lease) return this.#lockOf(contest.lease, contest.attempts);
    if (contest.contended) return null;
    throw contest.error;
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
    const routine = typeof optionsOrRoutine === "function" ? optionsOrRoutine : routineAfterOptions;
    const options = typeof optionsOrRoutine === "function" ? undefined : optionsOrRoutine;
    if (typeof routine !== "function") throw new InvalidArgumentError("using needs a routine to run");
    const settings = this.#settingsFor(options);
    checkHolding(ttl, settings, options?.automaticExtensionThreshold);
    const lock = await this.acquire(resources, ttl, options);
    return hold(lock, ttl, settings, options?.signal, routine);
  }

  /**
   * Extends `lock` to at least `ttl` ms from now, in place, and resolves to it.
   * @throws LockLostError when it is lost or was released; ExecutionError when no quorum answered.
   */
  async extend(lock: Lock, ttl: number, options?: Partial<Settings>): Promise<Lock> {
    const settings = this.#settingsFor(options);
    checkTtl(ttl, settings);
    Lock.extended(lock, await extend(Lock.leaseOf(lock), ttl, settings));
    return lock;
  }

  /** Whether a majority of masters holds `lock` for us, asked now; see {@link Lock.verify}. */
  async verify(lock: Lock): Promise<boolean> {
    return verify(Lock.leaseOf(lock), this.#settings);
  }

  /** Gives `lock` up; see {@link Lock.release}. */
  release(lock: Lock, options?: Partial<Settings>): Promise<ReleaseResult> {
    try {
      return release(Lock.leaseOf(lock), this.#settingsFor(options));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * A handle on a lock that another process took and handed over as JSON. Its state is `unknown` and nothing
   * remains of it until `verify()` or `extend()` has asked the masters. The giver must stop extending.
   * @throws InvalidArgumentError for anything that is no serialised lock.
   */
  resume(serialized: SerializedLock): Lock {
    const resources = resourceList(serialized?.resources);
    const { value: token, ttl } = serialized;
    if (typeof token !== "string" || token === "") {
      throw new InvalidArgumentError("a serialised lock needs its value, a non-empty string");
    }
    checkTtl(ttl, this.#settings);
    const deadlines = this.#coordinator.nodes.map(() => never);
    const lease = new Lease(this.#coordinator, { resources, token, ttl, deadlines, resumed: true });
    return this.#lockOf(lease, new Attempts(this.#coordinator.nodes));
  }

  /** Who holds `resource` on each master, and for how long. For people: by the time it is read it is past. */
  async inspect(resource: string): Promise<readonly Inspection[]> {
    const [name, ...more] = resourceList(resource);
    if (more.length > 0) throw new InvalidArgumentError("inspect takes one resource");
    return inspect(this.#coordinator, name!, this.#settings.nodeTimeout ?? defaultNodeTimeout);
  }

  /**
   * Releases every lock that is held (its signal aborts), ends every waiting `acquire` with a {@link ClosedError}, and quits the
   * clients, as redlock 5 does. Settles within two `nodeTimeout`s, whatever the masters do; idempotent.
   */
  quit(): Promise<void> {
    this.#quit ??= this.#quitNow();
    return this.#quit;
  }

  async #quitNow(): Promise<void> {
    const { nodes, leases, cleanUps, runtime } = this.#coordinator;
    const contests = [...this.#contests.values()];
    for (const cancellation of this.#contests.keys()) cancellation.cancel(new ClosedError());
    const held = [...leases].filter((lease) => !lease.handedOver);
    // Who still works under one of these locks is told: it is given away.
    for (const lease of held) lease.lose("quit() has given it up");
    for (const lease of held) void release(lease, this.#settings);
    // Each acquire that was ended rolls back first, and releases that others have begun are on their way as well.
    await Promise.allSettled(contests);
    await cleanUps.answered;
    cleanUps.stop();
    const timeUp = new Cancellation();
    const closed = Promise.allSettled(nodes.map((node) => node.close()));
    void closed.then(() => timeUp.cancel(new ClosedError()));
    await sleep(runtime, this.#settings.nodeTimeout ?? defaultNodeTimeout, timeUp);
    for (const node of nodes) node.disconnect();
  }

  async #contend(
    resources: string | readonly string[],
    ttl: number,
    settings: Settings,
    signal: AbortSignal | undefined,
  ): Promise<Contest> {
    const wish = { resources: resourceList(resources), ttl, settings };
    checkTtl(ttl, settings);
    this.#checkTogether(wish.resources);
    if (this.#quit) throw new ClosedError();
    checkSignal(signal);
    if (signal?.aborted) throw new AbortError(signal.reason);
    const cancellation = new Cancellation();
    const forget = signal && onAbort(signal, () => cancellation.cancel(new AbortError(signal.reason)));
    const contending = contend({
      coordinator: this.#coordinator,
      wish,
      cancellation,
      limit: this.#limit,
    });
    this.#contests.set(cancellation, contending);
    try {
      const contest = await contending;
      if (!this.#quit || !contest.lease) return contest;
      // Granted in the moment of `quit`, which did not see it.
      await release(contest.lease, settings);
      throw new ClosedError();
    } finally {
      this.#contests.delete(cancellation);
      forget?.();
    }
  }

  #checkTogether(resources: readonly string[]): void {
    if (resources.length === 1) return;
    for (const node of this.#coordinator.nodes) {
      const why = node.refuses?.(resources);
      if (why) throw new InvalidArgumentError(`${node.name}: ${why}`);
    }
  }

  #lockOf(lease: Lease, attempts: Attempts): Lock {
    const lock = new Lock(this, this.#coordinator.runtime, lease, attempts);
    lease.onEnd(() => {
      if (lease.lost) this.#tell(() => void this.emit("lost", lock));
    });
    return lock;
  }

  /** A listener's mistake is an uncaught exception of its own: it stops no round and ends no hold half-way. */
  #tell(emit: () => void): void {
    try {
      emit();
    } catch (error) {
      this.#coordinator.runtime.setTimer(() => {
        throw error;
      }, 0);
    }
  }

  #settingsFor(options: Partial<Settings> | undefined): Settings {
    return options ? settingsFrom(this.#settings, options) : this.#settings;
  }
}

function checkSignal(signal: Partial<AbortSignal> | undefined): void {
  if (signal !== undefined && typeof signal?.addEventListener !== "function") {
    throw new InvalidArgumentError("signal must be an AbortSignal");
  }
}

function nodesOf(clients: Iterable<Client>, groupCommit: boolean): readonly LockNode[] {
  const list = typeof clients?.[Symbol.iterator] === "function" ? [...clients] : [];
  if (list.length === 0) throw new InvalidArgumentError("clients must be a list of at least one client");
  for (const [index, client] of list.entries()) {
    if (!isNode(client) && !isIoredis(client)) {
      throw new InvalidArgumentError(`client ${index} is neither an ioredis client nor a LockNode`);
    }
  }
  if (new Set(list).size < list.length) {
    throw new InvalidArgumentError("each master may be named once, but one client is there twice");
  }
  return list.map((client) =>
    isNode(client) ? client : new ScriptedNode(connectionOf(client), { groupCommit }),
  );
}

function isNode(client: Client): client is LockNode {
  return typeof (client as Partial<LockNode> | null)?.vote === "function";
}

function isIoredis(client: Client): client is IoredisClient {
  const candidate = client as Partial<IoredisClient> | null;
  return typeof candidate?.duplicate === "function" && typeof candidate.status === "string";
}
