import type { Mutant } from "../mutants/mutant.ts";
import { semaphoreSubject } from "./semaphore-client.ts";

const rows: readonly Mutant[] = [
  {
    name: "a slot more than the limit",
    breaks: ["10.1"],
    edits: { "primitives/semaphore-slots.ts constructor #limit value": "limit + 1" },
  },
  {
    name: "several permits are one slot",
    breaks: ["10.1"],
    edits: { "primitives/semaphore.ts #tryFreeSlots take": "this.#slots.take(1, refused)" },
  },
  {
    name: "slots are kept beside the lock that they became",
    breaks: ["10.2"],
    edits: { "primitives/semaphore.ts #acquireFreedSlots release": "lock" },
  },
];

export const semaphoreMutants: readonly Mutant[] = rows.map((row) => ({
  ...row,
  subjectOf: semaphoreSubject,
}));
