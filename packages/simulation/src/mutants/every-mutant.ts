import type { ViolationKind } from "../checkers/findings.ts";
import { lateAttemptMutant, onceMutants } from "../once/mutants.ts";
import { membershipPlan } from "../plan/membership.ts";
import type { Plan } from "../plan/plan.ts";
import {
  clusterPlan,
  guardedPlan,
  movedPlan,
  outlierPlan,
  promisedPlan,
  removalPlan,
  sharedServerPlan,
  watchedPlan,
} from "../plan/swarm.ts";
import { mixedBatchMutants, readWriteMutants, undeclaredMutant } from "../read-write/mutants.ts";
import { scenarios } from "../scenarios/scenarios.ts";
import { semaphoreMutants } from "../semaphore/mutants.ts";
import { roundsPlan } from "../semaphore/rounds-plan.ts";
import { lateGrantMutant, throwingMutant } from "./caller-mutants.ts";
import {
  crowdedGuardMutant,
  fastBootMutant,
  guardMutants,
  rareGuardMutants,
  slowBootMutants,
} from "./guard-mutants.ts";
import { membershipMutants } from "./membership-mutants.ts";
import type { Mutant } from "./mutant.ts";
import { leftDatabaseMutant, mutants, rareMutants } from "./mutants.ts";
import {
  crowdedPlan,
  demandingPlan,
  fastBootPlan,
  holderMovesPlan,
  lateConnectionPlan,
  lateJobsPlan,
  mixedPlan,
  switchedPlan,
} from "./plans.ts";
import { removalMutants } from "./removal-mutants.ts";
import {
  busyServerMutant,
  movedVoteMutant,
  sharedServerMutants,
  waitingClaimMutant,
} from "./shared-server-mutants.ts";
import { contradictedMutant, unreadVoteMutant, watchMutants } from "./watch-mutants.ts";

/** Mutants, and the plans that have to show each of them. */
export interface Hunt {
  readonly mutants: readonly Mutant[];
  readonly planOf: (seed: number) => Plan;
  /** The first seed of a mutant that names none. */
  readonly from?: number;
  /** The violation that has to show each. Default: any. */
  readonly shownBy?: ViolationKind;
  /** The number of seeds by which each has to be shown. */
  readonly seeds: number;
}

/** The seven seeds before it are the longest runs by far. */
const firstPromised = 8;

export const hunts: readonly Hunt[] = [
  { mutants, planOf: promisedPlan, from: firstPromised, seeds: 400 },
  { mutants: [lateGrantMutant], planOf: demandingPlan, seeds: 30 },
  { mutants: guardMutants, planOf: guardedPlan, seeds: 400 },
  { mutants: [crowdedGuardMutant], planOf: crowdedPlan, seeds: 400 },
  { mutants: slowBootMutants, planOf: planOfScenario("slow-boot-guarded"), seeds: 10 },
  { mutants: [fastBootMutant], planOf: fastBootPlan, shownBy: "stuck", seeds: 4 },
  { mutants: sharedServerMutants, planOf: sharedServerPlan, seeds: 30 },
  { mutants: [movedVoteMutant], planOf: holderMovesPlan, seeds: 20 },
  { mutants: [leftDatabaseMutant], planOf: switchedPlan, seeds: 20 },
  { mutants: [waitingClaimMutant], planOf: lateConnectionPlan, seeds: 20 },
  { mutants: [busyServerMutant], planOf: movedPlan, seeds: 100 },
  { mutants: membershipMutants, planOf: membershipPlan, shownBy: "belief", seeds: 40 },
  { mutants: removalMutants, planOf: removalPlan, shownBy: "unheard", seeds: 100 },
  { mutants: watchMutants, planOf: watchedPlan, seeds: 100 },
  { mutants: [contradictedMutant], planOf: planOfScenario("clock-jump-on-c-excluded"), seeds: 100 },
  { mutants: [unreadVoteMutant], planOf: outlierPlan, seeds: 100 },
  { mutants: semaphoreMutants, planOf: roundsPlan, seeds: 20 },
  { mutants: readWriteMutants, planOf: promisedPlan, seeds: 200 },
  { mutants: onceMutants, planOf: promisedPlan, seeds: 40 },
  { mutants: [lateAttemptMutant], planOf: lateJobsPlan, shownBy: "twice", seeds: 10 },
  { mutants: [undeclaredMutant], planOf: clusterPlan, seeds: 40 },
  { mutants: mixedBatchMutants, planOf: mixedPlan, seeds: 12 },
];

/** Those of the client and of its primitives. */
export const everyMutant: readonly Mutant[] = [
  ...hunts.flatMap((hunt) => hunt.mutants),
  throwingMutant,
  // Too rare for a hunt: the seed bank keeps a run that shows each.
  ...[rareMutants, rareGuardMutants].flat(),
];

function planOfScenario(wanted: string): Hunt["planOf"] {
  return (seed) => scenarios.find(({ name }) => name === wanted)!.plan(seed);
}
