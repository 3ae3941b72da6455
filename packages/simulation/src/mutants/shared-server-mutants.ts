import type { Mutant } from "./mutant.ts";

/**
 * Faults in the handling of masters that are one server: PROTOCOL 2.8. Each must be found in runs in which two masters
 * are one.
 */
export const sharedServerMutants: readonly Mutant[] = [
  {
    name: "a server votes once for each of its addresses",
    edits: { "safeguards/distinct-masters.ts #judge condition": "false" },
  },
];
