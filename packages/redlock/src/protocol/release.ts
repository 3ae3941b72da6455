import type { NodeError } from "../errors.ts";
import { nodeTimeoutFor, type Settings } from "../settings/settings.ts";
import type { LeaseClock } from "../time/lease-clock.ts";
import type { Runtime, Timer } from "../time/runtime.ts";
import { releasing } from "../tracing/channels.ts";
import type { StateLog } from "../tracing/state-log.ts";
import { traceRelease } from "../tracing/traces.ts";
import type { Deletions, Leftover } from "./context.ts";
import { Attempts, type VoteRecord } from "./execution-stats.ts";
import type { ExecutionResult, Lease } from "./lease.ts";
import type { Fault, LockNode, Question } from "./node.ts";
import { answerOf, questionOf } from "./question.ts";
import { quorumOf, type Tally, toleratedFailures } from "./quorum.ts";
import { type Asking, type Round, roundFor } from "./round.ts";

/**
 * Releases a lease: PROTOCOL 5. Never rejects and never retries: an expired lock is an outcome. Only the first call
 * sends anything. A detached lease is released by the process that resumed it.
 */
export function release(lease: Lease, settings: Settings): Promise<ExecutionResult> {
  if (lease.isDetached) {
    const { nodes, runtime } = lease.context;
    return Promise.resolve(new Released("detached", nodes, runtime.wall()));
  }
  if (!lease.releasing) {
    // PROTOCOL 5.3: it has ended here before anything is sent.
    lease.end();
    lease.releasing = releasing.hasSubscribers
      ? traceRelease(lease, lease.context.runtime, () => handOffOrRelease(lease, settings))
      : (lease.handOff?.() ?? releaseKeys(lease, settings));
  }
  return lease.releasing;
}

function handOffOrRelease(lease: Lease, settings: Settings): Promise<ExecutionResult> {
  return lease.handOff?.() ?? releaseKeys(lease, settings);
}

/** Releases every key that the lease may have: all are under its one token (PROTOCOL 5.4). */
export async function releaseKeys(lease: Lease, settings: Settings): Promise<ExecutionResult> {
  const { nodes, rollbacks, runtime } = lease.context;
  const start = runtime.wall();
  const { resources, token, ttl, unasked } = lease.votes;
  const leftover = { resources, token, ttl, unasked };
  const round = rollbacks.removal(leftover, nodes, nodeTimeoutFor(ttl, settings), isDecided);
  await round.ask().decided;
  return new Released(outcomeOf(round.answers), nodes, start, round);
}

/** Builds the statistics only when they are read. */
export class Released implements ExecutionResult {
  readonly outcome: ExecutionResult["outcome"];
  readonly start: number;
  readonly #nodes: readonly LockNode[];
  readonly #round: VoteRecord | undefined;

  /** `round`: the round that released the lease. */
  constructor(
    outcome: ExecutionResult["outcome"],
    nodes: readonly LockNode[],
    start: number,
    round?: VoteRecord,
  ) {
    this.outcome = outcome;
    this.start = start;
    this.#nodes = nodes;
    this.#round = round;
  }

  get attempts(): ExecutionResult["attempts"] {
    const attempts = new Attempts(this.#nodes);
    if (this.#round) attempts.add(this.#round);
    return attempts.stats;
  }
}

function isDecided(answers: Tally): boolean {
  return outcomeOf(answers) !== "partial";
}

function outcomeOf(answers: Tally): ExecutionResult["outcome"] {
  let deleted = 0;
  let gone = 0;
  for (const answer of answers) {
    if (answer?.is === "done") deleted += 1;
    else if (answer?.is === "missed") gone += 1;
  }
  if (deleted >= quorumOf(answers.length)) return "released";
  return gone > toleratedFailures(answers.length) ? "expired" : "partial";
}

function deletionOf({ resources, token }: Leftover): Question {
  return questionOf({ verb: "release", keys: resources, words: [token] });
}

interface PendingDelete {
  readonly leftover: Leftover;
  /** By the monotonic clock, ms. */
  readonly until: number;
}

/** The interval of retries on an unreachable master, ms; it is also retried when it is back. */
const retryInterval = 1000;
/**
 * The pending deletes kept for one master, some 50 bytes each: what a process releases in seconds while a master
 * hangs. Beyond this the oldest are left to expire.
 */
const defaultMaxPending = 100_000;

/**
 * Deletes keys (PROTOCOL 2.6, 5.1), and keeps the deletes that failed: a master that was unreachable is cleaned when it
 * is back, for as long as the keys can still exist.
 */
export class Rollbacks implements Deletions {
  readonly #runtime: Runtime;
  readonly #asking: Omit<Asking, "nodes">;
  readonly #maxPending: number;
  readonly #open = new Set<Round>();
  readonly #pending = new Map<LockNode, PendingDelete[]>();
  /** The functions that remove the listeners on masters with pending deletes. */
  readonly #unsubscribe = new Map<LockNode, () => void>();
  #timer: Timer | undefined;
  #stopped = false;

  constructor(
    runtime: Runtime,
    clock: LeaseClock,
    report: (error: NodeError) => void,
    maxPending: number = defaultMaxPending,
    log?: StateLog,
  ) {
    this.#asking = { runtime, clock, report, log };
    this.#maxPending = maxPending;
    this.#runtime = runtime;
  }

  /** The number of pending deletes. */
  get pendingCount(): number {
    let count = 0;
    for (const pending of this.#pending.values()) count += pending.length;
    return count;
  }

  /** Resolves when every delete that was sent has been answered or has timed out. */
  get answered(): Promise<void> {
    return Promise.all([...this.#open].map((round) => round.closed)).then(() => {});
  }

  /**
   * A round that deletes from each of `nodes`, on each behind what was sent before (FIFO). The caller asks. `isDecided` gets
   * the answers as they come; those of masters that are not asked stay `undefined`.
   */
  removal(
    leftover: Leftover,
    nodes: readonly LockNode[],
    timeout: number,
    isDecided?: (answers: Tally) => boolean,
  ): Round {
    const { runtime, clock, report, log } = this.#asking;
    const round = roundFor({ nodes, runtime, clock, report, log }, undefined, deletionOf(leftover), {
      timeout,
      maxTimeout: leftover.ttl,
      isDecided,
      onAnswer: (index, answer, asked) => {
        if (!asked.isOpen) this.#open.delete(asked);
        if (answer.is !== "fault") return;
        // A hung master is asked for nothing, and while it hangs thousands of locks come and go.
        if (leftover.unasked?.includes(index)) return;
        const until = this.#runtime.monotonic() + leftover.ttl;
        this.#keep(nodes[index]!, { leftover, until }, answer);
      },
    });
    if (round.isOpen) this.#open.add(round);
    return round;
  }

  /** Drops all pending deletes, now and later: the keys expire by themselves. */
  stop(): void {
    this.#stopped = true;
    this.#pending.clear();
    for (const unsubscribe of this.#unsubscribe.values()) unsubscribe();
    this.#unsubscribe.clear();
    this.#timer?.cancel();
  }

  #keep(node: LockNode, pending: PendingDelete, fault: Fault): void {
    // The master is only slow: the command is on its way, and its real answer is still processed.
    const { reason } = fault.error;
    if (this.#stopped || reason === "TIMEOUT" || (reason === "ABANDONED" && fault.sent)) return;
    const all = this.#pending.get(node) ?? [];
    this.#pending.set(node, all);
    all.push(pending);
    if (all.length > this.#maxPending) this.#pending.set(node, this.#latest(all));
    if (!this.#unsubscribe.has(node)) {
      const unsubscribe = node.onReady(() => this.#retry(node));
      this.#unsubscribe.set(node, unsubscribe);
    }
    this.#timer ??= this.#retryLater();
  }

  /** Drops deletes whose keys have expired; if there are still too many, keeps the latest half. */
  #latest(all: PendingDelete[]): PendingDelete[] {
    const now = this.#runtime.monotonic();
    const unexpired = all.filter(({ until }) => until > now);
    return unexpired.length > this.#maxPending ? unexpired.slice(-this.#maxPending / 2) : unexpired;
  }

  /** Sends one pending delete to see whether the master is back, then the rest at once. */
  #retry(node: LockNode): void {
    const all = this.#pending.get(node) ?? [];
    this.#pending.delete(node);
    const now = this.#runtime.monotonic();
    const [first, ...rest] = all.filter(({ until }) => until > now);
    if (!first) {
      this.#unsubscribe.get(node)?.();
      this.#unsubscribe.delete(node);
      return;
    }
    void this.#send(node, first).then((isAnswered) => {
      if (isAnswered) for (const pending of rest) void this.#send(node, pending);
      else if (!this.#stopped) {
        this.#pending.set(node, this.#latest([...rest, ...(this.#pending.get(node) ?? [])]));
      }
    });
  }

  /** Resolves to whether it was answered. */
  async #send(node: LockNode, pending: PendingDelete): Promise<boolean> {
    const answer = await answerOf(node, deletionOf(pending.leftover));
    if (answer.is === "fault") this.#keep(node, pending, answer);
    return answer.is !== "fault";
  }

  #retryLater(): Timer {
    const timer = this.#runtime.setTimer(() => {
      for (const node of [...this.#unsubscribe.keys()]) this.#retry(node);
      this.#timer = this.#unsubscribe.size > 0 ? this.#retryLater() : undefined;
    }, retryInterval);
    timer.unref();
    return timer;
  }
}
