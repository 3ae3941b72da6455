import { appendFileSync } from "node:fs";
import { relative } from "node:path";
import { afterAll, afterEach, beforeEach, expect } from "vitest";
import type { TimedTest } from "./plan.ts";

// Runs before each test file, when the mutants are only observed: which of them each test evaluates, and how long it takes.

const hits = new Set<number>();
const tests: TimedTest[] = [];
const outside = new Set<number>();
// Tests may replace the clock that they see.
const now = performance.now.bind(performance);
let start = 0;

(globalThis as { hit?: (index: number) => void }).hit = (index) => void hits.add(index);

beforeEach(() => {
  for (const index of hits) outside.add(index);
  hits.clear();
  start = now();
});

afterEach(({ task }) => {
  const file = relative(process.cwd(), expect.getState().testPath!);
  const line = task.location?.line ?? 0;
  tests.push({ file, line, seconds: (now() - start) / 1000, hits: [...hits] });
  hits.clear();
});

afterAll(() => {
  for (const index of hits) outside.add(index);
  appendFileSync(process.env["MUTATION_COVERAGE"]!, `${JSON.stringify({ tests, outside: [...outside] })}\n`);
});
