import { type ExecutionStats, type NodeError, printable, ResourceLockedError } from "../errors.ts";
import type { Latch } from "../time/cancellation.ts";
import type { Answer, LockNode } from "./node.ts";
import { quorumOf, type Tally } from "./quorum.ts";

export interface ExecutionResult {
  /**
   * - `released`: a quorum of masters deleted the key, or granted it to the next waiter; or the lock was handed to a
   *   waiter in this process. The votes may then be those of the acquire.
   * - `expired`: a majority no longer held it.
   * - `partial`: too few masters answered. The others are cleaned when they are back, or the key expires.
   * - `detached`: it was detached before, so nothing was sent.
   */
  readonly outcome: "released" | "expired" | "partial" | "detached";
  /** The votes, as in redlock 5. */
  readonly attempts: ReadonlyArray<Promise<ExecutionStats>>;
  /** The time of the call by this machine's wall clock, ms since the epoch. */
  readonly start: number;
}

/** The number of latest attempts that are kept. */
const maxRounds = 32;
/** The maximum number of attempts that a wait in a queue counts for. */
const maxWaits = 1000;

/** A round of votes or of deletes, or what is kept of one. */
export interface VoteRecord {
  readonly answers: Tally;
  /** Over when every master has answered or has been given up. Missing if nothing is asked. */
  readonly closed?: Latch;
}

/** The record of a round in which every master said yes. */
const unanimous: VoteRecord = { answers: [] };
const yes: Answer = { is: "yes", remaining: 0 };

/**
 * The rounds of one call, for statistics in the format of redlock 5. A lock keeps them for as long as it is held, so
 * only a small record is kept of a closed round.
 */
export class Attempts {
  readonly #nodes: readonly LockNode[];
  #rounds: readonly VoteRecord[] = [];
  /** The number of attempts, if a wait in a queue counts for some of them. */
  #count = 0;
  #continuesAttempt = false;

  constructor(nodes: readonly LockNode[]) {
    this.#nodes = nodes;
  }

  /**
   * `goesOn`: the round belongs to the same attempt as the one before. A waiter asks again and again; only the latest
   * is kept.
   */
  add(round: VoteRecord, goesOn: boolean = this.#continuesAttempt): void {
    this.#continuesAttempt = false;
    // The usual list has one round, and needs no copy.
    if (this.#rounds.length === 0) this.#rounds = [round];
    else
      this.#rounds = (goesOn ? this.#rounds.slice(0, -1) : this.#rounds.slice(1 - maxRounds)).concat([round]);
    round.closed?.onEnd(() => {
      const index = this.#rounds.indexOf(round);
      if (index < 0) return;
      const remainder = remainderOf(round);
      this.#rounds = this.#rounds.length === 1 ? [remainder] : this.#rounds.with(index, remainder);
    });
  }

  /** The next round belongs to the same attempt as the latest one. */
  continueAttempt(): void {
    this.#continuesAttempt = true;
  }

  /** The wait in a queue took as long as this number of retries: it counts as that many attempts after the first. */
  countWait(retries: number): void {
    this.#count = 1 + Math.min(retries, maxWaits);
  }

  /** The round that won the lease, if there is one. */
  get latest(): VoteRecord | undefined {
    return this.#rounds.at(-1);
  }

  /** The answers of the last round, by the index of the master. */
  get latestVotes(): Tally {
    return this.latest?.answers ?? [];
  }

  /** Each resolves once every master has answered or been given up; none rejects. */
  get stats(): ReadonlyArray<Promise<ExecutionStats>> {
    const stats = this.#rounds.map(async (round) => {
      await round.closed?.done;
      return this.#statsOf(round);
    });
    const missing = this.#count - stats.length;
    if (missing <= 0) return stats;
    // A call that waited behind others of this process may have asked no master.
    const refused = stats.length > 1 ? stats.at(-2) : this.hadQuorum ? undefined : stats.at(-1);
    const waiting = refused ?? Promise.resolve(this.#statsOf({ answers: [] }));
    return stats.toSpliced(-1, 0, ...Array.from({ length: missing }, () => waiting));
  }

  /** Whether a quorum said yes in the last round. */
  get hadQuorum(): boolean {
    const { latest } = this;
    const yes = this.#nodes.filter((_, index) => isFor(voteIn(latest, index)));
    return yes.length >= quorumOf(this.#nodes.length);
  }

  /** The answers of the last round, for a message. */
  get summary(): string {
    const { latest } = this;
    return this.#nodes.map(({ name }, index) => `${name}: ${saidIn(voteIn(latest, index))}`).join("; ");
  }

  #statsOf(round: VoteRecord): ExecutionStats {
    const votesFor = new Set<object>();
    const votesAgainst = new Map<object, Error>();
    for (const [index, node] of this.#nodes.entries()) {
      const answer = voteIn(round, index);
      const error = answer && errorOf(answer);
      if (isFor(answer)) votesFor.add(node.client);
      else if (error) votesAgainst.set(node.client, error);
    }
    const membershipSize = this.#nodes.length;
    return { membershipSize, quorumSize: quorumOf(membershipSize), votesFor, votesAgainst };
  }
}

/** Two reasons say too little: why the connection failed is a code in its error, and an `ERR` is explained by its text. */
function saidIn(answer: Answer | undefined): string {
  if (answer?.is !== "fault") return answer?.is ?? "no answer yet";
  const { node, reason, message } = answer.error;
  const detail = message.slice(`${node}: ${reason}: `.length, -" [NODE]".length);
  if (reason === "ERR") return `ERR ${printable(detail)}`;
  const code = reason === "UNREACHABLE" && /\b[A-Z]{4,}\b/.exec(detail)?.[0];
  return code ? `${reason} (${code})` : reason;
}

function isFor(answer: Answer | undefined): boolean {
  return answer?.is === "yes" || answer?.is === "done";
}

/** The error of an answer that is against; `undefined` if it is none. */
function errorOf(answer: Answer): NodeError | ResourceLockedError | undefined {
  if (answer.is === "fault") return answer.error;
  if (answer.is === "no") return new ResourceLockedError(answer.resource, answer.remaining);
  return answer.is === "missed" ? new ResourceLockedError("the resource", 0) : undefined;
}

function voteIn(round: VoteRecord | undefined, index: number): Answer | undefined {
  return round === unanimous ? yes : round?.answers[index];
}

/** Without the tokens of other owners, and without the round. */
function remainderOf({ answers }: VoteRecord): VoteRecord {
  return answers.every((answer) => answer?.is === "yes") ? unanimous : { answers: answers.map(kept) };
}

function kept(answer: Answer | undefined): Answer | undefined {
  if (answer?.is !== "no") return answer;
  const { is, resource, remaining } = answer;
  return { is, resource, remaining, owner: undefined };
}
