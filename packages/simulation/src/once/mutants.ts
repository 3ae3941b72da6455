import type { MutantRows } from "../mutants/mutant.ts";

export const onceMutants: MutantRows = {
  "a job's lock is released at its end": {
    breaks: ["10.9"],
    edits: { "primitives/once.ts keep body": "{}" },
  },
  "keepFor counts from the end of the job": {
    breaks: ["10.9"],
    edits: {
      "primitives/once.ts runAndKeep left value":
        "((end?: number) => () => Math.ceil((end ??= runtime.monotonic()) + job.keepFor - runtime.monotonic()))()",
    },
  },
  "a vote that is heard behind a wake does not count with it": {
    breaks: ["7.11"],
    from: 1_001_627,
    edits: { "waiting/wait.ts #decide #askForRest": "this.#askSoon()" },
  },
  "a kept lock is not detached": {
    breaks: ["10.9"],
    edits: { "primitives/once.ts keep detached value": "undefined as never" },
  },
};

/** Found where calls find no quorum until then. */
export const lateAttemptMutant: MutantRows = {
  "an attempt of once after keepFor": {
    breaks: ["10.9"],
    edits: { "primitives/once.ts tryUntilDecided end value": "Number.MAX_SAFE_INTEGER" },
  },
};
