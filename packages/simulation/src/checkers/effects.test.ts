import { expect, test } from "vitest";
import { Engine } from "../engine/engine.ts";
import { Kernel } from "../engine/kernel.ts";
import type { Judged } from "./checker.ts";
import { Effects } from "./effects.ts";
import { Findings } from "./findings.ts";
import type { LockInterval } from "./lock-interval.ts";

// PROTOCOL 1.12.

interface Forged {
  readonly number: number;
  readonly fencingToken?: number;
}

/** The findings for writes in this order, by locks that began in the order of their numbers. */
function judged(...writers: readonly Forged[]): { violated: readonly string[]; rejected: number } {
  const kernel = new Kernel(new Engine());
  const findings = new Findings(() => kernel.now);
  const [effects, lock] = [new Effects({ kernel, findings } as Judged), { resources: ["r"] }];
  const intervals = new Map<number, LockInterval>();
  for (const { number, fencingToken } of writers) {
    const process = { name: `client-${number}`, now: 0, isDead: false, record: () => {} };
    const interval =
      intervals.get(number) ??
      ({ number, process, lock, fencingToken, beganAt: number } as unknown as LockInterval);
    intervals.set(number, interval);
    effects.see({ is: "acted", interval });
  }
  const violated = findings.violations.map(({ kind }) => kind);
  return { violated, rejected: findings.marks.get("fence rejected") ?? 0 };
}

test("consecutive writes are in order", () => {
  expect(judged({ number: 1 }, { number: 1 }, { number: 2 })).toEqual({ violated: [], rejected: 0 });
});

test("a write after that of a later holder is a violation", () => {
  expect(judged({ number: 1 }, { number: 2 }, { number: 1 })).toEqual({ violated: ["effect"], rejected: 0 });
});

test("tokens reject it, and nothing is violated", () => {
  const [first, second] = [
    { number: 1, fencingToken: 7 },
    { number: 2, fencingToken: 9 },
  ] as const;
  expect(judged(first, second, first, second)).toEqual({ violated: [], rejected: 1 });
});
