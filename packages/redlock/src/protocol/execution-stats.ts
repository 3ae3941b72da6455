import { type ExecutionStats, type NodeError, ResourceLockedError } from "../errors.ts";
import type { Answer, Fault, LockNode, No, ReleaseAnswer } from "./node.ts";
import { quorumOf } from "./quorum.ts";

/** The number of latest attempts that are kept. */
const maxRounds = 32;
/** The maximum number of attempts that a wait in a queue counts for. */
const maxWaits = 1000;

/** A round of votes or of deletes. */
export interface AnyRound {
  readonly answers: Votes;
  /** Resolves when every master has answered or has been given up. */
  readonly closed: Promise<void>;
  onClosed(listener: () => void): void;
}
/** The part of a refusal that is kept. */
type Refusal = Pick<No, "vote" | "resource" | "remaining">;
type Vote = Answer | ReleaseAnswer | Fault | Refusal;
export type Votes = ReadonlyArray<Vote | undefined>;

/** The record of a round in which every master said yes. */
const unanimous: Votes = [];
const yes: Answer = { vote: "yes", remaining: 0 };

/**
 * The rounds of one call, for statistics in the format of redlock 5. A lock keeps them for as long as it is held, so
 * only a small record is kept of a closed round.
 */
export class Attempts {
  readonly #nodes: readonly LockNode[];
  #rounds: ReadonlyArray<AnyRound | Votes> = [];
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
  add(round: AnyRound | Votes, goesOn: boolean = this.#continuesAttempt): void {
    this.#continuesAttempt = false;
    // The usual list has one round, and needs no copy.
    if (this.#rounds.length === 0) this.#rounds = [round];
    else
      this.#rounds = (goesOn ? this.#rounds.slice(0, -1) : this.#rounds.slice(1 - maxRounds)).concat([round]);
    if (!("answers" in round)) return;
    round.onClosed(() => {
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
  get latest(): AnyRound | Votes | undefined {
    return this.#rounds.at(-1);
  }

  /** The answers of the last round, by the index of the master. */
  get latestVotes(): Votes {
    const last = this.#rounds.at(-1);
    return last ? votesIn(last) : [];
  }

  /** Each resolves once every master has answered or been given up; none rejects. */
  get stats(): ReadonlyArray<Promise<ExecutionStats>> {
    const stats = this.#rounds.map(async (round) => {
      if ("closed" in round) await round.closed;
      return this.#statsOf(votesIn(round));
    });
    const missing = this.#count - stats.length;
    if (missing <= 0) return stats;
    // A call that waited behind others of this process may have asked no master.
    const refused = stats.length > 1 ? stats.at(-2) : this.hadQuorum ? undefined : stats.at(-1);
    const waiting = refused ?? Promise.resolve(this.#statsOf([]));
    return stats.toSpliced(-1, 0, ...Array.from({ length: missing }, () => waiting));
  }

  /** Whether a quorum said yes in the last round. */
  get hadQuorum(): boolean {
    const votes = this.latestVotes;
    const yes = this.#nodes.filter((_, index) => voteIn(votes, index)?.vote === "yes");
    return yes.length >= quorumOf(this.#nodes.length);
  }

  /** The answers of the last round, for a message. */
  get summary(): string {
    const votes = this.latestVotes;
    const all = this.#nodes.map((node, index) => {
      const answer = voteIn(votes, index);
      const said = answer?.vote === "none" ? answer.error.reason : answer?.vote;
      return `${node.name}: ${said ?? "no answer yet"}`;
    });
    return all.join("; ");
  }

  #statsOf(answers: Votes): ExecutionStats {
    const votesFor = new Set<object>();
    const votesAgainst = new Map<object, Error>();
    for (const [index, node] of this.#nodes.entries()) {
      const answer = voteIn(answers, index);
      if (answer?.vote === "yes") votesFor.add(node.client);
      else if (answer) votesAgainst.set(node.client, errorOf(answer));
    }
    const membershipSize = this.#nodes.length;
    return { membershipSize, quorumSize: quorumOf(membershipSize), votesFor, votesAgainst };
  }
}

function errorOf(answer: Vote): NodeError | ResourceLockedError {
  if (answer.vote === "none") return answer.error;
  if ("resource" in answer) return new ResourceLockedError(answer.resource, answer.remaining);
  return new ResourceLockedError("the resource", 0);
}

function votesIn(round: AnyRound | Votes): Votes {
  return "answers" in round ? round.answers : round;
}

function voteIn(votes: Votes, index: number): Votes[number] {
  return votes === unanimous ? yes : votes[index];
}

function remainderOf({ answers }: AnyRound): Votes {
  let yes = 0;
  for (const answer of answers) if (answer?.vote === "yes") yes += 1;
  if (yes === answers.length) return unanimous;
  return answers.map((answer) => (answer && "resource" in answer ? refusalIn(answer) : answer));
}

function refusalIn({ vote, resource, remaining }: Refusal): Refusal {
  return { vote, resource, remaining };
}
