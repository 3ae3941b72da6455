import {
  checkAddresses,
  connectionOf,
  isRedisClient,
  notAClient,
  type RedisClient,
} from "./adapters/client-libraries.ts";
import { type ClockEvent, InvalidArgumentError, type LockLostError, type NodeError } from "./errors.ts";
import { Reentrancy } from "./holding/reentrancy.ts";
import { Admission } from "./load/admission.ts";
import { Owners } from "./owners/owners.ts";
import type { Context, Handle } from "./protocol/context.ts";
import { Proposals } from "./protocol/fencing.ts";
import type { Lease } from "./protocol/lease.ts";
import type { LockNode } from "./protocol/node.ts";
import { Placements } from "./protocol/placement.ts";
import { quorumOf } from "./protocol/quorum.ts";
import { Deletions } from "./protocol/release.ts";
import { Tokens } from "./protocol/token.ts";
import { RedisNode, type RedisNodeOptions } from "./redis/redis-node.ts";
import { type ClockWatch, WatchedClock } from "./safeguards/clock-watch.ts";
import { DistinctMasters } from "./safeguards/distinct-masters.ts";
import { RestartGuard, type RestartGuardOptions } from "./safeguards/restart-guard.ts";
import { constructorOptions } from "./settings/options.ts";
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
import { lost } from "./tracing/channels.ts";
import { StateLog } from "./tracing/state-log.ts";
import { traceLoss } from "./tracing/traces.ts";
import { Lines } from "./waiting/lines.ts";

/** A client of a library that has an adapter, or a {@link LockNode} of your own. */
export type Client = RedisClient | LockNode;

export interface RedlockOptions extends Partial<Settings<undefined>> {
  /**
   * The maximum of concurrent `acquire` rounds; further ones wait in this process, in the order of the calls. The
   * limit is lower while masters need more than half of `nodeTimeout` for a round, and no round begins while
   * extensions of held leases are late by more than a round trip and a twentieth of the ttl: then hold fewer locks in one
   * process, or use a longer ttl. Default 1000.
   */
  readonly acquireConcurrency?: number | undefined;
  /**
   * Whether votes, extensions and releases that are requested while a master has not answered yet are sent to it
   * together. Saves most of the commands if many locks are requested at a time; with one at a time it makes no
   * difference. Default true.
   */
  readonly groupCommit?: boolean | undefined;
  /**
   * Whether waiters queue on the masters: they are served in order, and notified by the release. Without it, waiters
   * poll every `retryDelay`, in no order. Default true, if every master supports it: masters without scripts do not, nor
   * does a Redis Cluster; `true` with one of these throws InvalidArgumentError.
   */
  readonly queue?: boolean | undefined;
  /**
   * Whether each lock has a {@link Lock.fencingToken}. Adds no round to an uncontended lock. Every client that locks
   * the same resources must switch it on. Tokens only grow as long as no master loses its memory: a master that
   * restarts with older data may let a smaller token be issued again. Masters without scripts do not support it, nor does a
   * Redis Cluster: InvalidArgumentError. Default false.
   */
  readonly fencing?: boolean | undefined;
  /**
   * Whether a nested call for resources that its caller has locked gets a further handle on the same lease, which is
   * released with the last handle. `true`: calls within the routine of a `using`, wherever its async context leads,
   * or with {@link AcquireOptions.parent}. `"handle"`: only with `parent`. Default false.
   */
  readonly reentrant?: boolean | "handle" | undefined;
  /**
   * Keeps the lock safe if a master comes back without votes that it gave: after a crash, a failover or a FLUSHALL it
   * does not vote until everything that it may have forgotten has expired. Two cases are not covered: an old primary
   * that gets its clients back without a restart or resynchronisation, unless one of them was there in between; and
   * SWAPDB there and back without a vote between the two. `maxTtl` is the longest ttl that any client requests, the same in
   * all of them; new masters vote after that time, or at once after {@link Redlock.initialize}. Default: none.
   */
  readonly restartGuard?: RestartGuardOptions | undefined;
  /**
   * Reads the masters' clocks with the votes: a clock that steps, or is skewed, is reported by a `clock` event, and
   * its master's votes do not count if `exclude` is set. Keys expire by these clocks: where one is set forward, two clients
   * can hold a lock. Default: not watched.
   */
  readonly clockWatch?: boolean | ClockWatchOptions | undefined;
  /**
   * The name of this Redlock for others: in the message of their {@link ResourceLockedError}, in `inspect`, and for operators. From
   * the first lock, or the first call that waits, until `quit` each master has a record with this name, the host, the process, the list of masters and the locks that
   * are held for longer than 10 s; it is written each 10 s, and expires after 30 s. Lists of masters that do not go with
   * this one are reported by an `error` event with reason `MEMBERSHIP`. `false`: nothing of this is written or read.
   * 1 to 100 characters. Default `host:pid`; without a known host (a `runtime` of your own without `identity`) false.
   */
  readonly owner?: string | false | undefined;
  /**
   * Gets one line for each change of a master's state, and one for each lock that is lost against its holder's will: any
   * object with the methods `info`, `warn` and `error`, each called with fields and a message, such as a logger of pino.
   * The field `event` is `master_failed`, `master_answers`, `master_quarantined`, `clock_stepped`, `clock_skewed`,
   * `clock_synced`, `same_server`, `membership`, `uncertain_floor` or `lock_lost`; the others are `node`, `reason`, `offset`,
   * `uncertainty` and `resources`. Default: none.
   */
  readonly logger?:
    | Readonly<Record<"info" | "warn" | "error", (fields: object, message: string) => void>>
    | undefined;
  /** Clocks, timers and random bytes. Default: the system's. */
  readonly runtime?: Runtime | undefined;
}

/** The time that `inspect` and `quit` wait for a master without a `nodeTimeout`, ms. */
const defaultNodeTimeout = 500;

/** What the steps of the protocol share, with all that only the client itself uses. */
export interface ClientContext extends Context {
  readonly deletions: Deletions;
  readonly leases: Set<Lease>;
  readonly owners: Owners | undefined;
}

/** The parts of one Redlock, wired together. */
export interface RedlockParts {
  readonly context: ClientContext;
  /** The settings of the constructor: the defaults of each call. */
  readonly settings: Settings;
  /** The time one master has for `inspect`, and for each step of `quit`, ms. */
  readonly nodeTimeout: number;
  /** Where refused calls wait; `undefined` without queues on the masters: then they retry. */
  readonly queues: Lines | undefined;
  readonly guard: RestartGuard | undefined;
  readonly reentrancy: Reentrancy | undefined;
}

/** The receivers of a Redlock's events. */
export interface EventTargets {
  readonly error: (error: NodeError) => void;
  readonly lost: (lock: Handle, loss: LockLostError) => void;
  readonly clock: (event: ClockEvent) => void;
  /** Calls a function of the user, whose error interrupts nothing. */
  readonly safely: (act: () => void) => void;
}

/**
 * Builds all parts of a Redlock. Only this file wires rooms together.
 * @throws InvalidArgumentError for no clients, the same client twice, or incompatible settings.
 */
export function buildClient(
  clients: Client | Iterable<Client>,
  given: RedlockOptions | undefined,
  scripts: object | undefined,
  targets: EventTargets,
): RedlockParts {
  const options = constructorOptions(given);
  if (Object.values(scripts ?? {}).some((script) => script !== undefined)) {
    throw new InvalidArgumentError("custom scripts are not supported");
  }
  const made: LockNode[] = [];
  try {
    return wire(clients, options, targets, made);
  } catch (error) {
    // There is no Redlock whose `quit` could end their connections.
    for (const node of made) node.leave?.();
    throw error;
  }
}

/** Adds the nodes that the user has not passed to `made`: they have opened connections. */
function wire(
  clients: Client | Iterable<Client>,
  options: RedlockOptions,
  targets: EventTargets,
  made: LockNode[],
): RedlockParts {
  const { acquireConcurrency = 1000, groupCommit = true, queue = true, restartGuard } = options;
  const { runtime = systemRuntime } = options;
  const base = restartGuard ? { ...defaultSettings, maxTtl: restartGuard.maxTtl } : defaultSettings;
  const settings = settingsFrom(base, options);
  const nodeTimeout = settings.nodeTimeout ?? defaultNodeTimeout;
  checkConcurrency(acquireConcurrency);
  const log = options.logger && new StateLog(options.logger, runtime, targets.safely);
  const report = (error: NodeError): void => {
    // Abandoned by this client: not the master's fault.
    if (error.reason === "ABANDONED") return;
    if (error.reason === "SAME_SERVER" && !distinct.isNew(error)) return;
    if (error.reason === "QUARANTINE" && guard?.wasReported(error)) return;
    log?.reported(error);
    targets.error(error);
  };
  const scripted = { queue, groupCommit, onFault: report, runtime };
  const nodes = nodesOf(clients, (client) => nodeOf(client, scripted, made));
  const hasCluster = nodes.some((node) => node.records?.isCluster);
  checkAbilities(nodes, hasCluster, options);
  const [leases, serverMoves] = [new Set<Lease>(), { count: 0 }];
  const { clock, timers } = timeOf(runtime);
  const distinct = new DistinctMasters(nodes, leases, serverMoves, report);
  const deletions = new Deletions(runtime, clock, report, undefined, log);
  const context: ClientContext & { owners: Owners | undefined } = {
    nodes,
    placements: new Placements(nodes, leases),
    quorum: quorumOf(nodes.length),
    runtime,
    clock,
    timers,
    tokens: new Tokens(runtime),
    deletions,
    admission: new Admission(runtime, clock, timers, leases, acquireConcurrency),
    proposals: options.fencing ? new Proposals() : undefined,
    owners: undefined,
    leases,
    serverMoves,
    foreign: new Set(),
    isReentrant: Boolean(options.reentrant),
    isQueued: nodes.every((node) => node.queue),
    hasCluster,
    report,
    log,
    holds: new WeakMap(),
    lost: (handles) => {
      for (const handle of handles) onLost(handle, targets, log);
    },
  };
  context.owners = ownersOf(context, options.owner);
  if (options.clockWatch) {
    const watching = options.clockWatch === true ? {} : options.clockWatch;
    const watched = { ...watching, maxTtl: watching.maxTtl ?? restartGuard?.maxTtl };
    const emit = (event: ClockEvent): void => {
      log?.onClock(event);
      targets.clock(event);
    };
    watchClocks(context, watched, settings.driftFactor, emit, (index) => guard?.distrust(index));
  }
  const guard = restartGuard && new RestartGuard(context, restartGuard, nodeTimeout);
  const queues = context.isQueued ? new Lines(context, settings.driftFactor) : undefined;
  const reentrancy = options.reentrant ? new Reentrancy(context, options.reentrant) : undefined;
  return { context, settings, nodeTimeout, queues, guard, reentrancy };
}

/** Apart from all else: what a timer keeps in memory must not lead to a Redlock that was dropped. */
function timeOf(runtime: Runtime): { readonly clock: LeaseClock; readonly timers: Timers } {
  const clock = new LeaseClock(runtime, () => timers.clockJumped());
  const timers: Timers = new Timers(runtime, clock);
  return { clock, timers };
}

/** `undefined` if its owner has no name, or no master keeps records. */
function ownersOf(context: Context, given: string | false | undefined): Owners | undefined {
  const { runtime, nodes } = context;
  if (given === false || !nodes.some((node) => node.records)) return undefined;
  const identity = runtime.identity?.();
  const name = given ?? (identity && `${identity.host}:${identity.pid}`);
  if (name === undefined) return undefined;
  return new Owners(context, { name, host: identity?.host ?? "unknown", pid: identity?.pid ?? 0 });
}

function onLost(handle: Handle, targets: EventTargets, log: StateLog | undefined): void {
  const loss = handle.loss!;
  if (lost.hasSubscribers) traceLoss(loss);
  log?.onLoss(loss);
  targets.lost(handle, loss);
}

/** Refuses an option that some master does not support. */
function checkAbilities(nodes: readonly LockNode[], hasCluster: boolean, options: RedlockOptions): void {
  const { queue, fencing } = options;
  if (queue && !nodes.every((node) => node.queue)) {
    throw new InvalidArgumentError(
      hasCluster
        ? "queue: a Redis Cluster keeps no queue: leave the option out, and waiters poll in no order, or use three small servers beside the Cluster"
        : "queue: not every master can keep one (without scripts none can)",
    );
  }
  if (fencing && !nodes.every((node) => node.keepsCounters)) {
    throw new InvalidArgumentError(
      hasCluster
        ? "fencing: a Redis Cluster grants no fencing tokens: compare a version in your database, or use three small servers beside the Cluster"
        : "fencing: nodes without scripts cannot keep the counters",
    );
  }
}

function watchClocks(
  { nodes, runtime }: Context,
  options: ClockWatchOptions,
  driftFactor: number,
  emit: (event: ClockEvent) => void,
  distrust: (index: number) => void,
): void {
  checkClockWatch(options);
  const watch: ClockWatch = { options, driftFactor, runtime, emit, clocks: [] };
  for (const [index, node] of nodes.entries()) {
    // A Cluster consists of many masters, each with its own clock.
    if (node.records?.isCluster || !node.keepsCounters || !node.watchClock || !node.clock) {
      throw new InvalidArgumentError(
        "clockWatch: neither a Redis Cluster nor nodes without scripts can be watched",
      );
    }
    node.watchClock(new WatchedClock(watch, node.name, node.clock, () => distrust(index)));
  }
}

function nodesOf(
  clients: Client | Iterable<Client>,
  nodeOf: (client: Client) => LockNode,
): readonly LockNode[] {
  const given = typeof clients === "object" && clients !== null ? clients : [];
  const list = Symbol.iterator in given ? [...given] : [given];
  if (list.length === 0) throw new InvalidArgumentError("clients must be a list of at least one client");
  for (const [index, client] of list.entries()) {
    let kind: string;
    try {
      if (isNode(client) || isRedisClient(client)) continue;
      kind = notAClient(client);
    } catch (error) {
      kind = `a wrapper that cannot be read (${String(error)}); expected the client itself`;
    }
    throw new InvalidArgumentError(`client ${index} is ${kind}, or a LockNode`);
  }
  const passed = list.map((client) => (isNode(client) ? client.client : client));
  if (new Set(passed).size < list.length) {
    throw new InvalidArgumentError("each client may be passed once, but one is passed twice");
  }
  checkAddresses(passed);
  return list.map(nodeOf);
}

function nodeOf(client: Client, options: RedisNodeOptions, made: LockNode[]): LockNode {
  // A master of an adapter that the user has written.
  if (isNode(client) && !RedisNode.isUnchanged(client)) return client;
  const node =
    client instanceof RedisNode ? client.withDefaults(options) : new RedisNode(connectionOf(client), options);
  made.push(node);
  return node;
}

function isNode(client: unknown): client is LockNode {
  const { ask, send } = (client ?? {}) as Partial<Record<"ask" | "send", unknown>>;
  // A connection has both: RedisNode makes a node of it.
  return typeof ask === "function" && send === undefined;
}
