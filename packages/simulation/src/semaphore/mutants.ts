import type { MutantRows } from "../mutants/mutant.ts";

export const semaphoreMutants: MutantRows = {
  "a slot more than the limit": {
    breaks: ["10.1"],
    edits: { "primitives/semaphore-slots.ts constructor #limit value": "limit + 1" },
  },
  "several permits are one slot": {
    breaks: ["10.1"],
    edits: { "primitives/semaphore.ts #tryFreeSlots take": "this.#slots.take(1, refused)" },
  },
  "slots are kept beside the lock that they became": {
    breaks: ["10.2"],
    edits: { "primitives/semaphore.ts #acquireFreedSlots release": "lock" },
  },
};
