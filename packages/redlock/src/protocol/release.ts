import type { NodeError } from "../errors.ts";
import { nodeTimeoutFor, type Settings } from "../settings/settings.ts";
import { Latch } from "../time/cancellation.ts";
import type { LeaseClock } from "../time/lease-clock.ts";
import type { Runtime, Timer } from "../time/runtime.ts";
import { releasing } from "../tracing/channels.ts";
import type { StateLog } from "../tracing/state-log.ts";
import { traceRelease } from "../tracing/traces.ts";
import type { Deleting, Leftover } from "./context.ts";
import { Attempts, type ExecutionResult, type VoteRecord } from "./execution-stats.ts";
import type { Lease } from "./lease.ts";
import type { Fault, LockNode, Question } from "./node.ts";
import { answerOf, questionOf } from "./question.ts";
import { quorumOf, type Tally, toleratedFailures } from "./quorum.ts";
import { type Asking, Round } from "./round.ts";

/**
 * Releases a lease: PROTOCOL 5. Never rejects and never retries: an expired lock is an outcome (PROTOCOL 5.2). Only the first call
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
      ? traceRelease(lease, lease.context.runtime, () => lease.handOff?.() ?? releaseKeys(lease, settings))
      : (lease.handOff?.() ?? releaseKeys(lease, settings));
  }
  return lease.releasing;
}

/** Releases every key that the lease may have: all are under its one token (PROTOCOL 5.4). */
export async function releaseKeys(lease: Lease, settings: Settings): Promise<ExecutionResult> {
  const { nodes, deletions, runtime } = lease.context;
  const start = runtime.wall();
  const { resources, token, ttl, unasked } = lease.votes;
  const leftover = { resources, token, ttl, unasked };
  const round = deletions.deletion(leftover, nodes, nodeTimeoutFor(ttl, settings), isDecided);
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
 * hangs. Beyond this the oldest are left to expire (PROTOCOL 2.6).
 */
const defaultMaxPending = 100_000;

/**
 * The deletes that one master could not be sent (PROTOCOL 2.6): kept until it is back, for as long as their keys can
 * exist.
 */
class PendingDeletes {
  all: PendingDelete[] = [];
  readonly #node: LockNode;
  readonly #runtime: Runtime;
  readonly #most: number;
  readonly #ended: Latch;
  /** Both set while any are kept. */
  #forget: (() => void) | undefined;
  #timer: Timer | undefined;

  constructor(node: LockNode, runtime: Runtime, most: number, ended: Latch) {
    this.#node = node;
    this.#runtime = runtime;
    this.#most = most;
    this.#ended = ended;
    ended.onEnd(() => this.#stop());
  }

  keep(pending: PendingDelete, { sent, error: { reason } }: Fault): void {
    // The master is only slow: the command is on its way, and its real answer is still processed.
    if (this.#ended.isOver || reason === "TIMEOUT" || (reason === "ABANDONED" && sent)) return;
    this.all.push(pending);
    if (this.all.length > this.#most) this.#dropExpired();
    if (this.all.length > this.#most) this.all = this.all.slice(-this.#most / 2);
    this.#forget ??= this.#node.onReady(() => void this.#retry());
    this.#timer ??= this.#retryLater();
  }

  #dropExpired(): void {
    const now = this.#runtime.monotonic();
    this.all = this.all.filter(({ until }) => until > now);
  }

  #retryLater(): Timer {
    const timer = this.#runtime.setTimer(() => {
      this.#timer = undefined;
      void this.#retry();
    }, retryInterval);
    timer.unref();
    return timer;
  }

  /** Sends the oldest to see whether the master is back, then the rest at once. */
  async #retry(): Promise<void> {
    this.#dropExpired();
    const first = this.all.shift();
    if (!first) return this.#stop();
    this.#timer ??= this.#retryLater();
    if (await this.#send(first)) for (const pending of this.all.splice(0)) void this.#send(pending);
  }

  /** Resolves to whether it was answered. */
  async #send(pending: PendingDelete): Promise<boolean> {
    const answer = await answerOf(this.#node, deletionOf(pending.leftover));
    if (answer.is === "fault") this.keep(pending, answer);
    return answer.is !== "fault";
  }

  #stop(): void {
    this.#forget?.();
    this.#timer?.cancel();
    this.#forget = undefined;
    this.#timer = undefined;
    this.all = [];
  }
}

/**
 * Deletes keys (PROTOCOL 2.6, 5.1), and keeps the deletes that failed: a master that was unreachable is cleaned when it
 * is back.
 */
export class Deletions implements Deleting {
  readonly #asking: Omit<Asking, "nodes">;
  readonly #maxPending: number;
  readonly #open = new Set<Round>();
  readonly #pending = new Map<LockNode, PendingDeletes>();
  readonly #ended = new Latch();

  constructor(
    runtime: Runtime,
    clock: LeaseClock,
    report: (error: NodeError) => void,
    maxPending: number = defaultMaxPending,
    log?: StateLog,
  ) {
    this.#asking = { runtime, clock, report, log };
    this.#maxPending = maxPending;
  }

  /** The number of pending deletes. */
  get pendingCount(): number {
    return [...this.#pending.values()].flatMap(({ all }) => all).length;
  }

  /** Resolves when every delete that was sent has been answered or has timed out. */
  get answered(): Promise<void> {
    return Promise.all([...this.#open].map((round) => round.closed.done)).then(() => {});
  }

  /**
   * A round that deletes from each of `nodes`, on each behind what was sent before (FIFO). The caller asks. `isDecided` gets
   * the answers as they come; those of masters that are not asked stay `undefined`.
   */
  deletion(
    leftover: Leftover,
    nodes: readonly LockNode[],
    timeout: number,
    isDecided?: (answers: Tally) => boolean,
  ): Round {
    const { runtime, clock, report, log } = this.#asking;
    const round = new Round({ nodes, runtime, clock, report, log }, deletionOf(leftover), {
      timeout,
      // PROTOCOL 12.9: a master that works off other requests may answer until the keys have expired.
      maxTimeout: leftover.ttl,
      isDecided,
      onAnswer: (index, answer, asked) => {
        if (!asked.isOpen) this.#open.delete(asked);
        // A hung master is asked for nothing, and while it hangs thousands of locks come and go.
        if (answer.is !== "fault" || leftover.unasked?.includes(index)) return;
        this.#pendingOf(nodes[index]!).keep({ leftover, until: runtime.monotonic() + leftover.ttl }, answer);
      },
    });
    if (round.isOpen) this.#open.add(round);
    return round;
  }

  /** Drops all pending deletes, now and later: the keys expire by themselves. */
  stop(): void {
    this.#ended.end();
  }

  #pendingOf(node: LockNode): PendingDeletes {
    const known = this.#pending.get(node);
    if (known) return known;
    const made = new PendingDeletes(node, this.#asking.runtime, this.#maxPending, this.#ended);
    this.#pending.set(node, made);
    return made;
  }
}
