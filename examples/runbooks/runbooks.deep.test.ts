import { runProgram } from "@quorlock/simulation/processes";
import { startMasters } from "@quorlock/testbed";
import { expect, test } from "vitest";
import { Fleet } from "./fleet.ts";

const main = new URL("main.ts", import.meta.url);

test("every runbook ends without an overlap, and says what it did", async () => {
  const { code, output } = await runProgram(main);
  expect({ code, output }).toMatchObject({ code: 0 });
  const results = output.match(/result {4}.*/g);
  expect(results).toHaveLength(9);
  for (const result of results!) expect(result).toMatch(/ [1-9]\d* locks granted, 0 overlaps/);
}, 300_000);

test("an unknown runbook is refused with the list of those that exist", async () => {
  const { code, errors } = await runProgram(main, ["no-such-runbook"]);
  expect(code).toBe(64);
  expect(errors).toContain("rolling-restart, ");
});

test("the fleet sees an overlap: two clients with different masters", async () => {
  await using masters = await startMasters(2, { source: "local-binary", say: () => {} });
  await using fleet = new Fleet();
  fleet.begin("first", masters.urls.slice(0, 1));
  fleet.begin("second", masters.urls.slice(1));
  await fleet.granted(100);
  expect(fleet.overlaps).toBeGreaterThan(0);
});
