import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { Stalls } from "./stalls.ts";

function block(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

function sum(stood: readonly number[]): number {
  return stood.reduce((all, one) => all + one, 0);
}

test("Stalls counts the time in which this process did not run, while it lasts and afterwards", async () => {
  using stalls = new Stalls();
  const begun = performance.now();
  block(60);
  expect(stalls.latest).toBeGreaterThanOrEqual(50);
  await pause(1);
  block(100);
  await pause(20);
  expect(stalls.longest).toBeGreaterThanOrEqual(90);
  expect(stalls.total).toBeGreaterThanOrEqual(140);
  expect(sum(stalls.within(30_000))).toBeCloseTo(stalls.total, -1);
  expect(Math.max(...stalls.within(performance.now() - begun))).toBeCloseTo(stalls.longest, -1);
  expect(sum(stalls.within(0))).toBeLessThan(stalls.total);
  // It is a part of the time that has passed, on a busy machine too: limits are compared with the rest.
  expect(stalls.total).toBeLessThan(performance.now() - begun);
});
