import { setImmediate as turn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { LeaseClock } from "../time/lease-clock.ts";
import { settle, virtualSetting } from "../virtual-time.test.ts";
import type { Leftover } from "./context.ts";
import { Rollbacks } from "./release.ts";

// PROTOCOL 2.6.

const leftover: Leftover = { resources: ["r"], token: "t", ttl: 1000 };

function bed(count = 1, most?: number) {
  const { time, machine, nodes, masters } = virtualSetting(count);
  const reported: unknown[] = [];
  const rollbacks = new Rollbacks(machine, new LeaseClock(machine), (error) => reported.push(error), most);
  const remove = (what = leftover) => rollbacks.removal(what, nodes, 50).ask();
  for (const master of masters) master.put("r", "t");
  return { time, machine, nodes, node: nodes[0]!, master: masters[0]!, rollbacks, reported, remove };
}

describe("a rollback", () => {
  test("is sent at once to each master, and nothing is pending when it is answered", async () => {
    const { time, nodes, master, rollbacks, remove } = bed(3);
    const { closed } = remove();
    for (const node of nodes)
      expect(node.sent).toMatchObject([{ kind: "release", token: "t", resources: ["r"] }]);
    await time.run(closed);
    expect(master.owner("r")).toBeUndefined();
    expect(rollbacks.pendingCount).toBe(0);
  });

  test("that cannot be sent becomes a pending delete, and is reported", async () => {
    const { time, node, rollbacks, reported, remove } = bed();
    node.cut();
    await time.run(remove().closed);
    expect(rollbacks.pendingCount).toBe(1);
    expect(reported).toMatchObject([{ node: "master-0", reason: "UNREACHABLE" }]);
  });

  test("is sent as soon as the master is back", async () => {
    const { time, node, master, rollbacks, remove } = bed();
    node.cut();
    await time.run(remove().closed);
    node.restore();
    expect(node.kinds).toEqual(["release"]);
    await time.advance(2);
    expect([rollbacks.pendingCount, master.owner("r")]).toEqual([0, undefined]);
  });

  test("is retried every second without a ready event of the master", async () => {
    const { time, node, master, rollbacks, remove } = bed();
    node.answering = () => (time.now() < 2500 ? node.fault(true) : undefined);
    await time.run(remove({ ...leftover, ttl: 60_000 }).closed);
    await time.advance(5000);
    expect(node.sent.map(({ at }) => Math.round(at / 1000))).toEqual([0, 1, 2, 3]);
    expect([rollbacks.pendingCount, master.owner("r")]).toEqual([0, undefined]);
  });

  test("has one timer, even if it fails repeatedly before it is sent", async () => {
    const { time, machine, node, rollbacks, remove } = bed();
    // A request to an unreachable master is answered synchronously.
    node.cut();
    await time.run(remove({ ...leftover, ttl: 60_000 }).closed);
    await time.advance(8500);
    expect([machine.timers.size, rollbacks.pendingCount]).toEqual([1, 1]);
    rollbacks.stop();
    expect(machine.timers.size).toBe(0);
  });

  test("does not keep the process alive", async () => {
    const { time, machine, node, remove } = bed();
    node.cut();
    await time.run(remove().closed);
    expect([machine.timers.size, machine.referencedTimers]).toEqual([1, 0]);
  });

  test("is dropped when the key must have expired, with its listener and timer", async () => {
    const { time, machine, node, rollbacks, remove } = bed();
    node.cut();
    await time.run(remove().closed);
    await time.advance(999);
    expect(rollbacks.pendingCount).toBe(1);
    await time.advance(1100);
    expect([rollbacks.pendingCount, node.listeners]).toEqual([0, 0]);
    node.restore();
    expect(node.sent).toEqual([]);
    await time.advance(5000);
    expect(machine.timers.size).toBe(0);
  });

  test("is not pending for a master that is only slow: its answer is still to come", async () => {
    const { time, node, rollbacks, reported, remove } = bed();
    node.hang();
    await time.run(remove().closed);
    expect(rollbacks.pendingCount).toBe(0);
    expect(reported).toMatchObject([{ reason: "TIMEOUT" }]);
    node.resume();
    await time.advance(5);
    expect(node.kinds).toEqual(["release"]);
  });

  test("becomes pending when the connection of a slow master breaks before it answers", async () => {
    const { time, node, master, rollbacks, remove } = bed();
    node.hang();
    await time.run(remove().closed);
    node.cut();
    await time.advance(1);
    expect(rollbacks.pendingCount).toBe(1);
    node.resume();
    master.put("r", "t");
    node.restore();
    await time.advance(5);
    expect([rollbacks.pendingCount, master.owner("r")]).toEqual([0, undefined]);
  });

  test("is pending only for the masters that did not confirm it", async () => {
    const { time, nodes, rollbacks, remove } = bed(3);
    nodes[1]!.cut();
    await time.run(remove().closed);
    expect(rollbacks.pendingCount).toBe(1);
    for (const node of nodes) node.restore();
    expect(nodes.map(({ sent }) => sent.length)).toEqual([1, 1, 1]);
  });
});

describe("masters without pending deletes", () => {
  test("have no listener", async () => {
    const { time, node, remove } = bed();
    await time.run(remove().closed);
    expect(node.listeners).toBe(0);
  });
});

describe("`answered`", () => {
  test("resolves when each master has answered or timed out", async () => {
    const { time, nodes, rollbacks, remove } = bed(2);
    expect(await time.measure(rollbacks.answered)).toMatchObject({ took: 0 });
    nodes[1]!.hang();
    void remove();
    expect(await time.measure(rollbacks.answered)).toMatchObject({ took: 50 });
    expect(await time.measure(rollbacks.answered)).toMatchObject({ took: 0 });
  });
});

test("a rollback that is over is not kept", async () => {
  setFlagsFromString("--expose-gc");
  const { time, rollbacks, remove } = bed(3);
  const rounds = Array.from({ length: 5 }, () => new WeakRef(remove()));
  await time.run(rollbacks.answered);
  // (A weak reference keeps what it was made of until the turn is over.)
  await turn();
  (runInNewContext("gc") as () => void)();
  expect(rounds.filter((round) => round.deref()).length).toBe(0);
  expect(rollbacks.pendingCount).toBe(0);
});

describe("many pending deletes", () => {
  test("wait if the first one finds the master unreachable again", async () => {
    const { time, node, rollbacks, remove } = bed();
    node.cut();
    for (const token of ["a", "b", "c"]) void remove({ ...leftover, token });
    await time.advance(1);
    node.answering = () => node.fault(true);
    node.restore();
    await time.advance(5);
    expect(node.sent).toHaveLength(1);
    expect(rollbacks.pendingCount).toBe(3);
    node.answering = () => undefined;
    node.restore();
    await time.advance(5);
    expect(rollbacks.pendingCount).toBe(0);
    expect(new Set(node.sent.map(({ token }) => token))).toEqual(new Set(["a", "b", "c"]));
  });

  test("are all sent, the oldest first", async () => {
    const { time, node, rollbacks, remove } = bed();
    node.cut();
    const tokens = ["a", "b", "c"];
    for (const token of tokens) void remove({ ...leftover, token });
    await time.advance(1);
    expect(rollbacks.pendingCount).toBe(3);
    node.restore();
    // The first one is sent alone to see whether the master is back.
    expect(node.sent.map(({ token }) => token)).toEqual(["a"]);
    await time.advance(5);
    expect(node.sent.map(({ token }) => token)).toEqual(tokens);
    expect(rollbacks.pendingCount).toBe(0);
  });

  test("are bounded: beyond the limit the oldest are left to expire", async () => {
    const { time, node, rollbacks, remove } = bed(1, 100);
    node.cut();
    for (let index = 0; index <= 100; index += 1) {
      void remove({ ...leftover, token: String(index), ttl: 1e9 });
    }
    await settle();
    expect(rollbacks.pendingCount).toBe(50);
    node.restore();
    await time.advance(2);
    expect([node.sent[0]!.token, node.sent.at(-1)!.token]).toEqual(["51", "100"]);
  });

  test("are first dropped where the keys have expired", async () => {
    const { time, node, rollbacks, remove } = bed(1, 100);
    node.cut();
    for (let index = 0; index < 60; index += 1) void remove({ ...leftover, token: "old", ttl: 10 });
    await time.advance(11);
    for (let index = 0; index < 60; index += 1) void remove({ ...leftover, token: "new", ttl: 1e9 });
    await settle();
    expect(rollbacks.pendingCount).toBe(60);
  });
});

describe("once stopped", () => {
  test("nothing is pending or retried", async () => {
    const { time, machine, node, rollbacks, remove } = bed();
    node.cut();
    await time.run(remove().closed);
    rollbacks.stop();
    expect([rollbacks.pendingCount, machine.timers.size, node.listeners]).toEqual([0, 0, 0]);
    await time.run(remove().closed);
    expect([rollbacks.pendingCount, machine.timers.size]).toEqual([0, 0]);
    node.restore();
    await time.advance(5000);
    expect(node.sent).toEqual([]);
  });
});
