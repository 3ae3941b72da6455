import type { Mutant } from "./mutant.ts";

const agreement =
  "if (Math.sign(byMonotonic) !== Math.sign(byWall)) return 0;\n" +
  "  return Math.abs(byMonotonic) < Math.abs(byWall) ? byMonotonic : byWall;";

/**
 * Faults in the watch of the masters' clocks: PROTOCOL 11. Each must be found in runs in which the clocks are watched.
 */
export const watchMutants: readonly Mutant[] = [
  {
    name: "a suspension of the client counts as a step of every master",
    edits: [{ file: "safeguards/clock-watch.ts", line: agreement, instead: "return byMonotonic;" }],
  },
  {
    name: "a step of the client's clock counts as a step of every master",
    edits: [{ file: "safeguards/clock-watch.ts", line: agreement, instead: "return byWall;" }],
  },
  {
    name: "a clock reading is as precise across a suspension of the client as without one",
    edits: [
      {
        file: "safeguards/clock-watch.ts",
        line: "uncertainty: elapsed(sent, heard) / 2 + wallResolution",
        instead: "uncertainty: half + wallResolution",
      },
    ],
  },
  {
    name: "the masters' clocks stand still during a suspension of the client",
    edits: [
      {
        file: "safeguards/clock-watch.ts",
        line: "* elapsed(before.sent, after.heard);",
        instead: "* (after.heard.monotonic - before.sent.monotonic);",
      },
    ],
  },
  {
    name: "a clock step is never reported",
    edits: [{ file: "safeguards/clock-watch.ts", line: "if (step !== 0) {", instead: "if (false) {" }],
  },
  {
    name: "the votes of an excluded master count",
    edits: [
      {
        file: "protocol/round-clocks.ts",
        line: "if (clock.hasSteppedLately) return",
        instead: "if (false) return",
      },
    ],
  },
  {
    name: "the grants of an excluded master count",
    edits: [
      {
        file: "redis/redis-node.ts",
        line: 'if (!clock?.judgesVotes || push.kind === "wake") onPush(push);',
        instead: "if (clock) onPush(push);",
      },
    ],
  },
];

/**
 * Each is to be found where the clocks of a minority are set, and all clients exclude those: the first where a client
 * asks for its first lock only then.
 */
export const outlierMutants: readonly Mutant[] = [
  {
    name: "a yes counts as long as no clock contradicts it",
    edits: [
      {
        file: "protocol/round-clocks.ts",
        line: 'if (agreeing + this.#missing >= quorum) return "open";',
        instead: 'if (agreeing + this.#missing >= quorum) return "counts";',
      },
    ],
  },
  {
    name: "a vote comes without its reading",
    edits: [
      {
        file: "redis/redis-node.ts",
        line: "if (!clock.judgesVotes) {",
        instead: "if (clock) {",
      },
    ],
  },
];
