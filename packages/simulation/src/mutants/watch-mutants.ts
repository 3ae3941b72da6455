import type { Mutant } from "./mutant.ts";

const agreement =
  "if (Math.sign(byMonotonic) !== Math.sign(byWall)) return 0;\n" +
  "  return Math.abs(byMonotonic) < Math.abs(byWall) ? byMonotonic : byWall;";

/**
 * Faults in the watch of the masters' clocks: PROTOCOL 11. Each must be found in runs in which the clocks are watched.
 */
export const watchMutants: readonly Mutant[] = [
  {
    name: "that this machine has slept is taken for a step of every master",
    edits: [{ file: "safeguards/clock-watch.ts", line: agreement, instead: "return byMonotonic;" }],
  },
  {
    name: "that our own clock was set is taken for a step of every master",
    edits: [{ file: "safeguards/clock-watch.ts", line: agreement, instead: "return byWall;" }],
  },
  {
    name: "a machine that sleeps while an answer is on its way takes it for as sharp as ever",
    edits: [
      {
        file: "safeguards/clock-watch.ts",
        line: "uncertainty: elapsed(sent, heard) / 2 + wallResolution",
        instead: "uncertainty: half + wallResolution",
      },
    ],
  },
  {
    name: "the masters' clocks are thought to stand still while this machine sleeps",
    edits: [
      {
        file: "safeguards/clock-watch.ts",
        line: "* elapsed(before.sent, after.heard);",
        instead: "* (after.heard.monotonic - before.sent.monotonic);",
      },
    ],
  },
  {
    name: "a step is never told",
    edits: [{ file: "safeguards/clock-watch.ts", line: "if (step !== 0) {", instead: "if (false) {" }],
  },
  {
    name: "the votes of a master that is left out count",
    edits: [
      {
        file: "protocol/round-clocks.ts",
        line: "if (clock.hasSteppedLately) return",
        instead: "if (false) return",
      },
    ],
  },
  {
    name: "what a master that is left out hands over counts",
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
    name: "a yes counts where nobody's clock tells against it yet",
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
