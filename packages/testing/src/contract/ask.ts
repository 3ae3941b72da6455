import type {
  Answer,
  Claim,
  Fault,
  KeyState,
  LockNode,
  OnPush,
  OnVote,
  QueueEntry,
  ReleaseAnswer,
} from "@quorlock/redlock/internal";

/**
 * A subscription ends when its node is garbage-collected, and a test that only waits for the subscription to work is no
 * reason to keep the node.
 */
const listening = new Set<LockNode>();

interface Calls {
  vote(claim: Claim): Promise<Answer>;
  extend(claim: Claim, repair: boolean): Promise<Answer>;
  release(resources: readonly string[], tokens: readonly string[]): Promise<ReleaseAnswer>;
  inspect(resource: string): Promise<KeyState | Fault>;
  enqueue(entry: QueueEntry): Promise<Answer>;
  transfer(claim: Claim, previous: string): Promise<Answer>;
  listen(channel: string, onPush?: OnPush, onChange?: () => void): Promise<void>;
}

/**
 * A token as answers show it: eight characters, or half of a shorter one, and the number of the round. The whole token
 * would be enough to release the lock.
 */
export function shown(token: string): string {
  const round = /\.\d+$/.exec(token)?.[0] ?? "";
  const length = token.length - round.length;
  return token.slice(0, Math.min(8, Math.floor(length / 2))).padEnd(length, "*") + round;
}

/** The calls of a node, sent at once as always, with the answers as promises. */
export function ask(node: LockNode): Calls {
  return {
    vote: (claim: Claim) => voteOf((settle) => node.vote(claim, settle)),
    extend: (claim: Claim, repair: boolean) => voteOf((settle) => node.extend(claim, repair, settle)),
    release: (resources: readonly string[], tokens: readonly string[]) =>
      answerOf<ReleaseAnswer>((settle) => node.release(resources, tokens, settle)),
    inspect: (resource: string) => answerOf<KeyState | Fault>((settle) => node.inspect(resource, settle)),
    enqueue: (entry: QueueEntry) => voteOf((settle) => node.queue!.enqueue(entry, settle)),
    transfer: (claim: Claim, previous: string) =>
      voteOf((settle) => node.queue!.transfer(claim, previous, settle)),
    listen: async (channel, onPush = () => {}, onChange = () => {}) => {
      listening.add(node);
      await node.queue!.listen(channel, onPush, onChange);
      listening.delete(node);
    },
  };
}

/** Drops the clock reading that comes with a vote: these cases do not judge by it. */
function voteOf(call: (settle: OnVote) => void): Promise<Answer> {
  return new Promise((resolve) => call((vote) => resolve("reading" in vote ? vote.vote : vote)));
}

function answerOf<A>(call: (settle: (answer: A) => void) => void): Promise<A> {
  return new Promise((resolve) => call(resolve));
}
