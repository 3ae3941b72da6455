import type { Answer, Claim, Enrolment, Fault, Holding, LockNode, ReleaseAnswer } from "@quorlock/redlock";

/** The calls of a node, sent at once as always, with the answers as promises. */
export function ask(node: LockNode) {
  return {
    vote: (claim: Claim) => answerOf<Answer>((settle) => node.vote(claim, settle)),
    extend: (claim: Claim, repair: boolean) =>
      answerOf<Answer>((settle) => node.extend(claim, repair, settle)),
    release: (resources: readonly string[], tokens: readonly string[]) =>
      answerOf<ReleaseAnswer>((settle) => node.release(resources, tokens, settle)),
    inspect: (resource: string) => answerOf<Holding | Fault>((settle) => node.inspect(resource, settle)),
    enrol: (enrolment: Enrolment) => answerOf<Answer>((settle) => node.queue!.enrol(enrolment, settle)),
    swap: (claim: Claim, previous: string) =>
      answerOf<Answer>((settle) => node.queue!.swap(claim, previous, settle)),
  };
}

function answerOf<A>(call: (settle: (answer: A) => void) => void): Promise<A> {
  return new Promise((resolve) => call(resolve));
}
