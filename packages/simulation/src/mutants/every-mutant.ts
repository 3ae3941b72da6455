import type { ViolationKind } from "../checkers/findings.ts";
import { lateAttemptMutant, onceMutants } from "../once/mutants.ts";
import { onceSubject } from "../once/once-client.ts";
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
import { mixedSubject, readWriteSubject } from "../read-write/read-write-client.ts";
import { scenarios } from "../scenarios/scenarios.ts";
import { semaphoreMutants } from "../semaphore/mutants.ts";
import { roundsPlan } from "../semaphore/rounds-plan.ts";
import { semaphoreSubject } from "../semaphore/semaphore-client.ts";
import { lateGrantMutant, throwingMutant } from "./caller-mutants.ts";
import {
  crowdedGuardMutant,
  endlessMutant,
  fastBootMutant,
  guardMutants,
  slowBootMutants,
} from "./guard-mutants.ts";
import { membershipMutants } from "./membership-mutants.ts";
import { type Mutant, named } from "./mutant.ts";
import { leftDatabaseMutant, mutants, rareMutants, sharedTokensMutant } from "./mutants.ts";
import {
  crowdedPlan,
  demandingPlan,
  fastBootPlan,
  holderMovesPlan,
  lateConnectionPlan,
  lateJobsPlan,
  mixedPlan,
  sharingPlan,
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
  { mutants: named(mutants), planOf: promisedPlan, from: firstPromised, seeds: 400 },
  { mutants: named(lateGrantMutant), planOf: demandingPlan, seeds: 30 },
  { mutants: named(guardMutants), planOf: guardedPlan, seeds: 400 },
  { mutants: named(endlessMutant), planOf: guardedPlan, shownBy: "stuck", seeds: 40 },
  { mutants: named(sharedTokensMutant), planOf: sharingPlan, from: firstPromised, seeds: 40 },
  { mutants: named(crowdedGuardMutant), planOf: crowdedPlan, seeds: 400 },
  { mutants: named(slowBootMutants), planOf: planOfScenario("slow-boot-guarded"), seeds: 10 },
  { mutants: named(fastBootMutant), planOf: fastBootPlan, shownBy: "stuck", seeds: 4 },
  { mutants: named(sharedServerMutants), planOf: sharedServerPlan, seeds: 30 },
  { mutants: named(movedVoteMutant), planOf: holderMovesPlan, seeds: 20 },
  { mutants: named(leftDatabaseMutant), planOf: switchedPlan, seeds: 20 },
  { mutants: named(waitingClaimMutant), planOf: lateConnectionPlan, seeds: 20 },
  { mutants: named(busyServerMutant), planOf: movedPlan, seeds: 100 },
  { mutants: named(membershipMutants), planOf: membershipPlan, shownBy: "belief", seeds: 40 },
  { mutants: named(removalMutants), planOf: removalPlan, shownBy: "unheard", seeds: 100 },
  { mutants: named(watchMutants), planOf: watchedPlan, seeds: 100 },
  { mutants: named(contradictedMutant), planOf: planOfScenario("clock-jump-on-c-excluded"), seeds: 100 },
  { mutants: named(unreadVoteMutant), planOf: outlierPlan, seeds: 100 },
  { mutants: named(semaphoreMutants, semaphoreSubject), planOf: roundsPlan, seeds: 20 },
  { mutants: named(readWriteMutants, readWriteSubject), planOf: promisedPlan, seeds: 200 },
  { mutants: named(onceMutants, onceSubject), planOf: promisedPlan, seeds: 40 },
  { mutants: named(lateAttemptMutant, onceSubject), planOf: lateJobsPlan, shownBy: "twice", seeds: 10 },
  { mutants: named(undeclaredMutant, readWriteSubject), planOf: clusterPlan, seeds: 40 },
  { mutants: named(mixedBatchMutants, mixedSubject), planOf: mixedPlan, seeds: 12 },
];

/** Those of the client and of its primitives. */
export const everyMutant: readonly Mutant[] = [
  ...hunts.flatMap((hunt) => hunt.mutants),
  // Too rare for a hunt: the seed bank keeps a run that shows each.
  ...named({ ...throwingMutant, ...rareMutants }),
];

function planOfScenario(wanted: string): Hunt["planOf"] {
  return (seed) => scenarios.find(({ name }) => name === wanted)!.plan(seed);
}
