import { connectionOf, type IoredisClient } from "./adapters/ioredis/ioredis.ts";
import { InvalidArgumentError, type NodeError } from "./errors.ts";
import { type Reentrancy, reentrancyOf } from "./holding/reentrancy.ts";
import { Admission } from "./load/admission.ts";
import type { Context, Handle, StandingLease } from "./protocol/context.ts";
import { Proposals } from "./protocol/fencing.ts";
import type { Lease } from "./protocol/lease.ts";
import type { LockNode } from "./protocol/node.ts";
import { Placements } from "./protocol/placement.ts";
import { quorumOf } from "./protocol/quorum.ts";
import { Rollbacks } from "./protocol/rollback.ts";
import { RedisNode } from "./redis/redis-node.ts";
import { type ClockEvent, ClockWatch } from "./safeguards/clock-watch.ts";
import { DistinctMasters } from "./safeguards/distinct-masters.ts";
import { RestartGuard, type RestartGuardOptions } from "./safeguards/restart-guard.ts";
import { checkConstructorOptions } from "./settings/options.ts";
import { shown } from "./settings/ranges.ts";
import {
  type ClockWatchOptions,
  checkClockWatch,
  checkConcurrency,
  defaultSettings,
  type Settings,
  settingsFrom,
} from "./settings/settings.ts";
import { LeaseClock } from "./time/lease-clock.ts";
import type { Runtime } from "./time/runtime.ts";
import { systemRuntime } from "./time/system.ts";
import { Timers } from "./time/timers.ts";
import { WaitingRoom } from "./waiting/waiting-room.ts";

/** An ioredis `Redis` or `Cluster`, or a {@link LockNode} of your own. */
export type Client = IoredisClient | LockNode;

export interface RedlockOptions extends Partial<Settings> {
  /**
   * Rounds of `acquire` in flight at once, at most; more wait in this process, in the order of the calls. Fewer are in
   * flight while masters need more than half of `nodeTimeout` for one, and none while extensions of the leases that are
   * held come late: see the README. Default 1000.
   */
  readonly acquireConcurrency?: number;
  /**
   * Whether votes, extensions and releases that come while a master has not answered yet are sent to it together.
   * Saves most of the commands where many locks are taken at a time; one at a time makes no difference. Default true.
   */
  readonly groupCommit?: boolean;
  /**
   * Whether those who wait stand in a queue on the masters: served in order, and told by the one who gives up. Without
   * it waiting is asking again, every `retryDelay`. Default true, where every master can.
   */
  readonly queue?: boolean;
  /**
   * Whether each lock has a {@link Lock.fencingToken}. Uncontended that takes no further round. Every client that locks
   * the same resources must have it switched on. As long as no master loses its memory: one that restarts with less
   * than it had may let a smaller token be given out again. A Redis Cluster cannot, nor can masters without scripts:
   * InvalidArgumentError. Default false.
   */
  readonly fencing?: boolean;
  /**
   * Whether a call that is inside of a hold, and asks for what is held, is given a further handle on that hold, which
   * is released with the last of them. `true`: inside of the routine of a `using`, wherever its async context leads,
   * or by {@link AcquireOptions.within}; InvalidArgumentError where there is no AsyncLocalStorage. `"handle"`: only by
   * `within`. Default false.
   */
  readonly reentrant?: boolean | "handle";
  /**
   * Keeps the lock safe where a master comes back without votes that it gave: after a crash, a failover or a FLUSHALL it
   * votes for nobody until all that it may have forgotten has expired. Not where an old primary gets its clients back that was neither
   * restarted nor resynchronised, unless one of them was there in between; nor where SWAPDB went there and back with no vote
   * between the two. See the README. Default: none.
   */
  readonly restartGuard?: RestartGuardOptions;
  /**
   * Reads the masters' clocks with the votes: who steps, or strays from the others, is told by a `clock` event, and left
   * out where `exclude` is set. Keys expire by these clocks. See the README. Default: not watched.
   */
  readonly clockWatch?: boolean | ClockWatchOptions;
  /** Clocks, timers and random bytes. Default: the system's. */
  readonly runtime?: Runtime;
}

/** The third argument of redlock 5's constructor. Its scripts cannot be replaced here: see the README. */
export type CustomScripts = {
  readonly [name in "acquireScript" | "extendScript" | "releaseScript"]?: undefined;
};

/** What `inspect` and `quit` wait for a master, ms, where no `nodeTimeout` is given. */
const defaultNodeTimeout = 500;

/** The parts of one Redlock, wired together. */
export interface RedlockParts {
  readonly context: Context;
  /** Of the constructor: each call begins with them. */
  readonly settings: Settings;
  /** Those that stand. */
  readonly leases: ReadonlySet<Lease>;
  /** One master's time for `inspect`, and for each step of `quit`, ms. */
  readonly nodeTimeout: number;
  /** Where callers wait; `undefined` where waiting is asking again. */
  readonly room: WaitingRoom | undefined;
  readonly guard: RestartGuard | undefined;
  readonly reentrancy: Reentrancy | undefined;
  /** A further primitive over the same masters has leases: they count where two masters turn out to be one server. */
  readonly alsoFor: (leases: ReadonlySet<StandingLease>) => void;
}

/** Where the events of a Redlock go. */
export interface EventTargets {
  readonly error: (error: NodeError) => void;
  readonly lost: (lock: Handle) => void;
  readonly clock: (event: ClockEvent) => void;
}

/**
 * Builds all that a Redlock works with. Only this file wires rooms together.
 * @throws InvalidArgumentError for no clients, one client twice, or settings that cannot hold.
 */
export function buildClient(
  clients: Iterable<Client>,
  given: RedlockOptions | undefined,
  scripts: CustomScripts | undefined,
  tell: EventTargets,
): RedlockParts {
  checkConstructorOptions(given);
  const options = given ?? {};
  const { acquireConcurrency = 1000, groupCommit = true, queue = true, restartGuard } = options;
  const { runtime = systemRuntime } = options;
  const base = restartGuard ? { ...defaultSettings, maxTtl: restartGuard.maxTtl } : defaultSettings;
  const settings = settingsFrom(base, options);
  const nodeTimeout = settings.nodeTimeout ?? defaultNodeTimeout;
  checkConcurrency(acquireConcurrency);
  if (Object.values(scripts ?? {}).some((script) => script !== undefined)) {
    throw new InvalidArgumentError("custom scripts are not taken");
  }
  const report = (error: NodeError): void => {
    // Given up by ourselves: no fault of the master's.
    if (error.reason === "ABANDONED") return;
    if (error.reason === "SAME_SERVER" && !distinct.isNews(error)) return;
    if (error.reason !== "QUARANTINE" || !guard?.hasTold(error)) tell.error(error);
  };
  const scripted = { groupCommit, queue, onFault: report, runtime };
  const nodes = nodesOf(clients, (client) => new RedisNode(connectionOf(client), scripted));
  checkAbilities(nodes, options);
  const leases = new Set<Lease>();
  const clock = new LeaseClock(runtime, () => timers.leap());
  const timers: Timers = new Timers(runtime, clock);
  const distinct = new DistinctMasters(nodes, leases, report);
  const context: Context = {
    nodes,
    placements: new Placements(nodes, leases),
    quorum: quorumOf(nodes.length),
    runtime,
    clock,
    timers,
    rollbacks: new Rollbacks(runtime, clock, report),
    admission: new Admission(runtime, clock, timers, leases, acquireConcurrency),
    proposals: options.fencing ? new Proposals() : undefined,
    leases,
    isReentrant: Boolean(options.reentrant),
    isQueued: nodes.every((node) => node.queue),
    report,
    lost: (handles) => {
      for (const handle of handles) tell.lost(handle);
    },
  };
  if (options.clockWatch) {
    const watching = options.clockWatch === true ? {} : options.clockWatch;
    const watched = { ...watching, maxTtl: watching.maxTtl ?? restartGuard?.maxTtl };
    watchClocks(context, watched, settings.driftFactor, tell.clock, (index) => guard?.distrust(index));
  }
  const guard = restartGuard && new RestartGuard(context, restartGuard, nodeTimeout);
  const room = context.isQueued ? new WaitingRoom(context) : undefined;
  const reentrancy = reentrancyOf(context, options.reentrant);
  const alsoFor = (others: ReadonlySet<StandingLease>): void => distinct.alsoFor(others);
  return { context, settings, leases, nodeTimeout, room, guard, reentrancy, alsoFor };
}

/** An option that some master cannot serve is refused at once. */
function checkAbilities(nodes: readonly LockNode[], { queue, fencing }: RedlockOptions): void {
  if (queue && !nodes.every((node) => node.queue)) {
    throw new InvalidArgumentError("queue: not every master can keep one (without scripts none can)");
  }
  if (fencing && !nodes.every((node) => node.keepsCounters)) {
    throw new InvalidArgumentError(
      "fencing: a Redis Cluster cannot keep the counters, nor can nodes without scripts",
    );
  }
}

function watchClocks(
  { nodes, runtime }: Context,
  options: ClockWatchOptions,
  driftFactor: number,
  tell: (event: ClockEvent) => void,
  distrust: (index: number) => void,
): void {
  checkClockWatch(options);
  const watch = new ClockWatch(options, driftFactor, runtime, tell);
  for (const [index, node] of nodes.entries()) {
    // (A Cluster is many masters, with a clock each.)
    if (!node.keepsCounters || !node.watchClock) {
      throw new InvalidArgumentError(
        "clockWatch: neither a Redis Cluster nor nodes without scripts can be watched",
      );
    }
    node.watchClock(watch.clockOf(node.name, () => distrust(index)));
  }
}

function nodesOf(
  clients: Iterable<Client>,
  nodeOf: (client: IoredisClient) => LockNode,
): readonly LockNode[] {
  if (isNode(clients) || isIoredis(clients)) {
    throw new InvalidArgumentError("clients must be a list, also for a single one: new Redlock([client])");
  }
  const isList = typeof clients === "object" && typeof clients?.[Symbol.iterator] === "function";
  const list = isList ? [...clients] : [];
  if (list.length === 0) throw new InvalidArgumentError("clients must be a list of at least one client");
  for (const [index, client] of list.entries()) {
    if (!isNode(client) && !isIoredis(client)) {
      throw new InvalidArgumentError(
        `client ${index} is ${kindOf(client)}; what is expected is a Redis or Cluster of ioredis 5 or 6, or a LockNode`,
      );
    }
  }
  const passed = list.map((client) => (isNode(client) ? client.client : client));
  if (new Set(passed).size < list.length) {
    throw new InvalidArgumentError("each master may be named once, but one client is there twice");
  }
  return list.map((client) => (isNode(client) ? client : nodeOf(client)));
}

function isNode(client: unknown): client is LockNode {
  return typeof (client as Partial<LockNode> | null | undefined)?.vote === "function";
}

function isIoredis(client: unknown): client is IoredisClient {
  const candidate = client as Partial<IoredisClient> | null | undefined;
  return typeof candidate?.duplicate === "function" && typeof candidate.status === "string";
}

/** What was passed for a client and is none, in words. (A URL is not repeated: there may be a password in it.) */
function kindOf(client: unknown): string {
  if (typeof client === "string") return 'a string: pass new Redis("redis://...")';
  if (typeof client !== "object" || client === null) return shown(client);
  const { isOpen, sendCommand, keyspaceEvents } = client as Readonly<Record<string, unknown>>;
  if (typeof isOpen === "boolean" || typeof sendCommand === "function") return "a node-redis client";
  // It has no connection of its own, and what it does without one is not what a Redis does.
  if (keyspaceEvents !== undefined) return "an ioredis-mock client, which has no connection";
  if (typeof (client as Partial<Promise<unknown>>).then === "function") return "a promise: await it first";
  return shown(client);
}
