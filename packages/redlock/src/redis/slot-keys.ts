import type { Operation } from "../protocol/node.ts";
import { shownOfWaiter } from "./lua/queue.ts";
import { companionsOf, exclusiveKeyOf, isSharable } from "./lua/shared.ts";

// On a Redis Cluster each script declares every key that it may write or count on. While a slot moves, its keys are on two
// masters: a script with all of its keys on one of them runs there, and any other is refused (PROTOCOL 12.12).

/** The hash slot of a key. */
export type SlotOf = (key: string) => number | undefined;

/** The key of a library's own, in the slot of `key`: see `queueNameOf` in the scripts. */
function besides(name: string, key: string): string {
  return /^[^{]*\{[^}]+\}/.test(key) ? `quorlock:${name}:tagged:${key}` : `quorlock:${name}:{${key}}`;
}

/** Whether queue and counter of these keys are in their slot: a name with a brace but no hash tag has them elsewhere. */
export function hasSlotKeys(keys: readonly string[], slotOf: SlotOf): boolean {
  return keys.every((key) => slotOf(besides("queue", key)) === slotOf(key));
}

/** Of each slot that was asked for. */
const tags = new Map<number, string>();

/** The smallest number whose text is in this slot. */
function tagOf(slot: number, slotOf: SlotOf): string {
  let tag = tags.get(slot);
  for (let number = 0; tag === undefined; number += 1)
    if (slotOf(String(number)) === slot) tag = String(number);
  tags.set(slot, tag);
  return tag;
}

/**
 * The further keys of operations in one slot. Those of the floor come last: each slot has a floor of its own, which moves
 * with it (PROTOCOL 8.9).
 */
export function slotKeysOf(operations: readonly Operation[], slotOf: SlotOf): readonly string[] {
  const declared = new Set<string>();
  let isFenced = false;
  for (const { kind, keys, values, claim } of operations) {
    const proposes = claim?.proposal !== undefined;
    isFenced ||= proposes;
    for (const key of keys) {
      const exclusive = exclusiveKeyOf(key);
      const queue = besides("queue", exclusive);
      if (isSharable(key)) for (const other of companionsOf(key)) declared.add(other);
      // Both masters would have one, and the migration end with an error (PROTOCOL 12.12).
      if (isSharable(key) || waits.has(kind)) declared.add(queue);
      if (kind === "enqueue") for (const entry of entriesOf([key], values.slice(0, 1))) declared.add(entry);
      // A counter that is missing for the moment would be one that nobody has used (PROTOCOL 8.9).
      if (proposes) declared.add(besides("fence", exclusive));
    }
  }
  for (const { keys } of operations) for (const key of keys) declared.delete(key);
  if (!isFenced) return [...declared];
  const slot = slotOf(operations.find(({ keys }) => keys.length > 0)!.keys[0]!)!;
  const tag = tagOf(slot, slotOf);
  return [...declared, `quorlock:floor:past:{${tag}}`, `quorlock:floor:{${tag}}`];
}

/** The kinds of operations that look at a queue. */
const waits: ReadonlySet<Operation["kind"]> = new Set(["enqueue", "release", "inspect"]);

/** The keys of the queue entries that belong to these tokens: those without a round have none. */
export function entriesOf(keys: readonly string[], tokens: readonly string[]): readonly string[] {
  const waiters = tokens.flatMap((token) => /^(.+)\.\d+$/.exec(token)?.[1] ?? []);
  return keys.flatMap((key) =>
    waiters.map((waiter) => `${besides("queue", exclusiveKeyOf(key))}:${waiter.slice(0, shownOfWaiter)}`),
  );
}
