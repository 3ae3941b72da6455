import { clockFaults } from "./clock-faults.ts";
import { memoryLoss } from "./memory-loss.ts";
import { networkFaults } from "./network-faults.ts";
import { pauses } from "./pauses.ts";
import type { Scenario } from "./scenario.ts";

/** All scenarios, in the order of the document. */
export const scenarios: readonly Scenario[] = Object.entries({
  ...pauses,
  ...clockFaults,
  ...memoryLoss,
  ...networkFaults,
}).map(([name, scenario]) => ({ name, ...scenario }));
