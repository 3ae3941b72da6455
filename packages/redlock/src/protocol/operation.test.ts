import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import type { Operation } from "./node.ts";
import { operationOf } from "./operation.ts";

test("All operations have one shape for the engine, whatever a master adds to them", () => {
  setFlagsFromString("--allow-natives-syntax");
  const haveOneShape = runInNewContext("(one, other) => %HaveSameMap(one, other)") as (
    one: Operation,
    other: Operation,
  ) => boolean;
  const claim = { resources: ["r"], token: "t", ttl: 1.5, abandoned: false };
  const vote = { kind: "vote", keys: ["r"], values: ["t"], ttl: 1.5, claim } as const;
  const release = { claim: undefined, ttl: 0, values: ["t"], keys: ["r"], kind: "release" } as const;
  const guard = { terms: "", refused: () => {}, extendedInQuarantine: () => {} };
  const plain = operationOf(vote, () => {});
  const others = [
    operationOf(release, () => {}, { isUnbatched: true, guard }),
    operationOf({ ...plain, claim: undefined }, plain.onAnswer),
    operationOf(release, () => {}, { purpose: "keep", onSend: () => {} }),
  ];
  expect(others.map((other) => haveOneShape(plain, other))).toEqual([true, true, true]);
  expect(haveOneShape(plain, { ...plain, onAnswer: () => {}, guard: undefined, kind: "release" })).toBe(
    false,
  );
});
