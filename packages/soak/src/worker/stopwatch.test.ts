import type { Stalls } from "@quorlock/testbed";
import { expect, test } from "vitest";
import type { TimedCall } from "./protocol.ts";
import { Stopwatch } from "./stopwatch.ts";

test("a call counts net of the time in which its process was stopped, and is reported if it is the slowest so far", async () => {
  const stalls = { total: 0, latest: 0 };
  const reported: TimedCall[] = [];
  const stopwatch = new Stopwatch(stalls as Stalls, (call) => reported.push(call));
  await stopwatch.time("first", 100, () => Promise.resolve());
  expect(reported).toMatchObject([{ name: "first", stoodStill: 0 }]);
  expect(reported[0]!.beyond).toBeLessThan(0);
  await stopwatch.time("within a larger limit", 10_000, () => Promise.resolve());
  const failing = stopwatch.time("beyond", -5000, () => Promise.reject(new Error("as it does")));
  await expect(failing).rejects.toThrow("as it does");
  expect(reported.map(({ name }) => name)).toEqual(["first", "beyond"]);
  const stop = stopwatch.start("stopped meanwhile", -20_000);
  stalls.total += 30_000;
  stop();
  expect(reported).toHaveLength(2);
});
