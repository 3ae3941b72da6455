import { type Masters, startMasters } from "@quorlock/testbed";
import { afterAll, beforeAll, expect, test } from "vitest";
import { mastersOf, nameOf, rows } from "./case.ts";
import { cases } from "./cases.ts";
import { Fixture } from "./fixture.ts";
import { quorlock } from "./libraries/quorlock.ts";

// The shape of the table, and one case that no slow machine can break. `pnpm test:deep` runs all of them.

const first = cases.find(({ row }) => row === 19)!;
let masters: Masters;
beforeAll(async () => {
  masters = await startMasters(mastersOf(first), { say: () => {} });
});
afterAll(() => masters?.stop());

test(nameOf(first), async () => {
  await using fixture = await Fixture.start(quorlock, masters.list);
  const { conforms, observed } = await first.run(fixture);
  expect(conforms, `${observed}\ndemanded: ${first.bound}`).toBe(true);
});

test("every row has a case", () => {
  const covered = new Set(cases.map(({ row }) => row));
  expect(rows.filter((row) => !covered.has(row))).toEqual([]);
});

test("no two cases have the same name", () => {
  expect(new Set(cases.map(nameOf)).size).toBe(cases.length);
});
