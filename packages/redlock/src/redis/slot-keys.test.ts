import { expect, test } from "vitest";
import { hashSlot } from "../adapters/hash-slot.ts";
import type { Asked } from "../protocol/operation.ts";
import { operationOf, RoundClaim } from "../protocol/operation.ts";
import { entriesOf, hasSlotKeys, slotKeysOf } from "./slot-keys.ts";

// PROTOCOL 8.9, 12.12.

const slotOf = (key: string): number => hashSlot(key);
const token = "0123456789abcdef0123456789abcdef";

function operation(kind: Asked["kind"], key: string, proposal?: number) {
  const claim = new RoundClaim({ nodes: [] } as never, [key], `${token}.1`, 1000);
  claim.proposal = proposal;
  return operationOf({ kind, keys: [key], values: [`${token}.1`], ttl: 1000, claim }, () => {});
}

test.each([
  ["r", true],
  ["{r}:1", true],
  ["a{r}b", true],
  ["a{b", true],
  ["}r", false],
  ["{}r", false],
])("the queue of %s is in its slot: %s", (key, expected) => {
  expect(hasSlotKeys([key], slotOf)).toBe(expected);
  expect(hasSlotKeys(["r", key], slotOf)).toBe(expected);
});

test("a vote without a fencing token declares no further key", () => {
  expect(slotKeysOf([operation("vote", "r")], slotOf)).toEqual([]);
});

test("what looks at a queue declares it, and an entry declares its own key", () => {
  for (const kind of ["release", "inspect"] as const)
    expect(slotKeysOf([operation(kind, "r")], slotOf)).toEqual(["quorlock:queue:{r}"]);
  const [queue, entry] = slotKeysOf([operation("enqueue", "r")], slotOf);
  expect([queue, entry]).toEqual(["quorlock:queue:{r}", entriesOf(["r"], [`${token}.1`])[0]]);
});

test("a fencing token declares the counter and, last, the floor of its slot", () => {
  const [counter, past, floor] = slotKeysOf([operation("vote", "{r}:1", 5)], slotOf);
  expect(counter).toBe("quorlock:fence:tagged:{r}:1");
  const tag = /\{(\d+)\}$/.exec(floor!)![1]!;
  expect([past, floor]).toEqual([`quorlock:floor:past:{${tag}}`, `quorlock:floor:{${tag}}`]);
  expect(slotOf(floor!)).toBe(slotOf("{r}:1"));
  // The smallest number: each client has the same.
  for (let smaller = 0; smaller < Number(tag); smaller += 1)
    expect(slotOf(String(smaller))).not.toBe(slotOf("{r}:1"));
});

test("keys of the operations themselves are not declared again", () => {
  const both = [operation("release", "r"), operation("release", "quorlock:queue:{r}")];
  expect(slotKeysOf(both, slotOf)).not.toContain("quorlock:queue:{r}");
});

test("a token without a round has no entry", () => {
  expect(entriesOf(["r"], [token])).toEqual([]);
});
