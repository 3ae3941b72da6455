import { type NodeError, ResourceLockedError } from "./errors.ts";
import type { Answer, Fault, LockNode, ReleaseAnswer } from "./node.ts";
import { quorumOf } from "./quorum.ts";
import type { Round } from "./round.ts";

/** The votes of one attempt, as redlock 5 reports them: by the clients that were passed to the constructor. */
export interface ExecutionStats {
  readonly membershipSize: number;
  readonly quorumSize: number;
  readonly votesFor: ReadonlySet<object>;
  /** A {@link ResourceLockedError} for a refusal, a {@link NodeError} for a master that failed. */
  readonly votesAgainst: ReadonlyMap<object, Error>;
}

/** Of many attempts the last so many are kept. */
const longestRecord = 32;

/** The rounds of one call, to be told as redlock 5 tells them if anybody asks. */
export class Attempts {
  readonly #nodes: readonly LockNode[];
  readonly #rounds: Array<Round<Answer> | Round<ReleaseAnswer>> = [];

  constructor(nodes: readonly LockNode[]) {
    this.#nodes = nodes;
  }

  add(round: Round<Answer> | Round<ReleaseAnswer>): void {
    this.#rounds.push(round);
    if (this.#rounds.length > longestRecord) this.#rounds.shift();
  }

  /** Each settles once every master has answered or been given up; none rejects. */
  get stats(): ReadonlyArray<Promise<ExecutionStats>> {
    return this.#rounds.map((round) => round.closed.then(() => this.#statsOf(round.answers)));
  }

  /** What each master said in the last round, for a message. */
  get summary(): string {
    const answers = this.#rounds.at(-1)?.answers ?? [];
    const all = this.#nodes.map((node, index) => {
      const answer = answers[index];
      const said = answer?.vote === "none" ? answer.error.reason : answer?.vote;
      return `${node.name}: ${said ?? "no answer yet"}`;
    });
    return all.join("; ");
  }

  #statsOf(answers: ReadonlyArray<Answer | ReleaseAnswer | Fault | undefined>): ExecutionStats {
    const votesFor = new Set<object>();
    const votesAgainst = new Map<object, Error>();
    for (const [index, node] of this.#nodes.entries()) {
      const answer = answers[index];
      if (answer?.vote === "yes") votesFor.add(node.client);
      else if (answer) votesAgainst.set(node.client, errorOf(answer));
    }
    const membershipSize = this.#nodes.length;
    return { membershipSize, quorumSize: quorumOf(membershipSize), votesFor, votesAgainst };
  }
}

function errorOf(answer: Answer | ReleaseAnswer): NodeError | ResourceLockedError {
  if (answer.vote === "none") return answer.error;
  if ("resource" in answer) return new ResourceLockedError(answer.resource, answer.remaining);
  return new ResourceLockedError("the resource", 0);
}
