import type { Mutant } from "./mutant.ts";

/**
 * Faults in the restart guard: PROTOCOL 8.8, 9. Each must be found in runs in which masters lose their
 * votes. (Two rules are too rare here, and the exhaustive model finds both: a repair in quarantine must not count if
 * the vote was not the holder's, and the floors of the fencing counters are read *after* the quarantine.)
 */
export const guardMutants: readonly Mutant[] = [
  {
    name: "the quarantine is shorter than maxTtl",
    breaks: ["9.8"],
    from: 148,
    rules: { quarantine: (maxTtl) => String(Math.ceil(Number(maxTtl) / 2)) },
  },
  { name: "a master votes in quarantine", breaks: ["9.1"], from: 24, rules: { votesInQuarantine: true } },
  {
    name: "the fencing counters are brought back before the quarantine ends, and that ends it",
    breaks: ["8.8"],
    from: 20,
    edits: {
      "safeguards/master-guard.ts refused #restoreCounters condition": 'error.message.includes("UNSEEDED")',
    },
    rules: { seedsInQuarantine: true },
  },
  {
    name: "a master votes before its fencing counters are brought back",
    breaks: ["8.8"],
    from: 97,
    rules: { votesUnseeded: true },
  },
  {
    name: "the fencing counters are brought back to whichever master has the name",
    breaks: ["8.8"],
    from: 6,
    edits: {
      "safeguards/restart-guard.ts 8.8 restoreCounters argument":
        "nodes.find(({ name }) => name === node.name)!",
    },
  },
  {
    name: "a marker counts although another server at this address had a later epoch",
    breaks: ["9.5"],
    from: 20,
    rules: { trustsOlderEpoch: true },
  },
  {
    name: "a marker counts although its master was a replica since",
    breaks: ["9.3"],
    from: 172,
    rules: { trustsPromoted: true },
  },
  {
    name: "a new quarantine keeps the epoch of the marker",
    breaks: ["9.5"],
    from: 7,
    rules: { keepsEpoch: true },
  },
];

/** To be found where many wait for the same keys: elsewhere it would take thousands of seeds. */
export const crowdedGuardMutant: Mutant = {
  name: "a client that is refused in quarantine gets a queue entry, and is granted the key",
  breaks: ["9.6"],
  from: 258,
  rules: { handsOverInQuarantine: true },
};

/** Too rare for the budget of the others: the seed bank keeps a run that shows it. */
export const rareGuardMutants: readonly Mutant[] = [
  {
    name: "a marker counts although its memory was loaded from a file",
    breaks: ["9.2"],
    rules: { trustsLoadedMemory: true },
  },
  {
    name: "the epoch is not read when a connection is made again",
    breaks: ["9.5"],
    edits: { "safeguards/restart-guard.ts #onBack body": "{ void guard; }" },
  },
];

/** To be found where masters boot with a fast clock that is set later. */
export const fastBootMutant: Mutant = {
  name: "the quarantine lasts as long as its key, by the master's own clock",
  breaks: ["9.10"],
  rules: { boundsQuarantine: false },
};

/** To be found where a master boots with a slow clock that is set later. */
export const slowBootMutants: readonly Mutant[] = [
  {
    name: "the quarantine is over with its key, by the master's own clock",
    breaks: ["9.10"],
    rules: { endsByTheKey: true },
  },
];
