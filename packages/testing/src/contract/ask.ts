import {
  type Answer,
  type Asked,
  type Claim,
  type LockNode,
  type OnPush,
  type OperationKind,
  operationOf,
  type QueueEntry,
} from "@quorlock/redlock/internal";

/**
 * A subscription ends when its node is garbage-collected, and a test that only waits for the subscription to work is no
 * reason to keep the node.
 */
const listening = new Set<LockNode>();

interface Calls {
  vote(claim: Claim): Promise<Answer>;
  extend(claim: Claim, repair: boolean): Promise<Answer>;
  release(resources: readonly string[], tokens: readonly string[]): Promise<Answer>;
  inspect(resource: string): Promise<Answer>;
  enqueue(entry: QueueEntry): Promise<Answer>;
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
    vote: (claim: Claim) => voteOf(node, "vote", claim),
    extend: (claim: Claim, repair: boolean) => voteOf(node, repair ? "repair" : "extend", claim),
    release: (keys: readonly string[], values: readonly string[]) =>
      answerTo(node, { kind: "release", keys, values, ttl: 0, claim: undefined }),
    inspect: (key: string) =>
      answerTo(node, { kind: "inspect", keys: [key], values: [], ttl: 0, claim: undefined }),
    enqueue: (entry: QueueEntry) => voteOf(node, "enqueue", entry),
    listen: async (channel, onPush = () => {}, onChange = () => {}) => {
      listening.add(node);
      await node.queue!.listen(channel, onPush, onChange);
      listening.delete(node);
    },
  };
}

/** Asks the node alone. Drops the clock reading that comes with a vote: these cases do not judge by it. */
function answerTo(node: LockNode, asked: Asked): Promise<Answer> {
  return new Promise((resolve) =>
    node.ask(
      operationOf(asked, (_, answer) => resolve(answer.is === "timed" ? answer.vote : answer)),
      0,
    ),
  );
}

export function claimed(kind: OperationKind, claim: Claim, ...more: readonly string[]): Asked {
  return { kind, keys: claim.resources, values: [claim.token, ...more], ttl: claim.ttl, claim };
}

/** Drops the clock reading that comes with a vote: these cases do not judge by it. */
async function voteOf(node: LockNode, ...asked: Parameters<typeof claimed>): Promise<Answer> {
  const answer = await answerTo(node, claimed(...asked));
  // The type of an answer follows from the kind of its operation.
  return ("reading" in answer ? answer.is : answer) as Answer;
}
