import { describe, expect, test } from "vitest";
import { LeaseClock } from "../time/lease-clock.ts";
import { settle, type VirtualSetting, virtualSetting } from "../virtual-time.test.ts";
import type { Claim, Fault, LockNode } from "./node.ts";
import { questionOf } from "./question.ts";
import { Round } from "./round.ts";

// PROTOCOL 2.2, 12.9.

const claim: Claim = { abandoned: false };
const question = questionOf({ verb: "vote", keys: ["r"], words: ["t"], ttl: 1000, claim });

/** A vote round that is decided at `enough` answers; `told` records its answers and their times. */
function roundOf(setting: VirtualSetting, { timeout = 50, enough = 99, maxTimeout = 0 } = {}) {
  const { machine, nodes, time } = setting;
  const told: string[] = [];
  const round = new Round({
    nodes,
    runtime: machine,
    clock: new LeaseClock(machine),
    timeout,
    maxTimeout,
    question,
    onAnswer: (index, answer) => {
      told.push(`${index} ${answer.is} at ${time.now()}`);
    },
    isDecided: () => told.length >= enough,
  });
  return { round: round.ask(), told };
}

describe("a round", () => {
  test("asks all masters at the same moment", () => {
    const setting = virtualSetting(5);
    setting.nodes[0]!.hang();
    roundOf(setting);
    for (const node of setting.nodes) expect(node.sent).toMatchObject([{ kind: "vote", at: 0 }]);
  });

  test("reads its clock before the first send, however long sending takes", () => {
    const setting = virtualSetting(3);
    for (const node of setting.nodes) node.onSend = () => setting.machine.block(20);
    const { round } = roundOf(setting);
    expect(setting.machine.monotonic()).toBe(60);
    expect(round.sentAt).toBe(0);
  });

  test("is decided as soon as the answers decide, and closed when all have answered", async () => {
    const setting = virtualSetting(3);
    setting.nodes[2]!.fromMaster = 30;
    const { round, told } = roundOf(setting, { enough: 2 });
    expect(await setting.time.measure(round.decided)).toMatchObject({ took: 2 });
    expect(await setting.time.measure(round.closed)).toMatchObject({ took: 29 });
    expect(told).toEqual(["0 yes at 2", "1 yes at 2", "2 yes at 31"]);
    expect(setting.machine.timers.size).toBe(0);
  });

  test("gives up unresponsive masters after the timeout, all at once", async () => {
    const setting = virtualSetting(3);
    setting.nodes[1]!.hang();
    setting.nodes[2]!.hang();
    const { round, told } = roundOf(setting);
    expect(await setting.time.measure(round.decided)).toMatchObject({ took: 50 });
    expect(told).toEqual(["0 yes at 2", "1 fault at 50", "2 fault at 50"]);
    expect(round.answers[1]).toMatchObject({
      is: "fault",
      sent: true,
      error: { reason: "TIMEOUT", node: "master-1" },
    });
    expect(round.answers[1]).toMatchObject({ error: { message: expect.stringContaining("within 50 ms") } });
  });

  test("passes on an answer that comes after the timeout, but does not count it as a vote", async () => {
    const setting = virtualSetting(1);
    setting.nodes[0]!.toMaster = 100;
    const { round, told } = roundOf(setting);
    await setting.time.run(round.closed);
    await setting.time.advance(100);
    expect(told).toEqual(["0 fault at 50", "0 yes at 101"]);
    expect(round.answers[0]).toMatchObject({ is: "fault", error: { reason: "TIMEOUT" } });
    await round.closed;
  });

  test("keeps the process alive until it is decided, and no longer", async () => {
    const setting = virtualSetting(3);
    setting.nodes[2]!.hang();
    const { round } = roundOf(setting, { enough: 2 });
    expect(setting.machine.referencedTimers).toBe(1);
    await setting.time.run(round.decided);
    expect([setting.machine.referencedTimers, setting.machine.timers.size]).toEqual([0, 1]);
    await setting.time.run(round.closed);
    expect(setting.machine.timers.size).toBe(0);
  });

  test("without masters is closed, and leaves no timer behind", async () => {
    const { machine } = virtualSetting(1);
    const round = new Round({
      nodes: [],
      runtime: machine,
      clock: new LeaseClock(machine),
      timeout: 50,
      question,
    }).ask();
    await round.closed;
    expect(machine.timers.size).toBe(0);
  });
});

describe("a node that answers synchronously", () => {
  const granted = { is: "yes", remaining: 1000 } as const;
  const grant: LockNode["ask"] = (_, place, sink) => sink.answered(place, granted);

  test("is processed after all have been asked", async () => {
    const setting = virtualSetting(3);
    setting.nodes[1]!.ask = grant;
    const asked: number[] = [];
    const { machine, nodes, time } = setting;
    const round = new Round({
      nodes,
      runtime: machine,
      clock: new LeaseClock(machine),
      timeout: 50,
      question,
      onAnswer: (index, _, { sentAt }) => {
        asked.push(index, nodes[0]!.sent.length + nodes[2]!.sent.length, sentAt);
      },
    });
    await time.run(round.ask().closed);
    expect(asked).toEqual([1, 2, 0, 0, 2, 0, 2, 2, 0]);
    expect(round.answers[1]).toEqual(granted);
  });

  test("leaves no timer behind if all do", async () => {
    const setting = virtualSetting(3);
    for (const node of setting.nodes) node.ask = grant;
    const { round, told } = roundOf(setting, { enough: 2 });
    expect(await setting.time.measure(round.decided)).toMatchObject({ took: 0 });
    await round.closed;
    expect(told).toEqual(["0 yes at 0", "1 yes at 0", "2 yes at 0"]);
    expect([round.isOpen, setting.machine.timers.size]).toEqual([false, 0]);
  });

  test("has given its answer even if it throws afterwards", async () => {
    const setting = virtualSetting(2);
    setting.nodes[0]!.ask = (...asked) => {
      grant(...asked);
      throw new Error("oops");
    };
    const { round, told } = roundOf(setting);
    await setting.time.run(round.closed);
    expect(told).toEqual(["0 yes at 0", "0 fault at 0", "1 yes at 2"]);
    expect(round.answers[0]).toEqual(granted);
  });
});

describe("a node that throws", () => {
  test("counts as a fault, and the others are asked nevertheless", async () => {
    const setting = virtualSetting(2);
    setting.nodes[0]!.ask = () => {
      throw new Error("oops");
    };
    const { round, told } = roundOf(setting);
    await setting.time.run(round.closed);
    expect(told).toEqual(["0 fault at 0", "1 yes at 2"]);
    expect(round.answers[0]).toMatchObject({
      sent: true,
      error: { reason: "UNEXPECTED_REPLY", node: "master-0" },
    });
  });
});

test.each([2, -1, 0.5, undefined])(
  "a node that answers with the index %s, of no master, gives no vote: it counts as silent, and its error says why",
  async (index) => {
    const setting = virtualSetting(2);
    setting.nodes[0]!.ask = (_, __, sink) => sink.answered(index as number, { is: "yes", remaining: 1000 });
    const { round, told } = roundOf(setting);
    await setting.time.run(round.closed);
    expect(told).toEqual(["1 yes at 2", "0 fault at 50"]);
    expect(round.answers).toHaveLength(2);
    const { error } = round.answers[0] as Fault;
    expect([error.reason, error.message]).toEqual(["TIMEOUT", expect.stringContaining("without the index")]);
  },
);

test("a timeout beyond the longest timer is limited to it", async () => {
  const setting = virtualSetting(1);
  setting.nodes[0]!.hang();
  const { round } = roundOf(setting, { timeout: 2 ** 40 });
  expect(await setting.time.measure(round.closed, 2 ** 40)).toMatchObject({ took: 2 ** 31 - 1 });
});

/** Two masters that do not answer yet; the first one answers other requests every 20 ms until `until`. */
function draining(until: number, options: { maxTimeout?: number; enough?: number }) {
  const setting = virtualSetting(2);
  for (const node of setting.nodes) node.hang();
  const [busy] = setting.nodes;
  Object.defineProperty(busy, "drainedAt", {
    get: () => Math.min(until, Math.floor(setting.machine.monotonic() / 20) * 20),
  });
  return { setting, busy: busy!, ...roundOf(setting, options) };
}

describe("a master that works off other requests of this client", () => {
  test("gets more time, an unresponsive one beside it does not", async () => {
    const { setting, busy, round, told } = draining(300, { maxTimeout: 1000 });
    await setting.time.advance(320);
    busy.resume();
    await setting.time.run(round.closed);
    expect(told).toEqual(["1 fault at 50", "0 yes at 321"]);
    expect(setting.machine.timers.size).toBe(0);
  });

  test("is given up once it has not answered for the timeout", async () => {
    const { setting, round, told } = draining(100, { maxTimeout: 1000 });
    await setting.time.run(round.closed);
    expect(told).toEqual(["1 fault at 50", "0 fault at 150"]);
  });

  test("is given up after maxTimeout", async () => {
    const { setting, round } = draining(9999, { maxTimeout: 200 });
    expect(await setting.time.measure(round.closed)).toMatchObject({ took: 200 });
  });

  test("is given up after the timeout if the round has no more time, but not as unresponsive", async () => {
    const { setting, round } = draining(9999, {});
    expect(await setting.time.measure(round.closed)).toMatchObject({ took: 50 });
    expect(round.answers[0]).toMatchObject({ sent: true, error: { reason: "ABANDONED" } });
    expect(round.answers[1]).toMatchObject({ sent: true, error: { reason: "TIMEOUT" } });
  });

  test("keeps no process alive once the round is decided", async () => {
    const { setting } = draining(9999, { maxTimeout: 1000, enough: 1 });
    await setting.time.advance(60);
    expect([setting.machine.timers.size, setting.machine.referencedTimers]).toEqual([1, 0]);
  });
});

describe("after a blocked event loop", () => {
  test("answers that came in time are read before any master is given up", async () => {
    const setting = virtualSetting(2);
    const { round, told } = roundOf(setting);
    setting.machine.block(200);
    await setting.time.run(round.closed);
    expect(told).toEqual(["0 yes at 200", "1 yes at 200"]);
  });

  test("an unresponsive master gets the timeout once more", async () => {
    const setting = virtualSetting(2);
    setting.nodes[1]!.hang();
    const { round, told } = roundOf(setting);
    setting.machine.block(200);
    await setting.time.run(round.closed);
    expect(told).toEqual(["0 yes at 200", "1 fault at 250"]);
    await settle();
  });

  test("an unresponsive master gets the timeout only once more, even if the event loop stays busy", async () => {
    const setting = virtualSetting(1);
    setting.nodes[0]!.hang();
    const { told } = roundOf(setting);
    setting.machine.block(200);
    await setting.time.advance(220);
    setting.machine.block(100);
    await setting.time.advance(200);
    expect(told).toEqual(["0 fault at 250"]);
  });

  test("a timer that is only a little late gives up at once", async () => {
    const setting = virtualSetting(1);
    setting.nodes[0]!.hang();
    const { round } = roundOf(setting);
    setting.machine.block(54);
    expect(await setting.time.measure(round.closed)).toMatchObject({ took: 50 });
  });
});
