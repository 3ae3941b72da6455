import { startMasters } from "@quorlock/testbed";
import { expect, test } from "vitest";
import { runContest } from "./contest.ts";
import { figuresOf } from "./figures.ts";

test("processes contend, one holds at a time, and what was watched comes back", async () => {
  await using masters = await startMasters(3, { say: () => {} });
  const setting = { processes: 2, workers: 2, hold: 2 };
  const schedule = { warmUp: 200, window: 1000 };
  const terms = { urls: masters.urls, ttl: 2000 };
  const { contest, watched } = await runContest(
    "redis-semaphore",
    terms,
    setting,
    schedule,
    async (window) => {
      await window();
      return 42;
    },
  );
  expect(watched).toBe(42);
  expect(contest.reports).toHaveLength(2);
  const figures = figuresOf(contest);
  expect(figures.grants).toBeGreaterThan(0);
  expect(figures.overlaps).toBe(0);
  expect(figures.failures).toBe(0);
});
