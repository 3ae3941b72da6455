import { describe, expect, test } from "vitest";
import { ClosedError, ExecutionError, InvalidArgumentError, LockLostError } from "../errors.ts";
import type { Lock } from "../holding/lock.ts";
import { Gate, VirtualClient, type VirtualSetting, virtualSetting } from "../virtual-time.test.ts";
import { type LeadOptions, lead } from "./lead.ts";

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve()));

const failing = (): Promise<never> => Promise.reject(new TypeError("mine"));

const throwing = (): never => {
  throw new TypeError("mine");
};

const failingWithLoss = (): Promise<never> => Promise.reject(new LockLostError(["r"], "mine"));

async function failingToStop(signal: AbortSignal): Promise<never> {
  await untilAborted(signal);
  throw new TypeError("while stopping");
}

/** The events of a candidate, with their times. */
function chronicle({ time }: VirtualSetting): { told: Array<[string, number]>; listeners: LeadOptions } {
  const told: Array<[string, number]> = [];
  const tell = (what: string) => () => void told.push([what, time.now()]);
  return { told, listeners: { onStart: tell("start"), onStop: tell("stop"), onError: tell("error") } };
}

describe("a leader", () => {
  test("leads until the caller's signal aborts, extended; then it releases, and lead resolves", async () => {
    const setting = virtualSetting(3);
    const { time, masters, redlock } = setting;
    const { told, listeners } = chronicle(setting);
    const controller = new AbortController();
    const leading = lead(redlock, "r", 1000, untilAborted, { ...listeners, signal: controller.signal });
    await time.advance(10_000);
    expect(masters[0]!.owner("r")).toBeDefined();
    expect(told).toEqual([["start", 2]]);
    controller.abort();
    await time.run(leading);
    expect(told.slice(1)).toEqual([["stop", 10_000]]);
    await time.advance(5);
    expect(masters.map((master) => master.owner("r"))).toEqual([undefined, undefined, undefined]);
  });

  test("that returns steps down, and is a candidate again after others had their turn", async () => {
    const setting = virtualSetting(3);
    const { time, masters, redlock } = setting;
    const terms = new Map<string, number>();
    const candidate = (name: string, of: VirtualClient["redlock"]) =>
      void lead(of, "r", 1000, () => void terms.set(name, (terms.get(name) ?? 0) + 1), { retryDelay: 5 });
    candidate("a", redlock);
    candidate("b", new VirtualClient(masters, {}, 2).redlock);
    await time.advance(10_000);
    // Pauses of 50 to 100 ms: neither a hot loop nor one that leads alone.
    for (const name of ["a", "b"]) {
      expect(terms.get(name)).toBeGreaterThan(80);
      expect(terms.get(name)).toBeLessThan(200);
    }
  });

  test("that throws releases and ends lead with its error", async () => {
    const setting = virtualSetting(3);
    const { time, masters, redlock } = setting;
    const { told, listeners } = chronicle(setting);
    await expect(time.run(lead(redlock, "r", 1000, failing, listeners))).rejects.toThrow(
      new TypeError("mine"),
    );
    expect(told.map(([what]) => what)).toEqual(["start", "stop"]);
    await time.advance(5);
    expect(masters[0]!.owner("r")).toBeUndefined();
  });

  test.each<[string, (setting: VirtualSetting) => LeadOptions]>([
    ["onStart", () => ({ onStart: throwing })],
    ["onStart, later", () => ({ onStart: failing })],
    ["onStop, when the routine has ended", () => ({ onStop: throwing })],
    ["onStop, later", () => ({ onStop: failing })],
    [
      "onStop, when the caller's signal has aborted",
      () => ({ onStop: throwing, signal: AbortSignal.abort() }),
    ],
  ])("ends with what a callback throws, and nothing is left: %s", async (_, optionsOf) => {
    const setting = virtualSetting(3);
    const { time, masters, redlock } = setting;
    const { signal: aborted, ...options } = optionsOf(setting);
    const controller = new AbortController();
    const routine = async () => {
      await new Promise<void>((resolve) => void time.timers(resolve, 100));
      if (aborted) controller.abort();
    };
    const leading = time.run(lead(redlock, "r", 1000, routine, { ...options, signal: controller.signal }));
    await expect(leading).rejects.toThrow(new TypeError("mine"));
    await time.advance(5);
    expect(masters.map((master) => master.owner("r"))).toEqual([undefined, undefined, undefined]);
  });

  test.each([throwing, failing, failingWithLoss])(
    "ends with what onStop throws when the lock is lost, once its routine has ended (%#)",
    async (onStop) => {
      const { time, nodes, redlock } = virtualSetting(3);
      const routine = new Gate();
      let stopped = 0;
      const options = {
        onStop: () => {
          stopped += 1;
          return onStop();
        },
      };
      const leading = lead(redlock, "r", 1000, () => routine.opened, options);
      let ended: unknown;
      leading.catch((error: unknown) => {
        ended = error;
      });
      await time.advance(10);
      for (const node of nodes) node.cut();
      await time.advance(1500);
      expect([stopped, ended]).toEqual([1, undefined]);
      for (const node of nodes) node.restore();
      routine.open();
      await expect(time.run(leading)).rejects.toThrow("mine");
      expect(stopped).toBe(1);
    },
  );

  test.each([throwing, failing, failingWithLoss])("ends with what onError throws (%#)", async (onError) => {
    const { time, nodes, redlock } = virtualSetting(3, { nodeTimeout: 50 });
    for (const node of nodes) node.hang();
    await expect(time.run(lead(redlock, "r", 1000, untilAborted, { onError }))).rejects.toThrow("mine");
  });

  test("ends with the routine's error, where onStop throws after it", async () => {
    const { time, redlock } = virtualSetting(3);
    await expect(
      time.run(lead(redlock, "r", 1000, failing, { onStop: failingWithLoss })),
    ).rejects.toBeInstanceOf(TypeError);
  });

  test("waits for a promise of onStop before it gives the lock up", async () => {
    const { time, masters, redlock } = virtualSetting(3);
    const gate = new Gate();
    const controller = new AbortController();
    const options = { onStop: () => gate.opened, signal: controller.signal };
    const leading = lead(redlock, "r", 1000, untilAborted, options);
    await time.advance(10);
    controller.abort();
    await time.advance(5000);
    expect(masters[0]!.owner("r")).toBeDefined();
    gate.open();
    await time.run(leading);
    await time.advance(5);
    expect(masters[0]!.owner("r")).toBeUndefined();
  });

  test("that lost the lock is notified at once, and is a candidate again when its routine has ended", async () => {
    const setting = virtualSetting(3);
    const { time, nodes, redlock } = setting;
    const { told, listeners } = chronicle(setting);
    const controller = new AbortController();
    const stopped = new Gate();
    const locks: Lock[] = [];
    const routine = async (signal: AbortSignal, lock: Lock) => {
      locks.push(lock);
      await untilAborted(signal);
      await stopped.opened;
      signal.throwIfAborted();
    };
    const leading = lead(redlock, "r", 1000, routine, { ...listeners, signal: controller.signal });
    await time.advance(10);
    for (const node of nodes) node.cut();
    await time.advance(1000);
    expect(told.map(([what]) => what)).toEqual(["start", "stop"]);
    expect(told[1]![1]).toBeLessThan(1000);
    expect(locks[0]!.signal.reason).toBeInstanceOf(LockLostError);
    for (const node of nodes) node.restore();
    stopped.open();
    await time.advance(1500);
    expect(told.map(([what]) => what)).toEqual(["start", "stop", "start"]);
    expect(locks[1]!.value).not.toBe(locks[0]!.value);
    controller.abort();
    await time.run(leading);
  });

  test("that is told to end while it starts does not run its routine, and releases", async () => {
    const setting = virtualSetting(3);
    const { time, masters, redlock } = setting;
    const { told, listeners } = chronicle(setting);
    const controller = new AbortController();
    const gate = new Gate();
    let runs = 0;
    const routine = (signal: AbortSignal) => {
      runs += 1;
      return untilAborted(signal);
    };
    const onStart = () => gate.opened;
    const options = { ...listeners, onStart, signal: controller.signal };
    const leading = lead(redlock, "r", 1000, routine, options);
    await time.advance(10);
    controller.abort();
    gate.open();
    await time.run(leading);
    expect([runs, told.map(([what]) => what)]).toEqual([0, ["stop"]]);
    await time.advance(5);
    expect(masters.map((master) => master.owner("r"))).toEqual([undefined, undefined, undefined]);
  });

  test("that is told to end by a quit with a drain while it starts does not run its routine", async () => {
    const { time, masters, redlock } = virtualSetting(3);
    const gate = new Gate();
    let runs = 0;
    const routine = (signal: AbortSignal) => {
      runs += 1;
      return untilAborted(signal);
    };
    const leading = lead(redlock, "r", 1000, routine, { onStart: () => gate.opened });
    await time.advance(10);
    const begun = time.now();
    const quitting = redlock.quit({ drain: 10_000 });
    gate.open();
    await time.run(Promise.all([leading, quitting]));
    expect(time.now() - begun).toBeLessThan(1000);
    expect([runs, masters[0]!.owner("r")]).toEqual([0, undefined]);
  });

  test("that loses the lock while it starts does not run its routine, and is a candidate again", async () => {
    const { time, nodes, redlock } = virtualSetting(3);
    const gate = new Gate();
    const events: string[] = [];
    const routine = (signal: AbortSignal) => {
      events.push(signal.aborted ? "aborted" : "runs");
      return untilAborted(signal);
    };
    const controller = new AbortController();
    const onStart = () => {
      events.push("starts");
      return gate.opened;
    };
    const onStop = () => void events.push("stops");
    const leading = lead(redlock, "r", 1000, routine, { onStart, onStop, signal: controller.signal });
    await time.advance(10);
    for (const node of nodes) node.cut();
    await time.advance(1500);
    for (const node of nodes) node.restore();
    gate.open();
    await time.advance(2000);
    expect(events).toEqual(["starts", "stops", "starts", "runs"]);
    controller.abort();
    await time.run(leading);
  });

  test.each([
    ["the reason", (signal: AbortSignal) => signal.reason],
    ["an error caused by it", (signal: AbortSignal) => new Error("stopped", { cause: signal.reason })],
    ["an AbortError", () => new DOMException("aborted", "AbortError")],
    ["a lock that is lost", () => new LockLostError(["r"], "it was released")],
  ])("that throws %s because its signal aborted has not failed", async (_, thrown) => {
    const { time, redlock } = virtualSetting(3);
    const controller = new AbortController();
    const routine = async (signal: AbortSignal) => {
      await untilAborted(signal);
      throw thrown(signal);
    };
    const leading = lead(redlock, "r", 1000, routine, { signal: controller.signal });
    await time.advance(10);
    controller.abort();
    expect(await time.run(leading)).toBeUndefined();
  });

  test("that throws something else when its signal aborted has failed", async () => {
    const { time, redlock } = virtualSetting(3);
    const controller = new AbortController();
    const leading = lead(redlock, "r", 1000, failingToStop, { signal: controller.signal });
    await time.advance(10);
    controller.abort();
    await expect(time.run(leading)).rejects.toThrow(new TypeError("while stopping"));
  });

  test("gives the lock up in the moment of quit; lead resolves when the routine has ended", async () => {
    const setting = virtualSetting(3);
    const { time, masters, redlock } = setting;
    const { told, listeners } = chronicle(setting);
    const ended = new Gate();
    let seen: AbortSignal | undefined;
    const routine = async (signal: AbortSignal) => {
      seen = signal;
      await ended.opened;
    };
    let resolved = false;
    const leading = lead(redlock, "r", 1000, routine, listeners).then(() => {
      resolved = true;
    });
    await time.advance(100);
    await time.run(redlock.quit());
    expect(seen?.aborted).toBe(true);
    expect(told).toEqual([
      ["start", 2],
      ["stop", 100],
    ]);
    expect(masters[0]!.owner("r")).toBeUndefined();
    expect(resolved).toBe(false);
    ended.open();
    await time.run(leading);
  });

  test("is told to end by a quit with a drain, which releases the lock once the routine has ended", async () => {
    const { time, masters, client, redlock } = virtualSetting(3);
    const ended = new Gate();
    let reason: unknown;
    const leading = lead(redlock, "r", 1000, async (signal) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      ({ reason } = signal);
      await ended.opened;
    });
    await time.advance(100);
    const quitting = redlock.quit({ drain: 10_000 });
    await time.advance(2000);
    expect(reason).toBeInstanceOf(ClosedError);
    expect(masters[0]!.owner("r")).toBeDefined();
    ended.open();
    await time.run(Promise.all([leading, quitting]));
    expect(masters[0]!.owner("r")).toBeUndefined();
    expect(client.lost).toEqual([]);
  });
});

describe("a candidate", () => {
  test("waits for ever while another leads, reports nothing, and ends with the caller's signal", async () => {
    const setting = virtualSetting(3, { waitTimeout: 10 });
    const { time, masters, redlock, machine } = setting;
    const { told, listeners } = chronicle(setting);
    for (const master of masters) master.put("r", "rival");
    const controller = new AbortController();
    const leading = lead(redlock, "r", 1000, untilAborted, { ...listeners, signal: controller.signal });
    await time.advance(60_000);
    expect(told).toEqual([]);
    controller.abort();
    await time.run(leading);
    expect(machine.referencedTimers).toBe(0);
  });

  test("follows when the leader is gone", async () => {
    const setting = virtualSetting(3);
    const { time, masters, redlock } = setting;
    const { told, listeners } = chronicle(setting);
    for (const master of masters) master.put("r", "rival", 5000);
    void lead(redlock, "r", 1000, untilAborted, listeners);
    await time.advance(5500);
    expect(told.map(([what]) => what)).toEqual(["start"]);
    expect(told[0]![1]).toBeLessThan(5100);
  });

  test("goes on through a time without a quorum, reports it about once a ttl, and then leads", async () => {
    const setting = virtualSetting(3);
    const { time, nodes, redlock } = setting;
    const { told, listeners } = chronicle(setting);
    const errors: unknown[] = [];
    const onError = (error: ExecutionError) => void errors.push(error);
    for (const node of nodes.slice(1)) node.cut();
    void lead(redlock, "r", 1000, untilAborted, { ...listeners, onError });
    await time.advance(30_000);
    expect(told).toEqual([]);
    expect(errors.length).toBeGreaterThan(20);
    expect(errors.length).toBeLessThanOrEqual(30);
    expect(errors[0]).toBeInstanceOf(ExecutionError);
    expect(errors[0]).toMatchObject({ code: "NO_QUORUM" });
    for (const node of nodes.slice(1)) node.restore();
    await time.advance(1500);
    expect(told.map(([what]) => what)).toEqual(["start"]);
  });

  test("ends with quit, also in the pause between two terms", async () => {
    const { time, redlock, machine } = virtualSetting(3);
    let terms = 0;
    const leading = lead(redlock, "r", 100_000, () => {
      terms += 1;
    });
    await time.advance(100);
    const begun = time.now();
    await time.run(redlock.quit());
    await time.run(leading);
    expect(time.now() - begun).toBeLessThan(10);
    expect([terms, machine.referencedTimers]).toEqual([1, 0]);
  });

  test("does nothing once quit was called, or with a signal that is aborted", async () => {
    const { time, nodes, redlock } = virtualSetting(3);
    await time.run(lead(redlock, "r", 1000, untilAborted, { signal: AbortSignal.abort() }));
    await time.run(redlock.quit());
    await time.run(lead(redlock, "r", 1000, untilAborted));
    expect(nodes[0]!.sent).toEqual([]);
  });

  test.each([
    ["before the call", 0],
    ["after some terms", 5000],
  ])("rejects with a LockLostError once its parent has ended, and reports nothing: %s", async (_, after) => {
    const { time, masters, redlock } = virtualSetting(3, { reentrant: "handle" });
    const parent = await time.run(redlock.acquire("r", 10_000));
    const errors: unknown[] = [];
    let terms = 0;
    const routine = () => {
      terms += 1;
    };
    const release = () => time.run(parent.release());
    if (after === 0) await release();
    const leading = lead(redlock, "r", 1000, routine, {
      parent,
      onError: (error) => void errors.push(error),
    });
    const outcome = leading.catch((error: unknown) => error);
    await time.advance(after);
    if (after > 0) await release();
    expect(await time.run(outcome)).toBeInstanceOf(LockLostError);
    expect([terms > 1, errors]).toEqual([after > 0, []]);
    await time.advance(5);
    expect(masters[0]!.owner("r")).toBeUndefined();
  });

  test.each([
    ["no routine", ["r", 1000, undefined]],
    ["no resource", ["", 1000, untilAborted]],
    ["a ttl that cannot be", ["r", -1, untilAborted]],
    ["a signal that is none", ["r", 1000, untilAborted, { signal: "stop" }]],
  ])("with %s is refused before anything is sent", async (_, args) => {
    const { redlock, nodes } = virtualSetting(3);
    const leading = (lead as (...args: unknown[]) => Promise<void>)(redlock, ...args);
    await expect(leading).rejects.toThrow(InvalidArgumentError);
    expect(nodes[0]!.sent).toEqual([]);
  });
});
