import type { Mutant } from "./mutant.ts";

/** Faults in the handling of a slot that moves: PROTOCOL 8.9, 12.12. Each must be found where the only master is a Cluster. */
export const clusterMutants: readonly Mutant[] = [
  {
    name: "a script does not declare the queue that it may create",
    breaks: ["12.12"],
    edits: { "redis/slot-keys.ts slotKeysOf 12.12 condition": "false" },
  },
  {
    name: "a waiter does not declare its own entry",
    breaks: ["12.12"],
    from: 38,
    edits: { "redis/slot-keys.ts slotKeysOf entriesOf statement": ";" },
  },
  {
    name: "a vote does not declare the counter that its token is to be above",
    breaks: ["8.9"],
    from: 37,
    edits: { "redis/slot-keys.ts slotKeysOf 8.9 condition": "false" },
  },
];
