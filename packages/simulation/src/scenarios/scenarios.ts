import { clockFaults } from "./clock-faults.ts";
import { memoryLoss } from "./memory-loss.ts";
import { networkFaults } from "./network-faults.ts";
import { pauses } from "./pauses.ts";
import type { Scenario } from "./scenario.ts";

/** All there are, in the order in which they are told. */
export const scenarios: readonly Scenario[] = [...pauses, ...clockFaults, ...memoryLoss, ...networkFaults];
