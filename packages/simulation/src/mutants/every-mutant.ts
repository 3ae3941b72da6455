import { mixedBatchMutants, readWriteMutants } from "../read-write/mutants.ts";
import { semaphoreMutants } from "../semaphore/mutants.ts";
import { lateGrantMutant, throwingMutant } from "./caller-mutants.ts";
import { guardMutants, rareGuardMutants, slowBootMutants } from "./guard-mutants.ts";
import type { Mutant } from "./mutant.ts";
import { mutants, rareMutants } from "./mutants.ts";
import { movedServerMutants, sharedServerMutants } from "./shared-server-mutants.ts";
import { outlierMutants, watchMutants } from "./watch-mutants.ts";

/** Those of the client and of its other primitives. */
export const everyMutant: readonly Mutant[] = [
  ...[mutants, rareMutants, guardMutants, slowBootMutants, sharedServerMutants, watchMutants, outlierMutants],
  ...[
    rareGuardMutants,
    movedServerMutants,
    readWriteMutants,
    semaphoreMutants,
    throwingMutant,
    lateGrantMutant,
    mixedBatchMutants,
  ],
].flat();
