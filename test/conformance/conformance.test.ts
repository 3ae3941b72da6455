import { type Masters, startMasters } from "@quorlock/testbed";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Case, nameOf, rows } from "./case.ts";
import { cases } from "./cases.ts";
import { quorlock } from "./libraries/quorlock.ts";
import { Stage } from "./stage.ts";

let masters: Masters;
beforeAll(async () => {
  masters = await startMasters(Math.max(...cases.map((one) => one.masters)), { say: () => {} });
});
afterAll(() => masters?.stop());

async function play(one: Case): Promise<void> {
  await using stage = await Stage.set(quorlock, masters.list.slice(0, one.masters));
  const { conforms, observed } = await one.run(stage);
  expect(conforms, `${observed}\ndemanded: ${one.bound}`).toBe(true);
}

describe.concurrent("beside each other", () => {
  for (const one of cases) if (one.mostlyWaits) test(nameOf(one), () => play(one));
});

describe("one after the other", () => {
  for (const one of cases) if (!one.mostlyWaits) test(nameOf(one), () => play(one));
});

describe("the table", () => {
  test("every row has a case", () => {
    const covered = new Set(cases.map(({ row }) => row));
    expect(rows.filter((row) => !covered.has(row))).toEqual([]);
  });

  test("no two cases have the same name", () => {
    expect(new Set(cases.map(nameOf)).size).toBe(cases.length);
  });
});
