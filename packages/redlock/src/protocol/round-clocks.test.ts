import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MasterClock } from "../redis/master-clock.ts";
import { type ClockWatch, WatchedClock } from "../safeguards/clock-watch.ts";
import type { ClockWatchOptions } from "../settings/settings.ts";
import { fault } from "./faults.ts";
import type { Answer, Fault, No, Yes } from "./node.ts";
import { quorumOf } from "./quorum.ts";
import { RoundClocks } from "./round-clocks.ts";

// PROTOCOL 11.2, 11.3.

const maxOffset = 1000;
const yes: Yes = { is: "yes", remaining: 5000 };
const no: No = { is: "no", resource: "r", owner: "another-client", remaining: 1 };

/** One round over masters whose clocks are ahead by `offsets`; they answer in the order of the calls of `hear`. */
function roundOver(ahead: readonly number[], options: ClockWatchOptions = {}) {
  const runtime = { monotonic: () => 0, wall: () => 0 };
  const excluding = { maxOffset, exclude: true, ...options };
  const watch: ClockWatch = { options: excluding, driftFactor: 0.01, runtime, emit: () => {}, clocks: [] };
  const distrusted = new Set<number>();
  const read = ahead.map(() => new MasterClock(runtime));
  const judgeOf = (clock: MasterClock, index: number) =>
    new WatchedClock(watch, `m${index}`, clock, () => distrusted.add(index));
  const clocks = read.map(judgeOf);
  const answers: (Answer | undefined)[] = ahead.map(() => undefined);
  const round = new RoundClocks(answers, quorumOf(ahead.length));
  const hear = (index: number, vote: Yes | No = yes, clock = clocks[index]!): void => {
    const reading = read[index]!.observe(read[index]!.now(), ahead[index]!);
    round.judge(index, { is: "timed", vote, clock, reading }, (why) => {
      answers[index] = why === undefined ? vote : fault(`m${index}`, "CLOCK", why, true);
      round.review();
    });
  };
  const votes = () => answers.map((answer) => (answer ? answer.is : undefined));
  return { round, answers, clocks, read, hear, votes, distrusted };
}

describe("a yes counts", () => {
  test("as soon as a majority of all clocks agree with its own: no later than a lock is decided", () => {
    const { hear, votes } = roundOver([0, 10, -10]);
    hear(1);
    expect(votes()).toEqual([undefined, undefined, undefined]);
    hear(0);
    expect(votes()).toEqual(["yes", "yes", undefined]);
    hear(2);
    expect(votes()).toEqual(["yes", "yes", "yes"]);
  });

  test("for neither of two masters whose clocks disagree, and neither is distrusted", () => {
    const { hear, votes, distrusted } = roundOver([0, 40_000]);
    hear(0);
    hear(1);
    expect(votes()).toEqual(["fault", "fault"]);
    expect(distrusted.size).toBe(0);
  });

  test("not from a skewed master, even if it answers first", () => {
    const { hear, votes, distrusted, answers } = roundOver([0, 0, 40_000]);
    hear(2);
    hear(0);
    expect(votes()).toEqual([undefined, undefined, undefined]);
    hear(1);
    expect(votes()).toEqual(["yes", "yes", "fault"]);
    expect([...distrusted]).toEqual([2]);
    expect((answers[2] as Fault).error.message).toContain("only 1 of 2 clocks agree to within 1000 ms");
  });

  test("not if the deciding master does not answer", () => {
    const { round, hear, votes, answers } = roundOver([0, 0, 40_000]);
    hear(2);
    hear(0);
    answers[1] = fault("m1", "CLOCK", round.giveUp(1) ?? "", true);
    round.review();
    expect(votes()).toEqual(["fault", "fault", "fault"]);
  });

  test("not before the end of the round if a clock is missing", () => {
    const { round, hear } = roundOver([0, 0, 0]);
    hear(0);
    expect(round.giveUp(0)).toContain("too few other clocks");
    expect(round.giveUp(1)).toBeUndefined();
  });

  test("also by the clock of a master that refuses", () => {
    const { hear, votes } = roundOver([0, 0, 40_000]);
    hear(2);
    hear(0, no);
    expect(votes()).toEqual(["no", undefined, undefined]);
    hear(1);
    expect(votes()).toEqual(["no", "yes", "fault"]);
  });
});

test("for all clocks and orders: only masters near the median count, and all of an agreeing quorum do", () => {
  const offset = fc.constantFrom(-40_000, -900, -400, 0, 400, 900, 40_000);
  const aheads = fc.array(offset, { minLength: 1, maxLength: 7 });
  const property = fc.property(aheads, fc.infiniteStream(fc.nat()), (ahead, numbers) => {
    const { hear, votes } = roundOver(ahead);
    const order = ahead.map((_, index) => ({ index, at: numbers.next().value! })).sort((a, b) => a.at - b.at);
    for (const { index } of order) hear(index);
    const sorted = ahead.toSorted((a, b) => a - b);
    const median = sorted[Math.floor(ahead.length / 2)]!;
    for (const [index, vote] of votes().entries()) {
      expect(vote).toBeDefined();
      const agreeing = ahead.filter((other) => Math.abs(other - ahead[index]!) < maxOffset).length;
      expect(vote).toBe(agreeing >= quorumOf(ahead.length) ? "yes" : "fault");
      if (vote === "yes" && ahead.length % 2 === 1) {
        expect(Math.abs(ahead[index]! - median)).toBeLessThan(maxOffset);
      }
    }
  });
  fc.assert(property);
});
