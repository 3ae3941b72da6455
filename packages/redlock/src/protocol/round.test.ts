import { createClock } from "@sinonjs/fake-timers";
import { describe, expect, test } from "vitest";
import { LeaseClock } from "../time/lease-clock.ts";
import { maxTimerDelay, type Runtime } from "../time/runtime.ts";
import type { LockNode, Sink } from "./node.ts";
import { questionOf } from "./question.ts";
import { Round, type RoundPlan, type Voter } from "./round.ts";

// PROTOCOL 2.2, 12.9: what no public call shows, of nodes that users write, of timers, and of a blocked event loop.

const granted = { is: "yes", remaining: 1000 } as const;
const question = questionOf({ verb: "vote", keys: ["r"], words: ["t"], ttl: 1000 });

/** A node that answers by `ask`. Default: never. */
function nodeOf(ask: LockNode["ask"] = () => {}, drainedAt?: () => number): Voter {
  const node = { name: "master", client: {}, ask };
  return drainedAt ? Object.defineProperty(node, "drainedAt", { get: drainedAt }) : node;
}

const grant: LockNode["ask"] = (_, place, sink) => sink.answered(place, granted);
const throwing: LockNode["ask"] = () => {
  throw new Error("oops");
};

/** `told`: the answers of the round, with their times. */
function roundOf(nodes: readonly Voter[], plan: Partial<RoundPlan> = {}, asked = question) {
  const clock = createClock(0);
  let unreferenced = 0;
  const unref = (): void => {
    unreferenced += 1;
  };
  const runtime: Pick<Runtime, "monotonic" | "wall" | "setTimer"> = {
    monotonic: () => clock.now,
    wall: () => clock.now,
    setTimer: (callback, delay) => {
      const timer = clock.setTimeout(callback, delay);
      return { cancel: () => clock.clearTimeout(timer), unref };
    },
  };
  const told: string[] = [];
  const asking = { nodes, runtime: runtime as Runtime, clock: new LeaseClock(runtime as Runtime) };
  const onAnswer: RoundPlan["onAnswer"] = (index, answer) =>
    told.push(`${index} ${answer.is} at ${clock.now}`);
  const round = new Round(asking, asked, { timeout: 50, onAnswer, ...plan });
  return { clock, told, round, unreferenced: () => unreferenced };
}

describe("a node", () => {
  test("that answers synchronously is heard once all have been asked, and leaves no timer behind", async () => {
    const asked: number[] = [];
    const nodes = [0, 1].map((index) => {
      return nodeOf((...all) => {
        asked.push(index);
        grant(...all);
      });
    });
    const heard: number[] = [];
    const { round, clock } = roundOf(nodes, { onAnswer: () => heard.push(asked.length) });
    await round.ask().closed.done;
    expect([heard, clock.countTimers(), round.isOpen]).toEqual([[2, 2], 0, false]);
  });

  test("that throws is a fault, unless it has answered before, and the others are asked", async () => {
    const both: LockNode["ask"] = (...all) => {
      grant(...all);
      return throwing(...all);
    };
    const { round } = roundOf([nodeOf(throwing), nodeOf(both), nodeOf(grant)]);
    await round.ask().closed.done;
    expect(round.answers[0]).toMatchObject({ sent: true, error: { reason: "UNEXPECTED_REPLY" } });
    expect(round.answers.slice(1)).toEqual([granted, granted]);
  });

  test.each([2, -1, 0.5, undefined])(
    "that answers for the place %s, of no master, counts as silent, and its error says why",
    async (place) => {
      const stray = nodeOf((_, __, sink: Sink) => sink.answered(place as number, granted));
      const { round, clock } = roundOf([stray, nodeOf(grant)]);
      round.ask();
      await clock.tickAsync(50);
      const error = { reason: "TIMEOUT", message: expect.stringContaining("without the index") };
      expect(round.answers).toMatchObject([{ error }, granted]);
    },
  );
});

test("the time of a round is read before the first send, however long sending takes", () => {
  const { round, clock } = roundOf([nodeOf(() => clock.tick(20)), nodeOf(() => clock.tick(20))]);
  round.ask();
  expect([clock.now, round.sentAt]).toEqual([40, 0]);
});

test("the time that a master has had is told in whole milliseconds", async () => {
  const { round, clock } = roundOf([nodeOf()], { timeout: 49.8884939999998 });
  round.ask();
  await clock.tickAsync(50);
  expect(round.answers).toMatchObject([
    { error: { message: "master: TIMEOUT: no answer within 50 ms [NODE]" } },
  ]);
});

test("the timer keeps the process alive until the round is decided, and no longer", async () => {
  const { round, clock, unreferenced } = roundOf([nodeOf(grant), nodeOf()], { isDecided: () => true });
  round.ask();
  expect(unreferenced()).toBe(0);
  await round.decided;
  expect([unreferenced(), clock.countTimers()]).toEqual([1, 1]);
  await clock.tickAsync(50);
  expect(clock.countTimers()).toBe(0);
});

test("a timeout beyond the longest timer is limited to it, and no master needs none", async () => {
  const { round, clock, told } = roundOf([nodeOf()], { timeout: 2 ** 40 });
  round.ask();
  await clock.tickAsync(maxTimerDelay);
  expect(told).toEqual([`0 fault at ${maxTimerDelay}`]);
  const empty = roundOf([]);
  await empty.round.ask().closed.done;
  expect(empty.clock.countTimers()).toBe(0);
});

describe("a master that works off other requests", () => {
  test.each([
    ["gets more time, and the timeout once it has stopped", "extend", 100, 1000, 150, 150, "TIMEOUT"],
    ["is given up after maxTimeout", "extend", 9999, 200, 200, 200, "ABANDONED"],
    ["is given up after the timeout if there is no more time", "extend", 9999, 0, 50, 50, "ABANDONED"],
    ["deletes later than the caller waits (1.10)", "release", 9999, 200, 200, 50, "ABANDONED"],
  ] as const)("%s", async (_, verb, until, maxTimeout, end, goesOn, reason) => {
    const busy = nodeOf(undefined, () => Math.min(until, Math.floor(clock.now / 20) * 20));
    // Two Redlocks may call one client by two names.
    const named = { ...nodeOf(), client: busy.client, name: "other" };
    const { round, clock, told } = roundOf([busy, named], { maxTimeout }, { ...question, verb });
    void round.ask().decided.then(() => told.push(`goes on at ${clock.now}`));
    await clock.tickAsync(500);
    expect(told.toSorted()).toEqual([`0 fault at ${end}`, "1 fault at 50", `goes on at ${goesOn}`]);
    expect(round.answers).toMatchObject([
      { sent: true, error: { reason, node: "master" } },
      { error: { reason: "TIMEOUT", node: "other" } },
    ]);
  });
});

/** A silent master's round, whose loop is blocked for these times, one after the other, ms. */
async function blocked(...durations: readonly number[]): Promise<readonly string[]> {
  const { round, clock, told } = roundOf([nodeOf()]);
  round.ask();
  for (const duration of durations) {
    clock.setSystemTime(clock.now + duration);
    await clock.tickAsync(60);
  }
  return told;
}

describe("after a blocked event loop", () => {
  test("masters get the timeout once more, and only once", async () => {
    expect(await blocked(200)).toEqual([]);
    expect(await blocked(200, 0)).toHaveLength(1);
    expect(await blocked(200, 200)).toHaveLength(1);
  });

  test("that was blocked for a little while only, they do not", async () => {
    expect(await blocked(4)).toHaveLength(1);
  });
});
