import { tracingChannel } from "node:diagnostics_channel";
import { describe, expect, test } from "vitest";
import type { RedlockOptions } from "../client.ts";
import {
  AbortError,
  ClosedError,
  ExecutionError,
  InvalidArgumentError,
  LockLostError,
  ResourceLockedError,
} from "../errors.ts";
import type { Lock } from "../holding/lock.ts";
import { Gate, VirtualClient, type VirtualSetting, virtualSetting } from "../virtual-time.test.ts";
import { type OnceOptions, once, runCoordinator } from "./once.ts";

// PROTOCOL 10.9.

const keepFor = 60_000;
const done = () => "done";
const failing = () => Promise.reject(new TypeError("mine"));
const throwing = (): never => {
  throw new TypeError("mine");
};

/** The time that the key has left on each master, ms; 0 where there is none. */
function lifetimes({ masters }: Pick<VirtualSetting, "masters">, resource = "job"): readonly number[] {
  return masters.map((master) => master.remaining(resource));
}

/** A routine that takes `duration` ms. */
function lasting({ time }: VirtualSetting, duration: number) {
  return async (): Promise<string> => {
    await new Promise<void>((resolve) => void time.timers(resolve, duration));
    return "done";
  };
}

/** The same masters, for another process. */
function another({ masters }: VirtualSetting, seed = 2): VirtualClient {
  return new VirtualClient(masters, {}, seed);
}

describe("the arguments of once", () => {
  test.each<[string, unknown, RegExp]>([
    ["no options", undefined, /keepFor must be a whole number of milliseconds, 1 or more, but is undefined/],
    ["no keepFor", {}, /keepFor must be .* undefined/],
    ["half a millisecond", { keepFor: 0.5 }, /keepFor must be/],
    ["a ttl above keepFor", { keepFor: 5000, ttl: 6000 }, /ttl must not be above keepFor/],
    ["a ttl that is no number", { keepFor, ttl: "1 s" }, /ttl must be/],
    ["an invalid Date", { keepFor, at: new Date("tomorrow") }, /at must be a valid Date.* an invalid Date/],
    ["text for a time", { keepFor, at: "2026-11-23T07:52:42.000Z" }, /at must be a valid Date/],
    ["a time beyond all Dates", { keepFor, at: 9e15 }, /at must be a valid Date/],
    ["keepOnError that is no boolean", { keepFor, keepOnError: 1 }, /keepOnError must be/],
    ["a wait", { keepFor, waitTimeout: 100 }, /"waitTimeout" is an option of .*, not of once/],
    ["a longest hold", { keepFor, maxHoldTime: 100_000 }, /"maxHoldTime"/],
    ["an unknown option", { keepFor, keepfor: 5 }, /did you mean "keepFor"/],
  ])("refuse %s before anything is sent", async (_, options, message) => {
    const { redlock, nodes } = virtualSetting(3);
    const error = await once(redlock, "job", options as OnceOptions, done).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect(String(error)).toMatch(message);
    expect(nodes.flatMap(({ sent }) => sent)).toEqual([]);
  });

  test("refuse no name, the library's own names, and no routine", async () => {
    const { redlock, nodes } = virtualSetting(3);
    const calls = [
      once(redlock, "", { keepFor }, done),
      once(redlock, "quorlock:ready", { keepFor }, done),
      once(redlock, "job", { keepFor }, undefined as never),
      once({} as never, "job", { keepFor }, done),
    ];
    for (const call of calls) await expect(call).rejects.toThrow(InvalidArgumentError);
    expect(nodes.flatMap(({ sent }) => sent)).toEqual([]);
  });

  test.each([
    ["none", undefined, "job"],
    ["null", null, "job"],
    ["a Date", new Date("2026-11-23T07:52:42Z"), "job:2026-11-23T07:52:42.000Z"],
    ["a number", 1_795_420_362_000, "job:2026-11-23T07:52:42.000Z"],
    ["the epoch", 0, "job:1970-01-01T00:00:00.000Z"],
  ])("name the resource by `at`: %s", async (_, at, resource) => {
    const setting = virtualSetting(3);
    await setting.time.run(once(setting.redlock, "job", { keepFor, at: at as Date }, done));
    expect(setting.masters[0]!.owner(resource)).toBeDefined();
  });
});

describe("a job", () => {
  test("runs, and its lock is kept for keepFor from the grant, however long the routine takes", async () => {
    const setting = virtualSetting(3);
    const { time, redlock, client } = setting;
    const result = await time.run(once(redlock, "job", { keepFor, ttl: 2000 }, lasting(setting, 20_000)));
    expect(result).toEqual({ ran: true, value: "done" });
    // Within the round trips.
    for (const left of lifetimes(setting)) {
      expect(left).toBeGreaterThan(keepFor - 20_000 - 15);
      expect(left).toBeLessThanOrEqual(keepFor - 20_000);
    }
    expect(client.lost).toEqual([]);
  });

  test("is not run by others for keepFor, and then is", async () => {
    const setting = virtualSetting(3);
    const { time, redlock } = setting;
    const other = another(setting);
    await time.run(once(redlock, "job", { keepFor }, done));
    const begun = time.now();
    const refused = await time.run(once(other.redlock, "job", { keepFor }, done));
    expect(refused).toMatchObject({ ran: false, owner: undefined });
    expect((refused as { remaining: number }).remaining).toBeGreaterThan(keepFor - 20);
    // A refusal takes one round and one reading: nobody waits.
    expect(time.now() - begun).toBeLessThan(10);
    await time.advance(keepFor - 20);
    expect(await time.run(once(other.redlock, "job", { keepFor }, done))).toMatchObject({ ran: false });
    await time.advance(20);
    expect(await time.run(once(other.redlock, "job", { keepFor }, done))).toEqual({
      ran: true,
      value: "done",
    });
  });

  test("is said to be kept for as long as the last of the masters that agree keeps it", async () => {
    const { time, redlock, masters } = virtualSetting(3);
    for (const [index, ttl] of [9000, 5000, 20_000].entries())
      masters[index]!.put("job", index === 2 ? "another" : "one", ttl);
    const { remaining } = (await time.run(once(redlock, "job", { keepFor }, done))) as { remaining: number };
    expect(remaining).toBeGreaterThan(8900);
    expect(remaining).toBeLessThanOrEqual(9000);
  });

  test("is kept extended while it runs for longer than keepFor, and is free when it ends", async () => {
    const setting = virtualSetting(3);
    const { time, redlock } = setting;
    const other = another(setting);
    const running = once(redlock, "job", { keepFor: 3000, ttl: 1000 }, lasting(setting, 10_000));
    await time.advance(9000);
    expect(await time.run(once(other.redlock, "job", { keepFor }, done))).toMatchObject({ ran: false });
    expect(await time.run(running)).toEqual({ ran: true, value: "done" });
    await time.advance(5);
    expect(lifetimes(setting)).toEqual([0, 0, 0]);
  });

  test("is free again at the end of keepFor if the last extension went further", async () => {
    const setting = virtualSetting(3);
    const { time, redlock, machine } = setting;
    await time.run(once(redlock, "job", { keepFor: 10_000, ttl: 6000 }, lasting(setting, 9000)));
    expect(Math.min(...lifetimes(setting))).toBeGreaterThan(2000);
    // Nothing keeps the process alive for that.
    expect(machine.referencedTimers).toBe(0);
    await time.advance(950);
    expect(Math.min(...lifetimes(setting))).toBeGreaterThan(0);
    await time.advance(60);
    expect(lifetimes(setting)).toEqual([0, 0, 0]);
  });

  test("is not given back early by a timer that fires early", async () => {
    const setting = virtualSetting(3);
    const { time, redlock, machine } = setting;
    const setTimer = machine.setTimer.bind(machine);
    await time.run(
      once(redlock, "job", { keepFor: 10_000, ttl: 6000 }, async () => {
        await lasting(setting, 9000)();
        machine.setTimer = (callback, delay) => setTimer(callback, delay / 2);
      }),
    );
    await time.advance(950);
    expect(Math.min(...lifetimes(setting))).toBeGreaterThan(0);
    await time.advance(80);
    expect(lifetimes(setting)).toEqual([0, 0, 0]);
  });

  test("is run by the one that came too late for its own votes, when another one was refused by these", async () => {
    const setting = virtualSetting(3);
    const { time } = setting;
    const [slow, other] = [another(setting), another(setting, 3)];
    for (const { redlock } of [slow, other]) await time.run(once(redlock, "before", { keepFor }, done));
    for (const node of slow.nodes) node.fromMaster = 200;
    const options = { keepFor, nodeTimeout: 50, retryCount: 3 };
    const first = once(slow.redlock, "job", options, done);
    await time.advance(10);
    expect(await time.run(once(other.redlock, "job", options, done))).toMatchObject({ ran: false });
    for (const node of slow.nodes) node.fromMaster = 1;
    expect(await time.run(first)).toEqual({ ran: true, value: "done" });
  });

  test("that throws is free at once, and its error is reported", async () => {
    const setting = virtualSetting(3);
    const { time, redlock } = setting;
    await expect(time.run(once(redlock, "job", { keepFor }, failing))).rejects.toThrow(new TypeError("mine"));
    await time.advance(5);
    expect(lifetimes(setting)).toEqual([0, 0, 0]);
  });

  test("that throws is kept with keepOnError, and its error is reported", async () => {
    const setting = virtualSetting(3);
    const { time, redlock } = setting;
    const call = once(redlock, "job", { keepFor, keepOnError: true }, throwing);
    await expect(time.run(call)).rejects.toThrow(new TypeError("mine"));
    expect(Math.min(...lifetimes(setting))).toBeGreaterThan(keepFor - 20);
  });

  test("is free within its ttl if its process dies", async () => {
    const setting = virtualSetting(3);
    const { time, redlock, nodes } = setting;
    const other = another(setting);
    void once(redlock, "job", { keepFor, ttl: 2000 }, () => new Promise(() => {}));
    await time.advance(10_000);
    for (const node of nodes) node.cut();
    await time.advance(2000);
    expect(await time.run(once(other.redlock, "job", { keepFor }, done))).toEqual({
      ran: true,
      value: "done",
    });
  });

  test("gets the lock, and a signal that follows the caller's", async () => {
    const { time, redlock } = virtualSetting(3);
    const controller = new AbortController();
    const seen: unknown[] = [];
    const routine = (signal: AbortSignal, lock: Lock) => {
      controller.abort("enough");
      seen.push(signal.aborted, signal.reason, lock.resources, lock.state);
    };
    await time.run(once(redlock, "job", { keepFor, signal: controller.signal }, routine));
    expect(seen).toEqual([true, "enough", ["job"], "held"]);
  });

  test("runs without a limit of the constructor: it would end the lock, and not the job", async () => {
    const setting = virtualSetting(3, { maxHoldTime: 30_000 });
    const { time, redlock } = setting;
    const result = await time.run(once(redlock, "job", { keepFor, ttl: 2000 }, lasting(setting, 40_000)));
    expect(result).toEqual({ ran: true, value: "done" });
    expect(Math.min(...lifetimes(setting))).toBeGreaterThan(keepFor - 40_020);
  });

  test("is not nested in a lock of its caller", async () => {
    const setting = virtualSetting(3, { reentrant: true });
    const { time, redlock } = setting;
    const nested = redlock.using("job", 5000, () => once(redlock, "job", { keepFor }, done));
    expect(await time.run(nested)).toMatchObject({ ran: false });
    await time.advance(5);
    expect(await time.run(once(redlock, "job", { keepFor }, done))).toMatchObject({ ran: true });
    expect(Math.min(...lifetimes(setting))).toBeGreaterThan(keepFor - 20);
  });

  test("that was suspended is kept for longer, never for less", async () => {
    const setting = virtualSetting(3);
    const { time, machine, redlock } = setting;
    const routine = async () => {
      await new Promise<void>((resolve) => void time.timers(resolve, 100));
      machine.suspend(1000);
    };
    expect(await time.run(once(redlock, "job", { keepFor, ttl: 10_000 }, routine))).toMatchObject({
      ran: true,
    });
    expect(Math.min(...lifetimes(setting))).toBeGreaterThan(keepFor - 200);
  });
});

describe("a job whose lock is lost", () => {
  test("does not begin if its process was suspended since the grant", async () => {
    const { time, redlock, machine } = virtualSetting(3);
    const holds = tracingChannel("quorlock:hold");
    const suspending = { start: () => machine.suspend(20_000) } as never;
    let hasRun = false;
    const call = once(redlock, "job", { keepFor }, () => {
      hasRun = true;
    });
    holds.subscribe(suspending);
    try {
      await expect(time.run(call)).rejects.toThrow(LockLostError);
    } finally {
      holds.unsubscribe(suspending);
    }
    expect(hasRun).toBe(false);
  });

  test.each([
    ["before its end", 5000],
    ["after keepFor", 70_000],
  ])("rejects with the loss after the routine has run: %s", async (_, duration) => {
    const setting = virtualSetting(3);
    const { time, redlock, nodes } = setting;
    let hasRun = false;
    const running = once(redlock, "job", { keepFor, ttl: 2000 }, async () => {
      await new Promise<void>((resolve) => void time.timers(resolve, duration));
      hasRun = true;
    });
    const failed = running.catch((error: unknown) => error);
    await time.advance(duration - 3000);
    for (const node of nodes) node.cut();
    const error = (await time.run(failed)) as LockLostError;
    expect([hasRun, error.code, error.resources]).toEqual([true, "LOCK_LOST", ["job"]]);
    expect(error).toBeInstanceOf(LockLostError);
  });

  test("is run by another process, and only the first one rejects", async () => {
    const setting = virtualSetting(3);
    const { time, redlock, nodes } = setting;
    const options = { keepFor, ttl: 2000 };
    const running = once(redlock, "job", options, lasting(setting, 5000));
    const failed = running.catch((error: unknown) => error);
    await time.advance(100);
    for (const node of nodes) node.cut();
    await time.advance(2100);
    const { redlock: second } = another(setting);
    expect(await time.run(once(second, "job", options, done))).toEqual({ ran: true, value: "done" });
    expect(await time.run(failed)).toBeInstanceOf(LockLostError);
  });

  test("asks until its lease ends to be kept, and not for the retries of a call", async () => {
    const setting = virtualSetting(3, { retryCount: 0 });
    const { time, redlock, nodes } = setting;
    const gate = new Gate();
    const running = once(redlock, "job", { keepFor }, () => gate.opened);
    await time.advance(100);
    for (const node of nodes) node.cut();
    gate.open();
    await time.advance(5000);
    for (const node of nodes) node.restore();
    expect(await time.run(running)).toMatchObject({ ran: true });
    expect(Math.min(...lifetimes(setting))).toBeGreaterThan(keepFor - 10_000);
  });

  test("is kept by answers that come after the nodeTimeout of their round", async () => {
    const setting = virtualSetting(3, { retryCount: 0 });
    const { time, redlock, nodes } = setting;
    const gate = new Gate();
    const running = once(redlock, "job", { keepFor, nodeTimeout: 50 }, () => gate.opened);
    await time.advance(100);
    for (const node of nodes) node.fromMaster = 300;
    gate.open();
    const { took, error } = await time.measure(running);
    expect(error).toBeUndefined();
    // An answer, and the rest of the pause before the next attempt, and the last question of the detach.
    expect(took).toBeLessThan(1500);
    expect(Math.min(...lifetimes(setting))).toBeGreaterThan(keepFor - 2000);
  });

  test("reports the error of the routine if that throws", async () => {
    const { time, redlock, nodes } = virtualSetting(3);
    const running = once(redlock, "job", { keepFor, ttl: 1000, keepOnError: true }, async () => {
      for (const node of nodes) node.cut();
      await new Promise<void>((resolve) => void time.timers(resolve, 3000));
      throw new TypeError("mine");
    });
    await expect(time.run(running)).rejects.toThrow(new TypeError("mine"));
  });
});

describe("quit", () => {
  test("leaves the key of a job that has run, and emits no loss", async () => {
    const setting = virtualSetting(3);
    const { time, redlock, client } = setting;
    await time.run(once(redlock, "job", { keepFor }, done));
    await time.run(redlock.quit());
    await time.advance(100);
    expect(Math.min(...lifetimes(setting))).toBeGreaterThan(keepFor - 200);
    expect(client.lost).toEqual([]);
  });

  test("before the end of keepFor leaves what the last extension went further, without an error", async () => {
    const setting = virtualSetting(3);
    const { time, redlock, machine } = setting;
    machine.uncaught = [];
    await time.run(once(redlock, "job", { keepFor: 10_000, ttl: 6000 }, lasting(setting, 9000)));
    await time.run(redlock.quit());
    await time.advance(2000);
    expect(Math.min(...lifetimes(setting))).toBeGreaterThan(0);
    expect(machine.uncaught).toEqual([]);
  });

  test("with a drain lets a job end and keeps its lock", async () => {
    const setting = virtualSetting(3);
    const { time, redlock } = setting;
    const running = once(redlock, "job", { keepFor, ttl: 2000 }, lasting(setting, 5000));
    await time.advance(100);
    const quitting = redlock.quit({ drain: 10_000 });
    expect(await time.run(running)).toMatchObject({ ran: true });
    await time.run(quitting);
    expect(Math.min(...lifetimes(setting))).toBeGreaterThan(keepFor - 6000);
  });

  test("ends a call that has no answer yet, and later ones", async () => {
    const { time, redlock, nodes } = virtualSetting(3);
    for (const node of nodes) node.hang();
    const calling = once(redlock, "job", { keepFor }, done);
    calling.catch(() => {});
    await time.advance(10);
    void redlock.quit();
    await expect(time.run(calling)).rejects.toThrow(ClosedError);
    await expect(once(redlock, "job", { keepFor }, done)).rejects.toThrow(ClosedError);
  });
});

describe("a call that no quorum answers", () => {
  test("rejects, and never says that another process has the job", async () => {
    const setting = virtualSetting(3, { retryCount: 2 });
    const { time, redlock, nodes } = setting;
    const [first] = setting.masters;
    await time.run(once(redlock, "other", { keepFor }, done));
    first!.put("job", "a stranger", keepFor);
    nodes[1]!.cut();
    nodes[2]!.cut();
    const { took, error } = await time.measure(once(redlock, "job", { keepFor }, done));
    expect(error).toBeInstanceOf(ExecutionError);
    expect(error).not.toBeInstanceOf(ResourceLockedError);
    expect(
      nodes[0]!.sent.filter(({ kind, resources }) => kind === "vote" && resources[0] === "job"),
    ).toHaveLength(3);
    // Two pauses of 200 ms, give or take 100.
    expect(took).toBeGreaterThan(200);
  });

  test("rejects on its first call as well, within keepFor", async () => {
    const { time, redlock, nodes } = virtualSetting(3);
    for (const node of nodes) node.cut();
    const { took, error } = await time.measure(once(redlock, "job", { keepFor: 3000 }, done));
    expect(error).toBeInstanceOf(ExecutionError);
    expect(took).toBe(3000);
  });

  test("tries no longer than keepFor, after which another one's lock may be over", async () => {
    const { time, redlock, nodes } = virtualSetting(3, { retryCount: -1 });
    await time.run(once(redlock, "other", { keepFor }, done));
    for (const node of nodes) node.cut();
    const { took, error } = await time.measure(once(redlock, "job", { keepFor: 3000 }, done));
    expect(error).toBeInstanceOf(ExecutionError);
    expect(took).toBeGreaterThanOrEqual(3000);
    expect(took).toBeLessThan(3300);
  });

  test("runs the job when a quorum is back within its retries", async () => {
    const { time, redlock, nodes } = virtualSetting(3, { retryCount: 10 });
    await time.run(once(redlock, "other", { keepFor }, done));
    for (const node of nodes) node.cut();
    const calling = once(redlock, "job", { keepFor }, done);
    await time.advance(500);
    for (const node of nodes) node.restore();
    expect(await time.run(calling)).toEqual({ ran: true, value: "done" });
  });

  test("waits for the first connections, and for none later", async () => {
    const { time, redlock, nodes } = virtualSetting(3);
    for (const node of nodes) node.connectIn(2000);
    expect(await time.run(once(redlock, "job", { keepFor, ttl: 1000 }, done))).toMatchObject({ ran: true });
    const before = nodes[0]!.sent.filter(({ kind }) => kind === "inspect").length;
    await time.run(once(redlock, "next", { keepFor, ttl: 1000 }, done));
    expect(nodes[0]!.sent.filter(({ kind }) => kind === "inspect").length).toBe(before);
  });

  test("is ended by the caller's signal", async () => {
    const { time, redlock, nodes } = virtualSetting(3, { retryCount: -1 });
    await time.run(once(redlock, "other", { keepFor }, done));
    for (const node of nodes) node.cut();
    const controller = new AbortController();
    const calling = once(redlock, "job", { keepFor, signal: controller.signal }, done);
    calling.catch(() => {});
    await time.advance(1000);
    controller.abort("enough");
    const { took, error } = await time.measure(calling);
    expect(error).toBeInstanceOf(AbortError);
    expect(took).toBe(0);
  });

  test("is ended by the caller's signal while it waits for the first connections", async () => {
    const { time, redlock, nodes } = virtualSetting(3);
    for (const node of nodes) node.connectIn(5000);
    const controller = new AbortController();
    const calling = once(redlock, "job", { keepFor, signal: controller.signal }, done);
    calling.catch(() => {});
    await time.advance(1000);
    controller.abort("enough");
    const { took, error } = await time.measure(calling);
    expect(error).toBeInstanceOf(AbortError);
    expect(took).toBe(0);
  });
});

/** Another process has the job on every master, and the third one hangs. */
async function refusedSetting(options?: RedlockOptions): Promise<VirtualSetting> {
  const setting = virtualSetting(3, options);
  for (const master of setting.masters) master.put("job", "another", keepFor);
  await setting.time.run(setting.redlock.ready());
  setting.nodes[2]!.hang();
  return setting;
}

describe("a call that is refused while a master hangs", () => {
  test.each([undefined, 5000])(
    "settles by its own nodeTimeout, not by that of the constructor: %s",
    async (nodeTimeout) => {
      const { time, redlock } = await refusedSetting({ nodeTimeout });
      const calling = once(redlock, "job", { keepFor, nodeTimeout: 20 }, done);
      const { took } = await time.measure(calling);
      expect(await calling).toMatchObject({ ran: false });
      // One for the vote, and one for the reading.
      expect(took).toBeLessThanOrEqual(40);
    },
  );

  test("is ended by the caller's signal while it reads the masters", async () => {
    const { time, redlock } = await refusedSetting();
    const controller = new AbortController();
    const calling = once(redlock, "job", { keepFor, signal: controller.signal }, done);
    calling.catch(() => {});
    await time.advance(100);
    controller.abort("enough");
    const { took, error } = await time.measure(calling);
    expect(error).toBeInstanceOf(AbortError);
    expect(took).toBe(0);
  });

  test("is ended by quit while it reads the masters", async () => {
    const { time, redlock } = await refusedSetting();
    const calling = once(redlock, "job", { keepFor }, done);
    calling.catch(() => {});
    await time.advance(100);
    void redlock.quit();
    const { took, error } = await time.measure(calling);
    expect(error).toBeInstanceOf(ClosedError);
    expect(took).toBe(0);
  });
});

describe("votes that no quorum keeps", () => {
  test("of a process that died do not say that the job runs: it runs when they have expired", async () => {
    const { time, redlock, masters, nodes } = virtualSetting(3, { retryCount: 10 });
    await time.run(once(redlock, "other", { keepFor }, done));
    // One vote refuses, and of two others one is out of reach.
    masters[0]!.put("job", "a process that died", 900);
    nodes[2]!.cut();
    expect(await time.run(once(redlock, "job", { keepFor }, done))).toEqual({ ran: true, value: "done" });
  });

  test("of rivals that split them leave the job to a later try", async () => {
    const { time, redlock, masters } = virtualSetting(3, { retryCount: 10 });
    await time.run(once(redlock, "other", { keepFor }, done));
    masters[0]!.put("job", "one", 700);
    masters[1]!.put("job", "another", 700);
    expect(await time.run(once(redlock, "job", { keepFor }, done))).toEqual({ ran: true, value: "done" });
  });

  test("that outlast all retries end the call with an error", async () => {
    const { time, redlock, masters } = virtualSetting(3, { retryCount: 2 });
    masters[0]!.put("job", "one", keepFor);
    masters[1]!.put("job", "another", keepFor);
    const { error } = await time.measure(once(redlock, "job", { keepFor }, done));
    expect(error).toBeInstanceOf(ResourceLockedError);
    expect((error as ResourceLockedError).remaining).toBeGreaterThan(keepFor - 2000);
  });

  test.each(Array.from({ length: 20 }, (_, seed) => seed + 1))(
    "of seven processes at one moment let exactly one run it (seed %i)",
    async (seed) => {
      const setting = virtualSetting(3);
      const { time } = setting;
      const clients = Array.from({ length: 7 }, (_, index) => another(setting, seed * 10 + index));
      for (const [index, { nodes }] of clients.entries())
        for (const [place, node] of nodes.entries()) node.toMaster = 1 + ((seed + index * 3 + place * 5) % 4);
      const options = { keepFor, retryCount: 10 };
      const results = await time.run(
        Promise.all(clients.map(({ redlock }) => once(redlock, "job", options, done))),
      );
      expect(results.filter(({ ran }) => ran)).toHaveLength(1);
    },
  );
});

describe("a coordinator for node-cron", () => {
  test("lets one of two run a task, for the time that node-cron asks for", async () => {
    const setting = virtualSetting(3);
    const { time, redlock } = setting;
    const key = "job:2026-11-23T07:52:42.000Z";
    const [mine, others] = [runCoordinator(redlock), runCoordinator(another(setting).redlock)];
    expect(await time.run(mine.shouldRun(key, 30_000))).toBe(true);
    expect(await time.run(others.shouldRun(key, 30_000))).toBe(false);
    expect(Math.min(...lifetimes(setting, key))).toBeGreaterThan(29_900);
    expect(Math.max(...lifetimes(setting, key))).toBeLessThanOrEqual(30_000);
    expect(await time.run(others.shouldRun("job:2026-11-23T07:52:43.000Z", 30_000))).toBe(true);
  });

  test("asks for the resource that once has for this name and time", async () => {
    const setting = virtualSetting(3);
    const { time, redlock } = setting;
    const at = new Date("2026-11-23T07:52:42Z");
    await time.run(once(redlock, "job", { keepFor, at }, done));
    const coordinator = runCoordinator(another(setting).redlock);
    expect(await time.run(coordinator.shouldRun("job:2026-11-23T07:52:42.000Z", 30_000))).toBe(false);
  });

  test("keeps for its own keepFor, if it has one", async () => {
    const setting = virtualSetting(3);
    await setting.time.run(runCoordinator(setting.redlock, { keepFor }).shouldRun("job:1", 30_000));
    expect(Math.min(...lifetimes(setting, "job:1"))).toBeGreaterThan(keepFor - 100);
  });

  test("rejects without a quorum, so that nobody runs the task", async () => {
    const { time, redlock, nodes } = virtualSetting(3);
    await time.run(runCoordinator(redlock).shouldRun("job:1", 30_000));
    for (const node of nodes) node.cut();
    const { error } = await time.measure(runCoordinator(redlock).shouldRun("job:2", 30_000));
    expect(error).toBeInstanceOf(ExecutionError);
  });

  test.each([
    [{ keepFor: 0 }, /keepFor must be/],
    [{ at: 0 }, /"at" is an option of once, not of runCoordinator/],
    [{ keepOnError: true }, /"keepOnError"/],
  ])("refuses %j when it is made", (options, message) => {
    const { redlock } = virtualSetting(3);
    expect(() => runCoordinator(redlock, options as object)).toThrow(InvalidArgumentError);
    expect(() => runCoordinator(redlock, options as object)).toThrow(message);
  });
});
