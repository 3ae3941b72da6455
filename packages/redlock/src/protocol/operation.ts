import type { Operation } from "./node.ts";

/** What is asked. */
export type Asked = Pick<Operation, "kind" | "keys" | "values" | "ttl" | "claim">;
/** What one master adds. */
type Own = Partial<Pick<Operation, "isUnbatched" | "guard" | "purpose" | "onSend">>;

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
