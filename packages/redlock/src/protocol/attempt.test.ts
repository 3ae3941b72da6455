import { describe, expect, test } from "vitest";
import { ExecutionError, ResourceLockedError } from "../errors.ts";
import { refusal, settle, type VirtualNode, virtualSetting } from "../virtual-time.test.ts";

// PROTOCOL 2.1, 2.2, 2.4.

// PROTOCOL 2, line by line, through the public interface: the commands of an acquire, when it settles, and its
// validity.

/** ttl minus drift: the validity of a lock of 1000 ms at the moment of its send. */
const worthOf1000 = 999 * 0.99 - 1;

function tokensOf(node: VirtualNode, kind: "vote" | "release"): string[] {
  return node.sent.filter((command) => command.kind === kind).map(({ token }) => token!);
}

describe("2.1 a new token", () => {
  test("is the same for all masters, 128 bits as 32 hexadecimal characters", async () => {
    const { time, nodes, redlock } = virtualSetting(3);
    const lock = await time.run(redlock.acquire("r", 1000));
    expect(lock.value).toMatch(/^[0-9a-f]{32}$/);
    for (const node of nodes) expect(tokensOf(node, "vote")).toEqual([lock.value]);
  });

  test("is drawn for each attempt, and a rollback names only the token of its own attempt", async () => {
    const { time, nodes, redlock } = virtualSetting(3, { retryCount: 3, retryDelay: 5, retryJitter: 0 });
    for (const node of nodes) node.answering = ({ kind }) => (kind === "vote" ? "silence" : undefined);
    await expect(time.run(redlock.acquire("r", 1000))).rejects.toThrow(ExecutionError);
    for (const node of nodes) {
      const votes = tokensOf(node, "vote");
      expect(new Set(votes).size).toBe(4);
      expect(tokensOf(node, "release")).toEqual(votes);
      expect(node.kinds).toEqual([
        "vote",
        "release",
        "vote",
        "release",
        "vote",
        "release",
        "vote",
        "release",
      ]);
    }
  });

  test("is drawn again after a split vote", async () => {
    const { time, nodes, masters, redlock } = virtualSetting(3, { retryCount: 3 });
    masters[0]!.put("r", "rival a", 60);
    masters[1]!.put("r", "rival b", 60);
    const lock = await time.run(redlock.acquire("r", 1000));
    const votes = tokensOf(nodes[2]!, "vote");
    expect(votes.length).toBeGreaterThan(2);
    expect(new Set(votes).size).toBe(votes.length);
    expect(votes.at(-1)).toBe(lock.value);
  });
});

test("calls that demand more validity than is left hold back no others: the masters were in time", async () => {
  const { time, nodes, redlock } = virtualSetting(3, { retryCount: 0 });
  for (let count = 0; count < 8; count += 1) {
    const demanding = redlock.acquire("r", 1000, { minimumValidity: 987 });
    await expect(time.run(demanding)).rejects.toThrow("too late");
  }
  for (const node of nodes) node.sent.length = 0;
  const others = Array.from({ length: 60 }, (_, index) => redlock.acquire(`other ${index}`, 1000));
  await settle();
  for (const node of nodes) expect(node.sent).toHaveLength(60);
  await time.run(Promise.all(others));
});

describe("2.2 all masters are asked in parallel", () => {
  test("at the same moment, even if one of them hangs", async () => {
    const { time, nodes, redlock } = virtualSetting(5);
    nodes[0]!.hang();
    nodes[1]!.toMaster = 40;
    await time.run(redlock.acquire("r", 1000));
    expect(nodes.map((node) => node.sent[0]!.at)).toEqual([0, 0, 0, 0, 0]);
  });

  test("the lock counts from before the first send, however long sending takes", async () => {
    const { time, machine, nodes, redlock } = virtualSetting(3);
    for (const node of nodes) node.onSend = () => machine.block(20);
    const lock = await time.run(redlock.acquire("r", 1000));
    expect(lock.remaining()).toBeCloseTo(worthOf1000 - machine.monotonic(), 6);
    expect(machine.monotonic()).toBeGreaterThanOrEqual(60);
  });

  test("the time of failed attempts does not count", async () => {
    const { time, machine, masters, redlock } = virtualSetting(3, { retryCount: 20, retryDelay: 50 });
    for (const master of masters) master.put("r", "rival", 700);
    const lock = await time.run(redlock.acquire("r", 1000));
    expect(machine.monotonic()).toBeGreaterThan(700);
    expect(lock.remaining()).toBeCloseTo(worthOf1000 - 2, 6);
  });

  test("a first connection is awaited for at most nodeTimeout", async () => {
    const { time, nodes, redlock } = virtualSetting(3);
    for (const node of nodes) node.connectIn(40);
    const lock = await time.run(redlock.acquire("r", 1000));
    expect(time.now()).toBe(42);
    expect(lock.remaining()).toBeCloseTo(worthOf1000 - 42, 6);
  });

  test("a first connection that comes too late is sent only the rollback", async () => {
    const { time, nodes, redlock, client } = virtualSetting(3);
    for (const node of nodes) node.connectIn(300);
    const { took, error } = await time.measure(redlock.acquire("r", 1000));
    expect(error).toBeInstanceOf(ExecutionError);
    expect(took).toBe(50);
    expect(client.faults[0]).toMatchObject({ reason: "TIMEOUT" });
    await time.advance(400);
    for (const node of nodes) expect(node.kinds).toEqual(["release"]);
  });

  test("a lost connection is an immediate fault", async () => {
    const { time, nodes, redlock } = virtualSetting(3);
    nodes[0]!.cut();
    nodes[1]!.cut();
    const { took, error } = await time.measure(redlock.acquire("r", 1000));
    expect(error).toBeInstanceOf(ExecutionError);
    expect(took).toBeLessThanOrEqual(4);
  });

  test("one of four that hangs does not delay the refusal", async () => {
    const { time, machine, nodes, masters, redlock } = virtualSetting(4, { retryCount: 0, nodeTimeout: 300 });
    for (const master of masters) master.put("r", "rival", 700);
    nodes[0]!.hang();
    await expect(time.run(redlock.acquire("r", 1000))).rejects.toThrow(ResourceLockedError);
    expect(machine.monotonic()).toBeLessThan(50);
  });
});

describe("2.3 the decision", () => {
  test("is won at a quorum of yes votes, without waiting for the others", async () => {
    const { time, nodes, redlock } = virtualSetting(5);
    for (const [index, fromMaster] of [10, 20, 30, 40, 400].entries()) nodes[index]!.fromMaster = fromMaster;
    expect(await time.measure(redlock.acquire("r", 10_000))).toMatchObject({ took: 31, error: undefined });
  });

  test.each([
    [1, 1],
    [2, 1],
    [3, 2],
    [4, 2],
    [5, 3],
    [6, 3],
    [7, 4],
  ])("of %i masters, %i against decide it at once, one fewer does not", async (count, against) => {
    const lose = virtualSetting(count, { nodeTimeout: 50 });
    for (const [index, node] of lose.nodes.entries()) {
      if (index < against) node.cut();
      else node.hang();
    }
    const lost = lose.redlock.tryAcquire("r", 1000);
    lost.catch(() => {});
    await lose.time.advance(49);
    expect(lose.nodes[count - 1]!.kinds).toEqual(against < count ? ["vote", "release"] : []);
    await expect(lose.time.run(lost)).rejects.toThrow("No quorum");

    const win = virtualSetting(count, { nodeTimeout: 50 });
    for (const node of win.nodes.slice(0, against - 1)) node.cut();
    expect(await win.time.measure(win.redlock.acquire("r", 1000))).toMatchObject({
      took: 2,
      error: undefined,
    });
  });

  test("is made at a tie of an even number of masters", async () => {
    const { time, masters, redlock } = virtualSetting(2);
    masters[0]!.put("r", "rival");
    const { took, error } = await time.measure(redlock.acquire("r", 1000));
    expect(error).toBeInstanceOf(ResourceLockedError);
    expect(took).toBeLessThan(1000);
  });

  test("is made within nodeTimeout with one foreign key and one hung master", async () => {
    const { time, nodes, masters, redlock } = virtualSetting(3, { nodeTimeout: 50 });
    masters[0]!.put("r", "rival");
    nodes[1]!.hang();
    const { took, error } = await time.measure(redlock.acquire("r", 1000));
    expect(error).toBeInstanceOf(ResourceLockedError);
    expect(took).toBe(50);
  });

  test("is not delayed by one hung master of three", async () => {
    const { time, nodes, redlock } = virtualSetting(3);
    nodes[1]!.hang();
    expect(await time.measure(redlock.acquire("r", 1000))).toMatchObject({ took: 2, error: undefined });
  });

  test("is made even if no master answers", async () => {
    const { time, nodes, redlock } = virtualSetting(3, { nodeTimeout: 50 });
    for (const node of nodes) node.hang();
    const { took, error } = await time.measure(redlock.acquire("r", 1000));
    expect(took).toBe(50);
    expect(error).toBeInstanceOf(ExecutionError);
    expect(error).not.toBeInstanceOf(ResourceLockedError);
    expect((error as Error).message).toContain("master-2: TIMEOUT");
  });
});

describe("2.4, 2.5 validity", () => {
  test("is the ttl minus the elapsed time and drift", async () => {
    const { time, nodes, redlock } = virtualSetting(3);
    for (const node of nodes) node.fromMaster = 39;
    const lock = await time.run(redlock.acquire("r", 1000));
    expect(lock.remaining()).toBeCloseTo(worthOf1000 - 40, 6);
  });

  test("a machine that was suspended during the vote has no lock", async () => {
    const { time, machine, masters, redlock } = virtualSetting(3);
    const acquiring = redlock.acquire("r", 1000);
    await settle();
    machine.suspend(990);
    await expect(time.run(acquiring)).rejects.toThrow("too late");
    await time.advance(5);
    for (const master of masters) expect(master.owner("r")).toBeUndefined();
  });

  test("a short suspension is subtracted", async () => {
    const { time, machine, redlock } = virtualSetting(3);
    const acquiring = redlock.acquire("r", 1000);
    await settle();
    machine.suspend(500);
    const lock = await time.run(acquiring);
    // 1 ms for the resolution of the wall clock, which may have rounded the time away.
    expect(lock.remaining()).toBeCloseTo(worthOf1000 - (502 + 1), 6);
  });

  test("a wall clock that is stepped back adds no time", async () => {
    const { time, machine, nodes, redlock } = virtualSetting(3);
    for (const node of nodes) node.fromMaster = 39;
    const acquiring = redlock.acquire("r", 1000);
    await settle();
    machine.stepWall(-60_000);
    expect((await time.run(acquiring)).remaining()).toBeCloseTo(worthOf1000 - 40, 6);
  });

  test("an event loop blocked for longer than the ttl has no lock", async () => {
    const { time, machine, redlock, masters } = virtualSetting(3);
    const acquiring = redlock.acquire("r", 1000);
    await settle();
    machine.block(989);
    const { error } = await time.measure(acquiring);
    expect(error).toBeInstanceOf(ExecutionError);
    expect(error).not.toBeInstanceOf(ResourceLockedError);
    await time.advance(5);
    for (const master of masters) expect(master.owner("r")).toBeUndefined();
  });

  test("expired votes are a failed attempt, which is retried", async () => {
    const { time, machine, redlock } = virtualSetting(3, { retryCount: 1, retryDelay: 5, retryJitter: 0 });
    const acquiring = redlock.acquire("r", 1000);
    await settle();
    machine.suspend(5000);
    const lock = await time.run(acquiring);
    expect(lock.remaining()).toBeCloseTo(worthOf1000 - 2, 6);
  });

  test.each([
    ["grants a lock with more than minimumValidity", 946, true],
    ["below minimumValidity is a failed attempt", 950, false],
  ])("%s", async (_, minimumValidity, granted) => {
    const { time, nodes, masters, redlock } = virtualSetting(3, { minimumValidity });
    for (const node of nodes) node.fromMaster = 39;
    const { error } = await time.measure(redlock.acquire("r", 1000));
    expect(error === undefined).toBe(granted);
    await time.advance(50);
    expect(masters[0]!.owner("r") !== undefined).toBe(granted);
  });

  test("is that of the quorum that lasts longest, not of all votes", async () => {
    const { time, nodes, redlock } = virtualSetting(3);
    nodes[2]!.cut();
    const lock = await time.run(redlock.acquire("r", 1000));
    expect(lock.remaining()).toBeCloseTo(worthOf1000 - 2, 6);
  });
});

describe("2.6 the rollback", () => {
  test("goes to masters that said yes or gave no answer, not to those that refused or were sent nothing", async () => {
    const { time, nodes, masters, redlock } = virtualSetting(5, { nodeTimeout: 50 });
    masters[0]!.put("r", "rival");
    masters[1]!.put("r", "rival");
    nodes[2]!.cut();
    nodes[3]!.hang();
    await expect(time.run(redlock.acquire("r", 1000))).rejects.toThrow(ResourceLockedError);
    expect(nodes.map((node) => node.kinds)).toEqual([
      ["vote"],
      ["vote"],
      [],
      ["vote", "release"],
      ["vote", "release"],
    ]);
    nodes[3]!.resume();
    await time.advance(10);
    expect(masters.map((master) => master.owner("r"))).toEqual([
      "rival",
      "rival",
      undefined,
      undefined,
      undefined,
    ]);
  });

  test("is sent after a reconnect if the connection was lost during the vote", async () => {
    const { time, nodes, masters, redlock } = virtualSetting(1);
    nodes[0]!.mute = true;
    const acquiring = redlock.acquire("r", 1000);
    await time.advance(1);
    nodes[0]!.cut();
    await expect(time.run(acquiring)).rejects.toThrow(ExecutionError);
    expect(masters[0]!.owner("r")).toBeDefined();
    nodes[0]!.restore();
    await time.advance(1);
    expect(masters[0]!.owner("r")).toBeUndefined();
  });

  test("is sent before the next attempt, on the same connection", async () => {
    const { time, nodes, masters, redlock } = virtualSetting(3, {
      retryCount: 1,
      retryDelay: 0,
      retryJitter: 0,
    });
    masters[0]!.put("r", "rival", 20);
    masters[1]!.put("r", "rival", 20);
    nodes[2]!.toMaster = 45;
    const acquiring = redlock.acquire("r", 1000);
    await time.measure(acquiring);
    expect(nodes[2]!.kinds.slice(0, 3)).toEqual(["vote", "release", "vote"]);
  });

  test("leaves no key of a failed attempt on a hung master that wakes up", async () => {
    const { time, nodes, masters, redlock } = virtualSetting(3, { nodeTimeout: 50 });
    for (const node of nodes.slice(0, 2)) node.hang();
    await time.measure(redlock.acquire("r", 1000));
    for (const node of nodes.slice(0, 2)) node.resume();
    await time.advance(5);
    expect(masters.map((master) => master.owner("r"))).toEqual([undefined, undefined, undefined]);
  });

  test("is not awaited: the acquire rejects as soon as the round is decided", async () => {
    const { time, nodes, masters, redlock } = virtualSetting(3);
    nodes[2]!.toMaster = 20;
    for (const master of masters.slice(0, 2)) master.put("r", "rival");
    const { took } = await time.measure(redlock.acquire("r", 1000));
    expect(took).toBe(2);
    await time.advance(22);
    expect(nodes[2]!.kinds).toEqual(["vote", "release"]);
    expect(masters[2]!.owner("r")).toBeUndefined();
  });

  test.each([1, 3])("leaves no timer behind, with %i masters", async (count) => {
    const { time, machine, masters, redlock } = virtualSetting(count);
    for (const master of masters) master.put("r", "rival");
    expect(await time.run(redlock.tryAcquire("r", 1000))).toBeNull();
    await time.advance(5);
    expect(machine.timers.size).toBe(0);
  });
});

describe("a late yes", () => {
  test("after the quorum's prolongs the lease, even after its time is up", async () => {
    const { time, nodes, masters, redlock, client } = virtualSetting(3, { nodeTimeout: 50 });
    nodes[2]!.fromMaster = 80;
    const lock = await time.run(redlock.acquire("r", 1000));
    await time.advance(100);
    expect(client.faults).toMatchObject([{ node: "master-2", reason: "TIMEOUT" }]);
    nodes[2]!.hang();
    masters[0]!.forget();
    await time.run(lock.verify().catch(() => {}));
    // One master refused, one answered, one has not: its late yes still counts.
    expect(lock.remaining()).toBeCloseTo(worthOf1000 - time.now(), 6);
    expect(lock.state).toBe("unknown");
  });

  test("of a failed attempt does not count in the next one", async () => {
    const { time, nodes, masters, redlock } = virtualSetting(3, {
      retryCount: 1,
      retryDelay: 1,
      retryJitter: 0,
      nodeTimeout: 50,
    });
    masters[0]!.put("r", "rival");
    nodes[1]!.fromMaster = 80;
    nodes[2]!.fromMaster = 80;
    // Both have been asked again when their yes to the first vote arrives.
    await expect(time.run(redlock.acquire("r", 1000))).rejects.toThrow(ExecutionError);
    await time.advance(500);
    expect(masters.map((master) => master.owner("r"))).toEqual(["rival", undefined, undefined]);
  });

  test("leaves no key behind after the release", async () => {
    const { time, nodes, masters, redlock } = virtualSetting(3);
    nodes[2]!.toMaster = 40;
    const lock = await time.run(redlock.acquire("r", 1000));
    await time.run(lock.release());
    await time.advance(100);
    for (const master of masters) expect(master.owner("r")).toBeUndefined();
  });

  test("a vote that waits for its first connection is not sent after the release", async () => {
    const { time, nodes, masters, redlock } = virtualSetting(3);
    nodes[2]!.connectIn(500);
    const lock = await time.run(redlock.acquire("r", 1000));
    await time.run(lock.release());
    await time.advance(600);
    expect(nodes[2]!.kinds).toEqual(["release"]);
    expect(masters[2]!.owner("r")).toBeUndefined();
  });
});

describe("2.7 a key with the client's own token", () => {
  test("is a yes like any other", async () => {
    const { time, nodes, redlock } = virtualSetting(3);
    nodes[0]!.answering = ({ kind }) => (kind === "vote" ? { is: "yes", remaining: 1000 } : undefined);
    nodes[1]!.cut();
    const lock = await time.run(redlock.acquire("r", 1000));
    expect(lock.state).toBe("held");
  });
});

describe("several resources", () => {
  test("are locked together, or none of them", async () => {
    const { time, masters, redlock } = virtualSetting(3);
    const lock = await time.run(redlock.acquire(["a", "b"], 1000));
    expect(lock.resources).toEqual(["a", "b"]);
    for (const master of masters)
      expect([master.owner("a"), master.owner("b")]).toEqual([lock.value, lock.value]);
    expect(await time.run(redlock.tryAcquire(["b", "c"], 1000))).toBeNull();
    for (const master of masters) expect(master.owner("c")).toBeUndefined();
    await time.run(lock.release());
    for (const master of masters)
      expect([master.owner("a"), master.owner("b")]).toEqual([undefined, undefined]);
  });

  test("the error names the locked one and its remaining time", async () => {
    const { time, masters, redlock } = virtualSetting(3);
    for (const master of masters) master.put("b", "rival", 800);
    const { error } = await time.measure(redlock.acquire(["a", "b"], 1000));
    expect(error).toMatchObject({ resource: "b", remaining: 799, code: "RESOURCE_LOCKED" });
  });
});

describe("an invalid answer", () => {
  test("a yes with more time than requested is limited to the ttl", async () => {
    const { time, nodes, redlock } = virtualSetting(1);
    nodes[0]!.answering = () => ({ is: "yes", remaining: 1e9 });
    const lock = await time.run(redlock.acquire("r", 1000));
    await time.run(lock.extend(1000));
    expect(lock.remaining()).toBeLessThan(1000);
  });

  test("a refusal of a free key is a refusal", async () => {
    const { time, nodes, redlock } = virtualSetting(1);
    nodes[0]!.answering = ({ kind }) => (kind === "vote" ? refusal(undefined, 0) : undefined);
    expect(await time.run(redlock.tryAcquire("r", 1000))).toBeNull();
  });
});
