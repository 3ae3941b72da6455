import type { ClockWatchOptions } from "@quorlock/redlock";
import type { PartsPerMillion } from "../clocks/clocks.ts";
import type { Persistence } from "../master/durability.ts";
import type { Forbidden, ForeignListener } from "../master/master.ts";
import type { Latency } from "../network/latency.ts";
import type { Fault } from "./fault.ts";

/** The complete description of a run, as JSON. The same plan produces the same hash. */
export interface Plan {
  readonly version: 1;
  /** Seed of everything that is not in the plan: latencies, tokens, jitter, holding times. */
  readonly seed: number;
  /** How long faults may happen, ms. Then all is healed, and progress is demanded. */
  readonly duration: number;
  readonly masters: readonly MasterPlan[];
  readonly clients: readonly ClientPlan[];
  readonly network: NetworkPlan;
  readonly settings: LockSettings;
  readonly workload: Workload;
  readonly faults: readonly Fault[];
}

export interface ClockPlan {
  /** The offset of the wall clock, ms. */
  readonly offset: number;
  readonly rate: PartsPerMillion;
}

export interface MasterPlan extends ClockPlan {
  readonly persistence: Persistence;
  /** Commands that its users have no right to. */
  readonly forbids?: readonly Forbidden[];
  /** The number of the master that it is, under another address: whatever is sent to it is sent there. Default: its own. */
  readonly sameAs?: number;
  /** Whether it is a Cluster. All keys are in one of its slots. */
  readonly isCluster?: boolean;
  /** Other listeners of its channels. */
  readonly listeners?: readonly ForeignListener[];
}

export interface ClientPlan extends ClockPlan {
  /** Mean lateness of its timers, ms. */
  readonly timerLateness: number;
  /** Whether it is a client of another kind, that knows no queue: it votes, asks again, and deletes. */
  readonly isForeign?: boolean;
  /** It begins to use locks only then, ms from the start by its own timers. Default 0. */
  readonly startsAt?: number;
  /** Its list of masters, by number. Default: all. */
  readonly masters?: readonly number[];
  /**
   * When it ends, ms from the start: nothing reaches a master from it or comes back any more. Its code goes by the leases that
   * it still has, until none is left. Default: it lives.
   */
  readonly endsAt?: number;
}

/** When the last lease of a client that ends is over by any clock, ms from the start. */
export function goneAt({ endsAt }: { readonly endsAt: number }, { ttl, driftFactor }: LockSettings): number {
  return endsAt + Math.ceil(ttl * (1 + driftFactor));
}

export interface NetworkPlan {
  readonly latency: Latency;
  /** No message takes longer one way, ms. */
  readonly longestLatency: number;
  /** From a lost connection to the next try, ms. */
  readonly reconnectDelay: number;
  /**
   * The name that clients give every master, as groups of sentinels may all have one name. Default: each has its own.
   */
  readonly oneName?: string;
}

/** The settings of the locks; the names are the client's own. */
export interface LockSettings {
  readonly ttl: number;
  readonly driftFactor: number;
  readonly nodeTimeout?: number;
  readonly retryCount: number;
  readonly retryDelay: number;
  readonly retryJitter: number;
  readonly waitTimeout?: number;
  readonly automaticExtensionThreshold: number;
  /** Whether who waits stands in the masters' queues. Default: yes. */
  readonly queue?: boolean;
  /** Whether locks have fencing tokens. Default: no. */
  readonly fencing?: boolean;
  /** How many vote rounds one client may have in flight. Default: the client's. */
  readonly acquireConcurrency?: number;
  /** Whether what is asked for in one turn is sent together. Default: yes. */
  readonly groupCommit?: boolean;
  /** Masters may forget their votes. Default: none, they may not. */
  readonly restartGuard?: { readonly maxTtl: number; readonly durable?: boolean };
  /** Whether the masters' clocks are watched, and what for. Default: no. */
  readonly clockWatch?: ClockWatchOptions;
}

/** The options of one call; the constructor has the others. */
export interface CallSettings {
  /** Not above that of the plan. */
  readonly ttl?: number;
  readonly nodeTimeout?: number;
  readonly retryCount?: number;
  readonly retryDelay?: number;
  readonly retryJitter?: number;
  readonly waitTimeout?: number;
  readonly minimumValidity?: number;
  readonly backoff?: BackoffPlan;
}

/** A backoff function: a pause of up to `initial` ms, that doubles with each attempt, up to `maximum`. */
export interface BackoffPlan {
  readonly initial: number;
  readonly maximum: number;
  /** From this attempt on it throws. */
  readonly throwsFrom?: number;
}

/** No pause after attempt number `attempt` is longer, ms. */
export function pauseLimit({ initial, maximum }: BackoffPlan, attempt: number): number {
  return Math.min(maximum, initial * 2 ** (attempt - 1));
}

/** The use that clients make of their locks. */
export interface Workload {
  readonly resources: number;
  /** Mean time in the critical section, and between two of them, ms. */
  readonly hold: number;
  readonly think: number;
  /** How many in each process use its locks at the same time. Default 1. */
  readonly parallel?: number;
  /** How many Redlocks these have, in turn, over the same clients of Redis. Default 1. */
  readonly redlocks?: number;
  /** How many resources `several` locks at once. Default 2. */
  readonly several?: number;
  /** The settings of calls: each call takes one of these. Default: all have those of the constructor. */
  readonly calls?: readonly CallSettings[];
  /** The lists of resources, by number, of which each use locks one. Default: one resource, or `several` neighbours. */
  readonly lists?: ReadonlyArray<readonly number[]>;
  /** How often each way of using a lock is taken, as weights; what is missing is not taken. */
  readonly styles: Readonly<Partial<Record<Style, number>>>;
  /** The tasks of each client, one after the other, instead of drawn work. */
  readonly script?: ReadonlyArray<readonly ScriptedTask[]>;
}

/** One use of a lock, from asking for it to giving it up. */
export interface Task {
  readonly do: Style;
  /** By number, from 0. */
  readonly resource: number;
  /** The number of a list of the workload's, in place of `resource`. */
  readonly list?: number;
  /** In the critical section, ms by the client's timers; drawn where it is not given. */
  readonly hold?: number;
  /** How often it looks at its lock and writes meanwhile, at regular intervals. Default 4. */
  readonly looks?: number;
}

export interface ScriptedTask extends Task {
  /** Not before: ms from the start, by the client's timers. */
  readonly at: number;
}

/**
 * - `acquire`: acquire, work, release.
 * - `try`: the same with `tryAcquire`.
 * - `extend`: extended by hand while working.
 * - `using`: kept extended by the client.
 * - `abandon`: never released; it runs out.
 * - `abort`: the waiting is aborted now and then.
 * - `several`: several resources at once.
 * - `detach`: detached while it is held, to be extended and released by another client.
 * - `pair`: two resources in one turn, each with its own lock, the first for half of the ttl.
 */
export type Style = (typeof styles)[number];

export const styles = [
  "acquire",
  "try",
  "extend",
  "using",
  "abandon",
  "abort",
  "several",
  "detach",
  "pair",
] as const;

/** How often a way of using locks is taken. */
export function weightOf({ styles: weights }: Pick<Workload, "styles">, style: Style): number {
  return weights[style] ?? 0;
}

/** The names of all resources that the clients of a plan may lock. */
export function resourcesIn({ resources, several = 2 }: Workload): readonly string[] {
  return Array.from({ length: resources + several - 1 }, (_, index) => resourceName(index));
}

/** Those that a task locks; where it locks several, the first and those that follow. */
export function resourcesOf({ do: style, resource, list }: Task, workload: Workload): readonly string[] {
  if (list !== undefined && workload.lists) return workload.lists[list]!.map(resourceName);
  if (style !== "several" && style !== "pair") return [resourceName(resource)];
  const all = resourcesIn(workload);
  return Array.from(
    { length: style === "pair" ? 2 : (workload.several ?? 2) },
    (_, index) => all[(resource + index) % all.length]!,
  );
}

function resourceName(index: number): string {
  return `resource-${index}`;
}
