import type { MutantRows } from "./mutant.ts";

/**
 * Faults in the watch of the masters' clocks: PROTOCOL 11. Each must be found in runs in which the clocks are watched.
 */
export const watchMutants: MutantRows = {
  "a suspension of the client counts as a step of every master": {
    breaks: ["11.1"],
    from: 14,
    edits: { "safeguards/clock-watch.ts agreedDifference body": "{ return byMonotonic; }" },
  },
  "a step of the client's clock counts as a step of every master": {
    breaks: ["11.1"],
    from: 13,
    edits: { "safeguards/clock-watch.ts agreedDifference body": "{ return byWall; }" },
  },
  "a clock reading is as precise across a suspension of the client as without one": {
    breaks: ["11.1"],
    from: 14,
    edits: { "protocol/reading.ts readingOf uncertainty value": "half + wallResolution" },
  },
  "the masters' clocks stand still during a suspension of the client": {
    breaks: ["11.1"],
    from: 28,
    edits: {
      "safeguards/clock-watch.ts stepBetween elapsed": "after.heard.monotonic - before.sent.monotonic",
    },
  },
  "a clock step is never reported": {
    breaks: ["1.3", "11.1"],
    from: 8,
    edits: { "safeguards/clock-watch.ts #hear #steppedAt condition": "false" },
  },
  "a reading that shows no later time than the one before is none": {
    breaks: ["11.1"],
    from: 17,
    edits: {
      "safeguards/clock-watch.ts #hear latest value":
        "before && before.ofWall + before.heard.wall / 2 + before.sent.wall / 2 === reading.ofWall + reading.heard.wall / 2 + reading.sent.wall / 2 ? before : reading",
    },
  },
  "the votes of an excluded master count": {
    breaks: ["11.3"],
    from: 66,
    edits: { "protocol/round-clocks.ts #verdictOn hasSteppedLately": "false" },
  },
  "the grants of an excluded master count": {
    breaks: ["11.4"],
    from: 28,
    edits: { "redis/redis-node.ts #onPush condition": "judge" },
  },
};

/** To be found where the clocks of a minority are set before a client connects, and clients exclude those. */
export const contradictedMutant: MutantRows = {
  "a yes counts as long as no clock contradicts it": {
    breaks: ["11.2"],
    edits: { "protocol/round-clocks.ts #verdictOn 11.2 value": '"counts"' },
  },
};

/** To be found where the clocks of a minority are set, and all clients exclude those. */
export const unreadVoteMutant: MutantRows = {
  "a vote comes without its reading": {
    breaks: ["11.4"],
    from: 5,
    edits: { "redis/redis-node.ts settled 11.4 value": "undefined" },
  },
};
