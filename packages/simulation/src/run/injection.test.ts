import { describe, expect, test } from "vitest";
import type { TraceValue } from "../engine/trace.ts";
import type { Fault } from "../plan/fault.ts";
import type { LockSettings, Plan } from "../plan/plan.ts";
import { calmFrom } from "./injection.ts";
import { type Outcome, runPlan } from "./run-plan.ts";

// PROTOCOL 1.5, 1.12.

/** Two clients that take turns with one lock for a second. */
function plan(faults: readonly Fault[], others: Partial<LockSettings> = {}): Plan {
  return {
    version: 1,
    seed: 1,
    duration: 1000,
    masters: Array.from({ length: 3 }, () => ({ offset: 0, rate: 0, persistence: { mode: "aof-always" } })),
    clients: Array.from({ length: 2 }, () => ({ offset: 0, rate: 0, timerLateness: 0 })),
    network: { latency: { shape: "constant", ms: 1 }, longestLatency: 10, reconnectDelay: 5 },
    settings: {
      ttl: 200,
      driftFactor: 0.01,
      retryCount: 20,
      retryDelay: 20,
      retryJitter: 10,
      automaticExtensionThreshold: 50,
      ...others,
    },
    workload: {
      resources: 1,
      hold: 40,
      think: 20,
      styles: { acquire: 1, try: 0, extend: 1, using: 0, abandon: 0, abort: 0, several: 0 },
    },
    faults,
  };
}

interface Entry {
  readonly time: number;
  readonly entry: readonly TraceValue[];
}

async function traced(
  faults: readonly Fault[],
  others?: Partial<LockSettings>,
): Promise<{ outcome: Outcome; entries: Entry[]; fired: number }> {
  const entries: Entry[] = [];
  const outcome = await runPlan(plan(faults, others), {
    onEvent: (time, entry) => void entries.push({ time, entry: [...entry] }),
  });
  return { outcome, entries, fired: entries.findIndex(({ entry }) => entry[0] === "fault") };
}

describe("a trigger", () => {
  test("finds the third vote that a master applies, and only that", async () => {
    const crash = { kind: "crash", masters: "here", how: "process", downFor: 20 } as const;
    // Without a queue a vote is a SET, and recognized by its reply.
    const fault = { on: "vote applied", occurrence: 3, master: 1, ...crash } as const;
    const { entries, fired } = await traced([fault], { queue: false });
    const votes = entries
      .slice(0, fired)
      .filter(
        ({ entry: [who, what, ...rest] }) => who === "master-1" && what === "runs" && rest.at(-1) === "OK",
      );
    expect(votes).toHaveLength(3);
    // The tick after it: the answer is on its way, and lost with the connection.
    expect(entries[fired]!.time - votes.at(-1)!.time).toBe(1);
    expect(entries.filter(({ entry }) => entry[0] === "fault")).toHaveLength(1);
  });

  const places = ["enrolled", "handed over", "push sent", "push heard"] as const;
  test.each(["vote sent", "extension sent", "release sent", "granted", ...places] as const)(
    "is reached: %s",
    async (on) => {
      const { fired } = await traced([
        { on, occurrence: 2, client: 1, kind: "freeze", clients: "here", masters: [], duration: 5 },
      ]);
      expect(fired).toBeGreaterThan(0);
    },
  );

  test("between the check and the write lets a holder write after a later one", async () => {
    const stall = { kind: "stall", clients: "here", duration: 500 } as const;
    const { outcome } = await traced([{ on: "write", occurrence: 3, ...stall }]);
    expect(outcome.violations.map(({ kind }) => kind)).toEqual(["effect"]);
    // The same pause a little earlier is noticed by the look that follows.
    const early = await traced([{ on: "granted", occurrence: 3, ...stall }]);
    expect(early.fired).toBeGreaterThan(0);
    expect(early.outcome.verdict).toBe("ok");
  });

  test("waits for the given time", async () => {
    const freeze = { kind: "freeze", clients: "here", masters: [], duration: 5 } as const;
    const [atOnce, later] = await Promise.all([
      traced([{ on: "granted", occurrence: 1, ...freeze }]),
      traced([{ on: "granted", occurrence: 1, after: 7, ...freeze }]),
    ]);
    expect(later.entries[later.fired]!.time - atOnce.entries[atOnce.fired]!.time).toBe(6999);
  });

  test("that was not reached during the time of faults does not fire later", async () => {
    const { entries } = await traced([]);
    const all = entries.filter(({ entry }) => entry[1] === "begins").length;
    const early = entries.filter(({ time, entry }) => entry[1] === "begins" && time < 1_000_000).length;
    expect(early).toBeLessThan(all);
    const kill = { on: "granted", kind: "kill", clients: "here" } as const;
    expect((await traced([{ ...kill, occurrence: early }])).fired).toBeGreaterThan(0);
    expect((await traced([{ ...kill, occurrence: early + 1 }])).fired).toBe(-1);
  });
});

test("faults are over when the last possible one has ended", () => {
  const freeze = { kind: "freeze", clients: [0], masters: [], duration: 30 } as const;
  expect(calmFrom(plan([{ at: 500, ...freeze }]))).toBe(530);
  expect(calmFrom(plan([{ on: "granted", occurrence: 1, after: 20, ...freeze }]))).toBe(1050);
});

const isOfEviction = ({ time, entry: [who, verb] }: Entry): boolean =>
  time === 300_000 && who === "master-0" && (verb === "forgets" || verb === "drops");

test("one key is evicted, and the others stay", async () => {
  const { entries } = await traced([{ at: 300, kind: "evict", masters: [0], nth: 1 }]);
  expect(entries.filter(isOfEviction)).toHaveLength(1);
});

/** The wall clock of the first master in the end, as it is recorded last. */
async function wallAfterPromotion(apart: number): Promise<number> {
  const { entries } = await traced([{ at: 300, kind: "promote", masters: [0], lag: 10, apart }]);
  const last = entries.findLast(({ entry: [who, verb] }) => who === "master-0" && verb === "clocks");
  return Number(last?.entry[3]);
}

test("a replica that is promoted has a clock of its own", async () => {
  expect((await wallAfterPromotion(-7000)) - (await wallAfterPromotion(500))).toBeCloseTo(-7500, 0);
});

test("a clock that stands still loses time, and is then right again", async () => {
  const { entries } = await traced([{ at: 300, kind: "still", masters: [0], duration: 200 }]);
  const walls = entries.flatMap(({ time, entry: [who, verb, , wall] }) =>
    who === "master-0" && verb === "clocks" ? [[time, Number(wall)] as const] : [],
  );
  const [begin, stopped, right] = walls.map(([time, wall]) => [time, wall - walls[0]![1]] as const);
  expect([begin, stopped, right]).toEqual([
    [0, 0],
    [300_000, expect.closeTo(300, 5)],
    [500_000, expect.closeTo(500, 5)],
  ]);
});

test("a detached lock that is delivered twice has two holders: no client can tell", async () => {
  const { styles: _, ...workload } = plan([]).workload;
  const detaching = { ...workload, hold: 100, styles: { detach: 1 } };
  const repeats = Array.from(
    { length: 20 },
    (_, index) => ({ at: 50 * index, kind: "repeat", clients: [0, 1] }) as const,
  );
  const once = await runPlan({ ...plan([]), workload: detaching });
  expect([once.verdict, once.marks.get("resumed")]).toEqual(["ok", expect.toSatisfy((count) => count > 3)]);
  const twice = await runPlan({ ...plan(repeats), workload: detaching });
  expect(new Set(twice.violations.map(({ kind }) => kind))).toContain("belief");
});

test("several Redlocks of a process lock by the same connections", async () => {
  const shared = { ...plan([]), workload: { ...plan([]).workload, parallel: 4, redlocks: 2 } };
  const entries: string[] = [];
  const { verdict } = await runPlan(shared, {
    onEvent: (_, [who, verb]) => void entries.push(`${who} ${verb}`),
  });
  expect(verdict).toBe("ok");
});
