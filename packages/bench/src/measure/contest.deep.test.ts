import { startMasters } from "@quorlock/testbed";
import { expect, test } from "vitest";
import type { Grant, WorkerReport } from "../programs/worker.ts";
import { type Contest, figuresOf, runContest } from "./contest.ts";

function grant(called: number, granted: number, releasing: number | undefined, worker = 0): Grant {
  return { worker, called, granted, releasing };
}

function report(grants: readonly Grant[], waiting: readonly number[] = []): WorkerReport {
  return { kind: "report", clientCpu: 100, requests: 30, grants, waiting, failures: 0 };
}

function contest(reports: readonly WorkerReport[], workers = 1): Contest {
  return { from: 1000, until: 2000, workers, reports };
}

test("figures count the grants within the window, with their waits and the CPU", () => {
  const figures = figuresOf(
    contest([
      // Granted before the window, at its start, and at its end.
      report([grant(900, 999, 999.5), grant(990, 1000, 1010), grant(1900, 2000, undefined)]),
      report([grant(980, 1020, 1030)]),
    ]),
  );
  expect(figures.grants).toBe(2);
  expect(figures.rate).toBe(2);
  expect(figures.p50).toBe((10 + 40) / 2);
  expect(figures.clientCpu).toBe(100);
  expect(figures.requests).toBe(30);
  expect(figures.hold).toBe(10);
});

test("a worker that still waits at the end counts with its wait so far", () => {
  const figures = figuresOf(contest([report([grant(1000, 1001, 1002)]), report([], [500])]));
  expect(figures.p99).toBeGreaterThan(1400);
});

test("the fairness index includes workers without any grant", () => {
  const figures = figuresOf(
    contest([report([grant(1000, 1001, 1002, 1), grant(1003, 1004, 1005, 1)]), report([])], 2),
  );
  expect(figures.jain).toBe(0.25);
});

test("a gap lasts from a release to the next grant in another process that was already waiting", () => {
  const first = [grant(1000, 1001, 1010), grant(1100, 1101, 1110)];
  const second = [
    // Already waiting when the first lock was released: 2 ms.
    grant(1005, 1012, 1020),
    // Called after the release before it.
    grant(1120, 1121, 1130),
    // Waited for a holder in its own process.
    grant(1125, 1135, 1140, 1),
  ];
  const figures = figuresOf(contest([report(first), report(second)], 2));
  expect(figures.gapP50).toBe(2);
  expect(figures.gapP99).toBe(2);
});

test("a grant while another worker holds the lock is an overlap, also if the holder never releases", () => {
  const clean = [report([grant(1000, 1001, 1010)]), report([grant(1000, 1010, 1020)])];
  expect(figuresOf(contest(clean)).overlaps).toBe(0);
  const overlapping = [
    report([grant(1000, 1001, 1030)]),
    report([grant(1000, 1010, 1020), grant(1021, 1025, 1026)]),
  ];
  expect(figuresOf(contest(overlapping)).overlaps).toBe(2);
  const standing = [report([grant(1000, 1001, undefined)]), report([grant(1000, 1500, 1600)])];
  expect(figuresOf(contest(standing)).overlaps).toBe(1);
});

test("without any grant the rate is 0 and the waits are those that are still open", () => {
  const figures = figuresOf(contest([report([], [500]), report([], [600])]));
  expect(figures.rate).toBe(0);
  expect(figures.p50).toBe(1450);
  expect(figures.jain).toBeNaN();
});

test("processes contend for the lock, one holds it at a time, and the result of `watch` is returned", async () => {
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
  expect(figures.requests).toBeGreaterThan(0);
  expect(figures.overlaps).toBe(0);
  expect(figures.failures).toBe(0);
});

test("a ring of processes passes one turn on, with one message to each master", async () => {
  await using masters = await startMasters(3, { say: () => {} });
  const setting = { processes: 3, workers: 1, hold: 2 };
  const schedule = { warmUp: 200, window: 1000 };
  const { contest } = await runContest(
    "ring",
    { urls: masters.urls, ttl: 2000 },
    setting,
    schedule,
    async (window) => {
      await window();
      return 0;
    },
  );
  const order = contest.reports
    .flatMap(({ grants }, process) => grants.map(({ granted }) => ({ granted, process })))
    .toSorted((a, b) => a.granted - b.granted)
    .map(({ process }) => process);
  expect(order.length).toBeGreaterThan(3);
  expect(order).toEqual(order.map((_, index) => index % 3));
  const figures = figuresOf(contest);
  expect(figures.overlaps).toBe(0);
  expect(figures.requests).toBeCloseTo(3, 0);
});
