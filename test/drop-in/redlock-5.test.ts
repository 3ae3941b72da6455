import { afterEach, describe, expect, test } from "vitest";
import { Fleet } from "../integration/fleet/fleet.ts";
import { agreements } from "./agreements.ts";
import { Bench, type Line, libraries, rowsOf } from "./bench.ts";
import { differences } from "./differences.ts";

// The documented behaviour of redlock 5, run with either library on the same masters.

const fleet = Fleet.forTests(3);
const benches: Bench[] = [];
afterEach(() => {
  for (const bench of benches.splice(0)) bench.close();
});

async function run(library: keyof typeof libraries, line: Line): Promise<unknown> {
  const bench = new Bench(libraries[library], fleet);
  benches.push(bench);
  return line(bench);
}

describe("this client is like redlock 5:", () => {
  test.each(Object.entries(agreements))("%s", async (_, line) => {
    const theirs = await run("redlock 5", line);
    expect(await run("quorlock", line)).toEqual(theirs);
  });
});

describe("this client differs from redlock 5 as the table says:", () => {
  test.each(Object.entries(differences))("%s", async (_, { line, theirs, ours }) => {
    expect(await run("redlock 5", line)).toEqual(theirs);
    expect(await run("quorlock", line)).toEqual(ours);
  });
});

test("the table has a row for each line that differs, and no other", () => {
  expect(rowsOf("redlock/docs/redlock-5.md")).toEqual(Object.keys(differences));
});
