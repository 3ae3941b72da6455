import { describe, expect, test } from "vitest";
import type { Lock } from "../holding/lock.ts";
import { type VirtualSetting, virtualSetting } from "../virtual-time.test.ts";

// PROTOCOL 5.1, 5.2, 5.3.

// PROTOCOL 5.

async function held(count = 3, options: object = {}): Promise<VirtualSetting & { lock: Lock }> {
  const setting = virtualSetting(count, { nodeTimeout: 50, ...options });
  const lock = await setting.time.run(setting.redlock.acquire("r", 1000));
  await setting.time.advance(5);
  for (const node of setting.nodes) node.sent.length = 0;
  return { ...setting, lock };
}

describe("a release", () => {
  test("deletes the key on all masters, and resolves at a quorum", async () => {
    const { time, nodes, masters, lock } = await held(5);
    nodes[4]!.fromMaster = 40;
    const begun = time.now();
    const { outcome, attempts } = await time.run(lock.release());
    expect([outcome, time.now() - begun]).toEqual(["released", 2]);
    for (const node of nodes) expect(node.sent).toMatchObject([{ kind: "release", token: lock.value }]);
    for (const master of masters) expect(master.owner("r")).toBeUndefined();
    const stats = await time.run(attempts[0]!);
    expect([stats.votesFor.size, stats.votesAgainst.size]).toEqual([5, 0]);
  });

  test("ends the lease before the first byte is sent", async () => {
    const { nodes, lock } = await held();
    const states: string[] = [];
    for (const node of nodes) node.onSend = () => states.push(`${lock.state} ${lock.remaining()}`);
    void lock.release();
    expect(states).toEqual(["released 0", "released 0", "released 0"]);
  });

  test("happens once, even if it is called repeatedly", async () => {
    const { time, nodes, redlock, lock } = await held();
    const first = lock.release();
    const results = await time.run(Promise.all([first, lock.release(), redlock.release(lock)]));
    expect(new Set(results).size).toBe(1);
    await lock[Symbol.asyncDispose]();
    for (const node of nodes) expect(node.kinds).toEqual(["release"]);
  });

  test("deletes no foreign key", async () => {
    const { time, masters, lock } = await held();
    masters[0]!.put("r", "rival");
    await time.run(lock.release());
    await time.advance(5);
    expect(masters.map((master) => master.owner("r"))).toEqual(["rival", undefined, undefined]);
  });

  test("owes nothing to a master that was never asked for the key", async () => {
    const { time, nodes, redlock, masters, lock, machine } = await held();
    await time.run(lock.release());
    await time.advance(5);
    nodes[2]!.cut();
    const second = await time.run(redlock.acquire("r", 1000));
    await time.run(second.release());
    await time.advance(60);
    expect(machine.timers.size).toBe(0);
    const third = await time.run(redlock.acquire("r", 1000));
    nodes[2]!.restore();
    // The extension sets the key there.
    await time.run(third.extend(1000));
    await time.advance(5);
    expect(masters[2]!.owner("r")).toBe(third.value);
    nodes[2]!.cut();
    await time.run(third.release());
    nodes[2]!.restore();
    await time.advance(5);
    expect(masters[2]!.owner("r")).toBeUndefined();
  });

  test("leaves no timer behind, and does not keep the process alive for unresponsive masters", async () => {
    const { time, nodes, machine, lock } = await held();
    nodes[2]!.hang();
    await time.run(lock.release());
    expect(machine.referencedTimers).toBe(0);
    await time.advance(60);
    expect(machine.timers.size).toBe(0);
  });
});

describe("its outcome", () => {
  test("expired: a majority no longer held the key", async () => {
    const { time, lock } = await held();
    await time.advance(2000);
    expect(await time.measure(lock.release())).toMatchObject({ took: 2, error: undefined });
    expect(await lock.release()).toMatchObject({ outcome: "expired" });
  });

  test("expired: another client holds it by now", async () => {
    const { time, masters, lock } = await held();
    for (const master of masters) master.put("r", "rival");
    expect(await time.run(lock.release())).toMatchObject({ outcome: "expired" });
    for (const master of masters) expect(master.owner("r")).toBe("rival");
  });

  test.each([
    ["yes yes -", "released"],
    ["yes no -", "partial"],
    ["yes no yes", "released"],
    ["yes no no", "expired"],
    ["no no -", "expired"],
    ["no - -", "partial"],
    ["yes - -", "partial"],
    ["- - -", "partial"],
    ["yes no", "expired"],
    ["yes -", "partial"],
    ["yes yes no no", "expired"],
    ["yes yes yes -", "released"],
    ["yes yes no -", "partial"],
  ])("of answers %s is %s", async (answers, outcome) => {
    const said = answers.split(" ");
    const { time, nodes, masters, lock } = await held(said.length);
    for (const [index, answer] of said.entries()) {
      if (answer === "-") nodes[index]!.hang();
      if (answer === "no") masters[index]!.forget();
    }
    expect(await time.run(lock.release())).toMatchObject({ outcome });
  });

  test("never rejects, and never takes longer than nodeTimeout", async () => {
    const { time, nodes, lock } = await held();
    nodes[0]!.cut();
    nodes[1]!.hang();
    nodes[2]!.hang();
    const { took, error } = await time.measure(lock.release());
    expect([took, error]).toEqual([50, undefined]);
    expect((await lock.release()).outcome).toBe("partial");
  });

  test("is not retried, even with retryCount -1", async () => {
    const { time, nodes, lock } = await held(3, { retryCount: -1 });
    for (const node of nodes) node.cut();
    await time.run(lock.release());
    await time.advance(500);
    expect(nodes.map(({ sent }) => sent)).toEqual([[], [], []]);
  });

  test("is the same when disposed of at the end of a block", async () => {
    const { time, masters, redlock } = await held();
    const held2 = async () => {
      await using lock = await redlock.acquire("s", 1000);
      expect(lock.state).toBe("held");
      expect(masters[0]!.owner("s")).toBe(lock.value);
    };
    await time.run(held2());
    await time.advance(5);
    expect(masters[0]!.owner("s")).toBeUndefined();
  });
});
