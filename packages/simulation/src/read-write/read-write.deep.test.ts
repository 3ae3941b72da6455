import { Redlock } from "@quorlock/redlock";
import { ReadWriteLock } from "@quorlock/redlock/read-write-lock";
import { Redis } from "ioredis";
import { afterAll, describe, expect, test } from "vitest";
import { Pool } from "../cli/pool.ts";
import { startEmbeddedMasters } from "../embedded/start-embedded-masters.ts";
import { findOut } from "../mutants/find-out.ts";
import type { Plan } from "../plan/plan.ts";
import { outlierPlan, promisedPlan, watchedPlan } from "../plan/swarm.ts";
import { runPlan } from "../run/run-plan.ts";
import { explore, plansOf } from "../search/explore.ts";
import { inOrder } from "../search/runner.ts";
import { mixedBatchMutants, mixedMutant, readWriteMutantNames } from "./mutants.ts";
import { theMixedSubject, theReadWriteLock } from "./read-write-client.ts";

const pool = new Pool();
afterAll(() => pool.close());

describe("readers and writers", () => {
  test("never have a writer beside a reader if masters whose clocks are set are excluded", async () => {
    const trials = inOrder(pool.runner(theReadWriteLock.name), plansOf(outlierPlan, 1, 8));
    const { violated, marks } = await explore(trials);
    expect(violated.flatMap(({ outcome }) => outcome.violations)).toEqual([]);
    expect(marks.get("granted")).toBeGreaterThan(100);
  }, 1_200_000);

  test("never have a writer beside a reader within the promised model", async () => {
    // (`.ci/run` goes on to 300.)
    const trials = inOrder(pool.runner(theReadWriteLock.name), plansOf(promisedPlan, 1, 50));
    const { violated, marks } = await explore(trials);
    expect(violated.flatMap(({ outcome }) => outcome.violations)).toEqual([]);
    expect(marks.get("granted")).toBeGreaterThan(1000);
    expect(marks.get("extended")).toBeGreaterThan(500);
  }, 1_200_000);

  test.each([
    [730_016, "are granted to a reader again whose last claim has expired and is still in the set"],
    [844, "leave an expired reader in the set until the set expires with its last reader"],
    [1270, "renew a reader beside a mark by a vote that arrives behind its extension, on another connection"],
    [651, "settle a verification one round later if the timer of its round is late by a tenth of it"],
    [206, "are in order where a writer lets readers in by a downgrade before its work begins"],
    [647, "are in order where a reader hears of its grant before the writer hears of its downgrade"],
  ])(
    "seed %i: %s",
    async (seed) => {
      const { verdict, violations } = await runPlan(promisedPlan(seed), { subject: theReadWriteLock });
      expect(violations).toEqual([]);
      expect(verdict).toBe("ok");
    },
    60_000,
  );

  test("produce the same hash twice", async () => {
    const [first, second] = [
      await runPlan(promisedPlan(8), { subject: theReadWriteLock }),
      await runPlan(promisedPlan(8), { subject: theReadWriteLock, engine: "heap" }),
    ];
    expect(first.hash).toBe(second.hash);
    expect(first.marks.get("granted")).toBeGreaterThan(0);
  }, 60_000);
});

test("embedded masters know them as well", async () => {
  await using masters = await startEmbeddedMasters(3);
  const clients = masters.urls.map((url) => new Redis(url));
  const redlock = new Redlock(clients);
  const report = new ReadWriteLock(redlock, "report");
  const writing = await report.write(5_000);
  expect(await report.tryRead(5_000)).toBeNull();
  const reading = await writing.downgrade();
  expect(await report.tryWrite(5_000)).toBeNull();
  const beside = await report.read(5_000);
  for (const lock of [reading, beside]) expect(await lock.release()).toMatchObject({ outcome: "released" });
  await redlock.quit();
});

describe("the harness finds every mutant of them", () => {
  test.concurrent.each(readWriteMutantNames)(
    "%s",
    async (name) => {
      console.log(await findOut(pool, name, plansOf(promisedPlan, 1, 200)));
    },
    1_200_000,
  );
});

/** Many calls of one process in one turn, and readings of the masters' clocks in their batches. */
function mixedPlan(seed: number): Plan {
  const plan = watchedPlan(seed);
  return { ...plan, workload: { ...plan.workload, parallel: 6 } };
}

describe("exclusive locks beside readers and writers", () => {
  test("have batches that each are for one kind of locks", async () => {
    for (const plan of plansOf(mixedPlan, 1, 12)) {
      const { violations } = await runPlan(plan, { engine: "heap", subject: theMixedSubject });
      expect(violations).toEqual([]);
    }
  }, 1_200_000);

  test.each(mixedBatchMutants)(
    "show that $name",
    async (mutant) => {
      const subject = await mixedMutant(mutant);
      for (const plan of plansOf(mixedPlan, mutant.from ?? 1, 12)) {
        const { violations } = await runPlan(plan, { engine: "heap", subject });
        if (violations.length > 0) return;
      }
      expect.unreachable("no seed of 12 has shown it");
    },
    1_200_000,
  );
});
