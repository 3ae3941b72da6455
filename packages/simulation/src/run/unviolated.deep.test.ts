import { afterAll, describe, expect, test } from "vitest";
import type { Mark } from "../checkers/findings.ts";
import { Pool } from "../cli/pool.ts";
import {
  demandingPlan,
  holderMovesPlan,
  lateJobsPlan,
  mixedPlan,
  sharingPlan,
  switchedPlan,
} from "../mutants/plans.ts";
import { theOnce } from "../once/once-client.ts";
import { membershipPlan } from "../plan/membership.ts";
import type { Plan } from "../plan/plan.ts";
import {
  clusterPlan,
  movedPlan,
  outlierPlan,
  promisedPlan,
  removalPlan,
  sharedServerPlan,
} from "../plan/swarm.ts";
import { theMixedSubject, theReadWriteLock } from "../read-write/read-write-client.ts";
import { explore, plansOf } from "../search/explore.ts";
import { inOrder } from "../search/runner.ts";
import { roundsPlan } from "../semaphore/rounds-plan.ts";
import { theSemaphore } from "../semaphore/semaphore-client.ts";
import { runPlan } from "./run-plan.ts";

interface World {
  readonly promise: string;
  /** By its name; default: the client. */
  readonly subject?: string;
  readonly planOf: (seed: number) => Plan;
  readonly seeds: number;
  /** Marks that must occur more often than this in all runs together. */
  readonly reached?: Partial<Readonly<Record<Mark, number>>>;
}

const [semaphore, readersWriter] = [theSemaphore.name, theReadWriteLock.name];

// (`.ci/run` goes on with further seeds of the primitives in the promised model.)
const worlds: readonly World[] = [
  {
    promise: "calls that demand most of a lease are served in their order",
    planOf: demandingPlan,
    seeds: 10,
    reached: { granted: 50 },
  },
  {
    promise: "two masters that are one server are one vote, which is no quorum",
    planOf: sharedServerPlan,
    seeds: 8,
  },
  {
    promise: "addresses that change places lead to no server that votes twice",
    planOf: movedPlan,
    seeds: 8,
  },
  {
    promise: "a Cluster as the only master keeps locks and its keys in one place each while their slot moves",
    planOf: clusterPlan,
    seeds: 8,
    reached: { granted: 50, locked: 20 },
  },
  {
    promise: "addresses that change places keep the vote that a holder has by one from counting by the other",
    planOf: holderMovesPlan,
    seeds: 10,
  },
  {
    promise:
      "a lease ends with the databases that it was acquired in, though they are left one after the other",
    planOf: switchedPlan,
    seeds: 10,
  },
  {
    promise: "a list of masters changes by one at a time, with the wait between, without two holders",
    planOf: membershipPlan,
    seeds: 10,
    reached: { granted: 100, "bare majority": 15 },
  },
  {
    promise: "a holder is told that a majority has forgotten its lock, and not where none can have",
    planOf: removalPlan,
    seeds: 30,
    reached: { extended: 100, lost: 100 },
  },
  {
    promise: "the Redlocks of a process keep each other out, as those of several do",
    planOf: sharingPlan,
    seeds: 8,
    reached: { granted: 100 },
  },
  {
    promise: "a semaphore keeps its limit in rounds of twelve clients that ask at once",
    subject: semaphore,
    planOf: roundsPlan,
    seeds: 3,
    // Votes are split, and some clients get none.
    reached: { "split vote": 40, granted: 1200 },
  },
  {
    promise: "a semaphore keeps its limit within the promised model",
    subject: semaphore,
    planOf: promisedPlan,
    seeds: 8,
  },
  {
    promise: "no writer holds beside a reader if masters whose clocks are set are excluded",
    subject: readersWriter,
    planOf: outlierPlan,
    seeds: 3,
    reached: { granted: 60 },
  },
  {
    promise: "no writer holds beside a reader within the promised model",
    subject: readersWriter,
    planOf: promisedPlan,
    seeds: 8,
    reached: { granted: 160, extended: 80 },
  },
  {
    promise: "a job that has run is not run again while it is kept",
    subject: theOnce.name,
    planOf: promisedPlan,
    seeds: 8,
    reached: { kept: 64, "run again later": 3, locked: 800 },
  },
  {
    promise: "a job that finds no quorum while it is kept is not run after that",
    subject: theOnce.name,
    planOf: lateJobsPlan,
    seeds: 10,
  },
  {
    promise: "exclusive locks beside readers and writers have batches that each are for one kind of locks",
    subject: theMixedSubject.name,
    planOf: mixedPlan,
    seeds: 4,
  },
];

describe("no run violates the promise:", () => {
  const pool = new Pool();
  afterAll(() => pool.close());

  test.each(worlds)(
    "$promise",
    async ({ subject, planOf, seeds, reached = {} }) => {
      const trials = inOrder(pool.runner(subject), plansOf(planOf, 1, seeds));
      const { violated, marks, runs } = await explore(trials);
      expect(violated.map(({ plan: { seed }, outcome }) => [seed, outcome.violations])).toEqual([]);
      expect(runs).toBe(seeds);
      for (const [mark, count] of Object.entries(reached))
        expect([mark, marks.get(mark as Mark)]).toEqual([mark, expect.toSatisfy((n) => n > count)]);
    },
    1_200_000,
  );
});

test.each([theSemaphore, theReadWriteLock, theOnce])(
  "a run of $name comes to the same hash twice",
  async (subject) => {
    const plan = promisedPlan(8);
    const first = await runPlan(plan, { subject });
    const second = await runPlan(plan, { subject });
    expect(second.hash).toBe(first.hash);
    expect(first.marks.get("granted")).toBeGreaterThan(0);
  },
);

test.each([
  [730_016, "a reader is granted again whose last claim has expired and is still in the set"],
  [844, "an expired reader stays in the set until the set expires with its last reader"],
  [
    1270,
    "a reader is renewed beside a mark by a vote that arrives behind its extension, on another connection",
  ],
  [651, "a verification settles one round later if the timer of its round is late by a tenth of it"],
  [206, "the order is kept where a writer lets readers in by a downgrade before its work begins"],
  [647, "the order is kept where a reader hears of its grant before the writer hears of its downgrade"],
])("seed %i of readers and writers: %s", async (seed) => {
  const { verdict, violations } = await runPlan(promisedPlan(seed), { subject: theReadWriteLock });
  expect(violations).toEqual([]);
  expect(verdict).toBe("ok");
});
