import { afterAll, describe, expect, test } from "vitest";
import { Pool } from "../cli/pool.ts";
import { promisedPlan } from "../plan/swarm.ts";
import { plansOf } from "../search/explore.ts";
import { findOut } from "./find-out.ts";
import { mutants } from "./mutants.ts";
import { edited } from "./mutated-client.ts";

/** The harness's budget for each. */
const seeds = 400;
/** The seven before it are the longest runs by far. From 1, 8 and 27 on each mutant is found, and mostly at once. */
const first = 8;

describe("the harness finds every mutant", () => {
  const pool = new Pool();
  afterAll(() => pool.close());

  test.concurrent.each(mutants)(
    "$name",
    async ({ name }) => {
      console.log(await findOut(pool, name, plansOf(promisedPlan, first, seeds)));
    },
    300_000,
  );
});

describe("a mutant", () => {
  const edit = { file: "f.ts", line: "a", instead: "b" };

  test("replaces its line", () => {
    expect(edited("x a y", edit)).toBe("x b y");
  });

  test.each(["x", "a a"])("whose line is not there exactly once is an error: %j", (text) => {
    expect(() => edited(text, edit)).toThrow("exactly once");
  });
});
