import { promisedPlan, record } from "@quorlock/simulation";
import { expect, test } from "vitest";
import { tracesOf } from "./trace.ts";
import { operationsOf } from "./wire.ts";

test("a trace has the steps of the first resource, with the clocks of the run in units of 10 us", async () => {
  const recording = await record(promisedPlan(15), { maxEvents: 2000 });
  const { masters, steps } = tracesOf(recording, "seed 15")[0]!;
  expect(masters).toBe(4);
  const kinds = new Set(steps.map(({ what }) => what));
  expect([...kinds].toSorted()).toEqual(["begins", "gives up", "resumes", "runs", "sends", "shows"]);
  const [vote] = steps.filter(({ what, took }) => what === "runs" && took);
  expect(vote).toMatchObject({ does: "vote", of: 1, round: 1, ttl: 16_800, winner: 1 });
});

test("the operations of a command are read in the order of its keys", () => {
  expect(operationsOf("SET", ["k", "t.1", "NX", "PX", "500"])).toEqual([
    { does: "vote", key: "k", tokens: ["t.1"], ttl: 500, from: undefined },
  ]);
  expect(operationsOf("GET", ["k"])).toEqual([]);
});
