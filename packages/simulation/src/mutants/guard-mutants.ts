import type { Edit, Mutant } from "./mutant.ts";

const handsOver: readonly Edit[] = [
  {
    file: "redis/lua/scripts.ts",
    line: 'if kind == "r" or kind == "l" and inQuarantine() then',
    instead: 'if kind == "r" then',
  },
  {
    file: "redis/lua/scripts.ts",
    line: "if not isKnown or inQuarantine() then return release(1, #KEYS, 2, #ARGV) end",
    instead: "",
  },
];

/**
 * Faults in the restart guard: PROTOCOL 8.8, 9. Each must be found in runs in which masters lose their
 * votes. (Two rules are too rare here, and the exhaustive model finds both: a repair in quarantine must not count if
 * the vote was not the holder's, and the floors of the fencing counters are read *after* the quarantine.)
 */
export const guardMutants: readonly Mutant[] = [
  {
    name: "the quarantine is shorter than maxTtl",
    edits: [
      {
        file: "redis/lua/guard.ts",
        line: 'mark("2", now + length, length)',
        instead: 'mark("2", now + math.ceil(length / 2), math.ceil(length / 2))',
      },
    ],
    rules: { quarantine: (maxTtl) => String(Math.ceil(Number(maxTtl) / 2)) },
  },
  {
    name: "a master votes in quarantine",
    edits: [
      {
        file: "redis/lua/guard.ts",
        line: 'if guarded.state == "2" then\n    local left',
        instead: "if false then\n    local left",
      },
    ],
    rules: { votesInQuarantine: true },
  },
  {
    name: "the fencing counters are brought back before the quarantine ends, and that ends it",
    edits: [
      { file: "redis/lua/guard.ts", line: 'guarded.state ~= "1" or', instead: 'guarded.state == "0" or' },
      {
        file: "safeguards/master-guard.ts",
        line: 'if (error.reason === "UNSEEDED")',
        instead: 'if (error.message.includes("UNSEEDED"))',
      },
    ],
    rules: { seedsInQuarantine: true },
  },
  {
    name: "a master votes before its fencing counters are brought back",
    edits: [
      {
        file: "redis/lua/guard.ts",
        line: 'if proposal ~= "" and guarded.state == "1" then',
        instead: "if false then",
      },
    ],
    rules: { votesUnseeded: true },
  },
  {
    name: "the fencing counters are brought back to whichever master has the name",
    edits: [
      {
        file: "safeguards/restart-guard.ts",
        line: "node.guarded!.restoreCounters(epoch, floor, settle)",
        instead:
          "nodes.find(({ name }) => name === node.name)!.guarded!.restoreCounters(epoch, floor, settle)",
      },
    ],
  },
  {
    name: "a client that is refused in quarantine gets a queue entry, and is granted the key",
    edits: handsOver,
    rules: { handsOverInQuarantine: true },
  },
];

/** To be found where a master boots with a slow clock that is set later. */
export const slowBootMutants: readonly Mutant[] = [
  {
    name: "the quarantine is over with its key, by the master's own clock",
    edits: [
      {
        file: "redis/lua/guard.ts",
        line: "if left == -2 and guarded.ends <= now then",
        instead: "if left == -2 then",
      },
    ],
    rules: { endsByTheKey: true },
  },
];
