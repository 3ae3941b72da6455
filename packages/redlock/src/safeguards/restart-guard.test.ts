import { describe, expect, test } from "vitest";
import { ExecutionError, InvalidArgumentError, NodeError } from "../errors.ts";
import { Lock } from "../holding/lock.ts";
import type { GuardState } from "../protocol/node.ts";
import { Redlock } from "../redlock.ts";
import {
  VirtualNode as Node,
  VirtualMachine,
  VirtualMaster,
  type VirtualNode,
  VirtualTime,
} from "../virtual-time.test.ts";

// PROTOCOL 1.10, 9.8.

const maxTtl = 60_000;
/** Of a master that all clients know. */
const marked: GuardState = {
  is: "guard",
  maxTtl,
  quarantine: 0,
  epoch: 7,
  isCurrent: true,
  isReady: true,
  floor: 0,
};
/** Of a new master. */
const unmarked: GuardState = { ...marked, maxTtl: 0, epoch: 0, isCurrent: false, isReady: false };

interface Guarded {
  readonly time: VirtualTime;
  readonly nodes: readonly VirtualNode[];
  readonly redlock: Redlock;
}

/** A client with the restart guard; three masters in these states, of which `state` may change one. */
function guarded(options: object = {}, states: GuardState[] = [marked, marked, marked]): Guarded {
  const time = new VirtualTime();
  const machine = new VirtualMachine(time);
  const nodes = states.map((_, index) => {
    const node = new Node(`master-${index}`, machine, new VirtualMaster(time));
    node.answering = ({ kind }) => {
      const state = states[index]!;
      if ((kind as string) === "guardState") return state;
      if (state.isCurrent || kind !== "vote") return undefined;
      return { is: "fault", error: new NodeError(node.name, "UNGUARDED", ""), sent: true };
    };
    return Object.assign(node, { keepsCounters: true, watchGuard: () => {} });
  });
  const redlock = new Redlock(nodes, {
    runtime: machine,
    retryCount: 0,
    restartGuard: { maxTtl },
    ...options,
  });
  redlock.on("error", () => {});
  return { time, nodes, redlock };
}

/** The masters that do not answer. */
function hang({ nodes }: Guarded, count: number): void {
  for (const node of nodes.slice(0, count)) node.hang();
}

describe("the first call of a client with the restart guard", () => {
  test("settles within its own nodeTimeout if a master hangs, and is granted", async () => {
    const setting = guarded({ nodeTimeout: 2000 });
    hang(setting, 1);
    const { time, redlock } = setting;
    const { took, error } = await time.measure(redlock.tryAcquire("r", 10_000, { nodeTimeout: 50 }));
    expect(error).toBeUndefined();
    expect(took).toBeLessThanOrEqual(50);
    // The comparison is not awaited again.
    expect((await time.measure(redlock.tryAcquire("q", 10_000, { nodeTimeout: 50 }))).took).toBe(2);
  });

  test.each([
    ["nodeTimeout", { nodeTimeout: 50 }, 50],
    ["default nodeTimeout", {}, 75],
    ["waitTimeout and nodeTimeout", { nodeTimeout: 50, waitTimeout: 100 }, 150],
    ["waitTimeout, which is the shorter one,", { nodeTimeout: 50, waitTimeout: 20 }, 70],
  ])("settles within its %s if all masters hang", async (_, options, limit) => {
    const setting = guarded();
    hang(setting, 3);
    const { time, redlock } = setting;
    const { took, error } = await time.measure(redlock.acquire("r", 1000, options));
    expect(error).toBeInstanceOf(ExecutionError);
    expect(took).toBeLessThanOrEqual(limit);
  });

  test("waits for the comparison, and then has the rest of its time", async () => {
    const { time, nodes, redlock } = guarded();
    for (const node of nodes) node.fromMaster = 22;
    expect(await time.measure(redlock.tryAcquire("r", 1000, { nodeTimeout: 50 }))).toEqual({
      took: 46,
      error: undefined,
    });
    expect(nodes.map(({ sent }) => sent.map(({ at }) => at))).toEqual([
      [0, 23],
      [0, 23],
      [0, 23],
    ]);
  });

  test("sends no vote if it is aborted meanwhile", async () => {
    const setting = guarded();
    hang(setting, 3);
    const aborting = new AbortController();
    const acquiring = setting.redlock.acquire("r", 1000, { signal: aborting.signal });
    aborting.abort();
    await expect(setting.time.run(acquiring)).rejects.toThrow("abort");
    expect(setting.nodes.flatMap(({ sent }) => sent.map(({ kind }) => kind))).not.toContain("vote");
  });

  test("is refused for another maxTtl, and no longer once that is solved", async () => {
    const states = [marked, marked, marked];
    const { time, redlock } = guarded({}, states);
    states[2] = { ...marked, maxTtl: 1000 };
    await expect(time.run(redlock.acquire("r", 1000))).rejects.toThrow(
      "60000 ms here, and 1000 ms at master-2",
    );
    states[2] = marked;
    expect((await time.run(redlock.acquire("r", 1000))).state).toBe("held");
  });
});

describe("ready with the restart guard", () => {
  test("takes no longer than its timeout if a master hangs; the quorum's guards agree", async () => {
    const setting = guarded({ nodeTimeout: 2000 });
    hang(setting, 1);
    const { took, error } = await setting.time.measure(setting.redlock.ready({ timeout: 100 }));
    expect(error).toBeUndefined();
    expect(took).toBeLessThanOrEqual(100);
  });

  test("rejects when no quorum knows maxTtl, and too few masters answer to begin a quarantine", async () => {
    const setting = guarded({}, [marked, unmarked, unmarked]);
    hang(setting, 1);
    const ready = setting.redlock.ready({ timeout: 1000 });
    const { took, error } = await setting.time.measure(ready);
    expect(error).toBeInstanceOf(ExecutionError);
    expect(String(error)).toContain("within 1000 ms, 2 of the 3 required masters answered");
    expect(took).toBe(1000);
  });

  test("compares again, until the masters are back", async () => {
    const setting = guarded({ nodeTimeout: 50 }, [marked, unmarked, unmarked]);
    const [first] = setting.nodes;
    first!.cut();
    const ready = setting.redlock.ready({ timeout: 5000 });
    await setting.time.advance(1000);
    first!.restore();
    expect((await setting.time.measure(ready)).error).toBeUndefined();
    expect(setting.time.now()).toBeLessThan(1300);
  });

  test("rejects for another maxTtl", async () => {
    const { time, redlock } = guarded({}, [marked, marked, { ...marked, maxTtl: 1 }]);
    await expect(time.run(redlock.ready())).rejects.toThrow(InvalidArgumentError);
  });
});

describe("the settings of a guarded Redlock", () => {
  test("can be passed to a call, and to another Redlock", async () => {
    const { time, nodes, redlock } = guarded({ retryDelay: 7 });
    const lock = await time.run(redlock.acquire("r", 1000, { ...redlock.settings, retryCount: 1 }));
    expect(lock.redlock.settings).toBe(redlock.settings);
    expect(new Redlock(nodes, { ...redlock.settings }).settings).toEqual(redlock.settings);
    await expect(time.run(redlock.acquire("q", maxTtl + 1, redlock.settings))).rejects.toThrow("maxTtl");
  });
});

describe("a lock of a guarded Redlock that is built by hand", () => {
  test("is confirmed, extended up to maxTtl, and released", async () => {
    const { time, redlock } = guarded();
    const { value } = await time.run(redlock.acquire("r", 10_000));
    const lock = new Lock(redlock, ["r"], value, [], 0);
    expect(await time.run(lock.verify())).toBe(true);
    await expect(time.run(lock.extend(maxTtl + 1))).rejects.toThrow("maxTtl");
    await time.run(lock.extend(maxTtl));
    expect((await time.run(lock.detach())).ttl).toBe(maxTtl);
  });
});
