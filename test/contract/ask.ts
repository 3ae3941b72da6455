import type {
  Answer,
  Claim,
  Fault,
  Holding,
  LockNode,
  OnVote,
  QueueEntry,
  ReleaseAnswer,
} from "@quorlock/redlock/internal";

/** The calls of a node, sent at once as always, with the answers as promises. */
export function ask(node: LockNode) {
  return {
    vote: (claim: Claim) => voteOf((settle) => node.vote(claim, settle)),
    extend: (claim: Claim, repair: boolean) => voteOf((settle) => node.extend(claim, repair, settle)),
    release: (resources: readonly string[], tokens: readonly string[]) =>
      answerOf<ReleaseAnswer>((settle) => node.release(resources, tokens, settle)),
    inspect: (resource: string) => answerOf<Holding | Fault>((settle) => node.inspect(resource, settle)),
    enqueue: (enrolment: QueueEntry) => voteOf((settle) => node.queue!.enqueue(enrolment, settle)),
    transfer: (claim: Claim, previous: string) =>
      voteOf((settle) => node.queue!.transfer(claim, previous, settle)),
  };
}

/** Here nobody judges by the clock that is read with it. */
function voteOf(call: (settle: OnVote) => void): Promise<Answer> {
  return new Promise((resolve) => call((vote) => resolve("reading" in vote ? vote.vote : vote)));
}

function answerOf<A>(call: (settle: (answer: A) => void) => void): Promise<A> {
  return new Promise((resolve) => call(resolve));
}
