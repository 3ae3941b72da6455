import type { Mutant } from "./mutant.ts";

/**
 * Faults in the watch of the masters' clocks: PROTOCOL 11. Each must be found in runs in which the clocks are watched.
 */
export const watchMutants: readonly Mutant[] = [
  {
    name: "a suspension of the client counts as a step of every master",
    edits: [
      { file: "safeguards/clock-watch.ts", at: "agreedDifference body", instead: "{ return byMonotonic; }" },
    ],
  },
  {
    name: "a step of the client's clock counts as a step of every master",
    edits: [
      { file: "safeguards/clock-watch.ts", at: "agreedDifference body", instead: "{ return byWall; }" },
    ],
  },
  {
    name: "a clock reading is as precise across a suspension of the client as without one",
    edits: [
      {
        file: "safeguards/clock-watch.ts",
        at: "readingOf uncertainty value",
        instead: "half + wallResolution",
      },
    ],
  },
  {
    name: "the masters' clocks stand still during a suspension of the client",
    edits: [
      {
        file: "safeguards/clock-watch.ts",
        at: "stepBetween elapsed",
        instead: "after.heard.monotonic - before.sent.monotonic",
      },
    ],
  },
  {
    name: "a clock step is never reported",
    edits: [{ file: "safeguards/clock-watch.ts", at: "observe #steppedAt condition", instead: "false" }],
  },
  {
    name: "the votes of an excluded master count",
    edits: [{ file: "protocol/round-clocks.ts", at: "#verdictOn hasSteppedLately", instead: "false" }],
  },
  {
    name: "the grants of an excluded master count",
    edits: [{ file: "redis/redis-node.ts", at: "#onPush condition", instead: "clock" }],
  },
];

/**
 * Each is to be found where the clocks of a minority are set, and all clients exclude those: the first where a client
 * asks for its first lock only then.
 */
export const outlierMutants: readonly Mutant[] = [
  {
    name: "a yes counts as long as no clock contradicts it",
    edits: [{ file: "protocol/round-clocks.ts", at: "#verdictOn 11.2 value", instead: '"counts"' }],
  },
  {
    name: "a vote comes without its reading",
    edits: [{ file: "redis/redis-node.ts", at: "11.4 judgesVotes condition", instead: "clock" }],
  },
];
