import { type ExecutionStats, type NodeError, ResourceLockedError } from "../errors.ts";
import type { Answer, Fault, LockNode, No, ReleaseAnswer } from "./node.ts";
import { quorumOf } from "./quorum.ts";
import type { Round } from "./round.ts";

/** Of many attempts the last so many are kept. */
const longestRecord = 32;

export type AnyRound = Round<Answer> | Round<ReleaseAnswer>;
/** Of a refusal what is told. */
type Refusal = Pick<No, "vote" | "resource" | "remaining">;
type Vote = Answer | ReleaseAnswer | Fault | Refusal;
export type Votes = ReadonlyArray<Vote | undefined>;

/** What is kept of a round in which everybody said yes. */
const unanimous: Votes = [];
const yes: Answer = { vote: "yes", remaining: 0 };

/**
 * The rounds of one call, to be told as redlock 5 tells them if anybody asks. A lock keeps them for as long as it is
 * held, so of a round that is closed little is left.
 */
export class Attempts {
  readonly #nodes: readonly LockNode[];
  #rounds: ReadonlyArray<AnyRound | Votes> = [];

  constructor(nodes: readonly LockNode[]) {
    this.#nodes = nodes;
  }

  /** `goesOn`: it is of the same attempt as the one before. Whoever waits asks again and again, and needs no record of that. */
  add(round: AnyRound | Votes, goesOn = false): void {
    const before = goesOn ? this.#rounds.slice(0, -1) : this.#rounds.slice(1 - longestRecord);
    this.#rounds = before.concat([round]);
    if (!("answers" in round)) return;
    round.onClosed(() => {
      const index = this.#rounds.indexOf(round);
      if (index >= 0) this.#rounds = this.#rounds.with(index, remainderOf(round));
    });
  }

  /** What made the hold, where there is one. */
  get latest(): AnyRound | Votes | undefined {
    return this.#rounds.at(-1);
  }

  /** What was said in the last round, by the index of the master. */
  get latestVotes(): Votes {
    const last = this.#rounds.at(-1);
    return last ? votesIn(last) : [];
  }

  /** Each settles once every master has answered or been given up; none rejects. */
  get stats(): ReadonlyArray<Promise<ExecutionStats>> {
    return this.#rounds.map(async (round) => {
      if ("closed" in round) await round.closed;
      return this.#statsOf(votesIn(round));
    });
  }

  /** Whether a quorum said yes in the last round. */
  get hadQuorum(): boolean {
    const votes = this.latestVotes;
    const yes = this.#nodes.filter((_, index) => voteIn(votes, index)?.vote === "yes");
    return yes.length >= quorumOf(this.#nodes.length);
  }

  /** What each master said in the last round, for a message. */
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
