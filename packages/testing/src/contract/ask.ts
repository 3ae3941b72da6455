import {
  type Answer,
  answerOf,
  type Claim,
  type LockNode,
  type OnPush,
  type Question,
  questionOf,
  type Verb,
} from "@quorlock/redlock/internal";

/**
 * A subscription ends when its node is garbage-collected, and a test that only waits for the subscription to work is no
 * reason to keep the node.
 */
const listening = new Set<LockNode>();

/** A claim, as the cases write it; with a ticket also a queue entry. */
export interface Asked extends Claim {
  readonly resources: readonly string[];
  readonly token: string;
  readonly ttl: number;
  readonly proposal?: number | undefined;
  readonly ticket?: number;
  readonly entryTtl?: number;
}

interface Calls {
  vote(claim: Asked): Promise<Answer>;
  extend(claim: Asked, repair: boolean): Promise<Answer>;
  release(resources: readonly string[], token: string): Promise<Answer>;
  inspect(resource: string): Promise<Answer>;
  enqueue(entry: Asked): Promise<Answer>;
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
    vote: (claim) => answerOf(node, claimed("vote", claim)),
    extend: (claim, repair) => answerOf(node, claimed(repair ? "repair" : "extend", claim)),
    release: (keys, token) => answerOf(node, questionOf({ verb: "release", keys, words: [token] })),
    inspect: (key) => answerOf(node, questionOf({ verb: "inspect", keys: [key], words: [] })),
    enqueue: (entry) => answerOf(node, claimed("enqueue", entry)),
    listen: async (channel, onPush = () => {}, onChange = () => {}) => {
      listening.add(node);
      await node.queue!.listen(channel, onPush, onChange);
      listening.delete(node);
    },
  };
}

export function claimed(verb: Verb, claim: Asked): Question {
  const { resources: keys, token, ttl, proposal, ticket, entryTtl = 0 } = claim;
  const entry = ticket === undefined ? undefined : { ticket, ttl: entryTtl };
  return questionOf({ verb, keys, words: [token], ttl, proposal, entry, claim });
}
