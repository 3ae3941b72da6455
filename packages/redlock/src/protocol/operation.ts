import { nodeFailed } from "./faults.ts";
import type { AnyAnswer, LockNode, Operation } from "./node.ts";

// One verb. A master is asked in one way, `LockNode.ask(operation, index)`, whatever for: a vote, an extension, a release,
// a queue entry, a token transfer, the state of a key or of the guard, the time.
//
//   Round, or a single caller ── ask(operation, index) ──▶ a wrapper of the node, if there is one ──▶ RedisNode ──▶ send queue
//          ▲                                                                                                          │
//          └──────────────────────────── operation.onAnswer(index, answer), once a master ◀───────────────────────────┘
//
// - `kind` is the verb. `keys`, `values`, `ttl` and `claim` say of what; `claim.abandoned` is read again before each send.
// - The keys choose the scripts: a lock that may be shared has keys of this library's own, and the same verbs.
// - One operation is the same object for all masters of a round, so a batch of the same operations is encoded once for
//   all of them. `index` is the only thing that tells the masters apart, and comes back with the answer.
// - A node, or a wrapper of one, that adds something for its master (a guard, an inbox, a reading of the clock) passes on
//   an operation of its own, made by `operationOf` as well.

/** A request, the same for all masters. */
export type Asked = Pick<Operation, "kind" | "keys" | "values" | "ttl" | "claim">;
/** The part for one master. */
type Own = Partial<Pick<Operation, "isUnbatched" | "guard" | "purpose" | "onSend">>;

/** A reading of the master's clock. */
export const timeRead: Asked = { kind: "time", keys: [], values: [], ttl: 0, claim: undefined };

const plain: Own = {};

/**
 * The only maker of operations, so that all of them have the same properties in the same order: an engine finds those
 * without a lookup.
 */
export function operationOf(asked: Asked, onAnswer: Operation["onAnswer"], own: Own = plain): Operation {
  const { kind, keys, values, ttl, claim } = asked;
  const { isUnbatched = false, guard, purpose, onSend } = own;
  return { kind, keys, values, ttl, claim, onAnswer, isUnbatched, guard, purpose, onSend };
}

/** Asks the node. Answers are values; a node that throws nevertheless counts as a master that gave none. */
export function ask(node: Pick<LockNode, "name" | "ask">, operation: Operation, index: number): void {
  try {
    node.ask(operation, index);
  } catch (error) {
    operation.onAnswer(index, nodeFailed(node.name, error));
  }
}

/** Asks one node, which needs no index; `onAnswer` gets the first answer alone. */
export function askAlone(
  node: LockNode,
  asked: Asked,
  onAnswer: (answer: AnyAnswer) => void,
  own?: Own,
): void {
  let isAnswered = false;
  const take = (_: number, answer: AnyAnswer): void => {
    if (isAnswered) return;
    isAnswered = true;
    onAnswer(answer);
  };
  ask(node, operationOf(asked, take, own), 0);
}
