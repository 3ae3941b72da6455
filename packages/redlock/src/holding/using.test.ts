import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { AbortError, InvalidArgumentError, LockLostError, ResourceLockedError } from "../errors.ts";
import { Gate, VirtualClient, virtualSetting } from "../virtual-time.test.ts";
import { Lock } from "./lock.ts";

describe("using", () => {
  test("runs the routine with the lock held, then releases it", async () => {
    const { time, masters, redlock } = virtualSetting(3);
    const using = redlock.using(["a", "b"], 1000, async (signal, lock) => {
      expect(lock).toBeInstanceOf(Lock);
      expect(lock.state).toBe("held");
      expect(signal.aborted).toBe(false);
      expect(masters[0]!.owner("b")).toBe(lock.value);
      return 42;
    });
    expect(await time.run(using)).toBe(42);
    await time.advance(5);
    for (const master of masters)
      expect([master.owner("a"), master.owner("b")]).toEqual([undefined, undefined]);
  });

  test("takes settings before the routine, as redlock 5 does, and a routine that does not wait", async () => {
    const { time, nodes, redlock } = virtualSetting(3);
    expect(await time.run(redlock.using("r", 1000, { nodeTimeout: 30 }, () => "plain"))).toBe("plain");
    expect(await time.run(redlock.using("r", 1000, undefined, () => "plain"))).toBe("plain");
    expect(nodes[0]!.kinds).toEqual(["vote", "release", "vote", "release"]);
  });

  test.each([
    ["using", { nodeTimeout: 800 }, { nodeTimeout: 100 }, 102],
    ["the constructor", { nodeTimeout: 100 }, undefined, 102],
  ])("releases within the nodeTimeout of %s", async (_, ofAll, own, most) => {
    const { time, nodes, redlock } = virtualSetting(3, ofAll);
    const using = redlock.using("r", 1000, own, () => {
      for (const node of nodes) node.hang();
    });
    expect((await time.measure(using)).took).toBeLessThanOrEqual(most + 2);
  });

  test("with one of two locked keys rejects as acquire does, and runs nothing", async () => {
    const { time, masters, redlock } = virtualSetting(3);
    for (const master of masters) master.put("r", "rival");
    let ran = false;
    const using = redlock.using("r", 1000, () => {
      ran = true;
    });
    await expect(time.run(using)).rejects.toThrow(ResourceLockedError);
    expect(ran).toBe(false);
  });

  test.each([
    ["nothing", undefined],
    ["a string", "routine"],
    ["an object", {}],
  ])("with %s for a routine is refused before anything is sent", async (_, routine) => {
    const { nodes, redlock } = virtualSetting(3);
    await expect(redlock.using("r", 1000, {}, routine as never)).rejects.toThrow(InvalidArgumentError);
    await expect(redlock.using("r", 1000, routine as never)).rejects.toThrow(InvalidArgumentError);
    expect(nodes[0]!.sent).toEqual([]);
  });

  test("a threshold that leaves no time is refused, one from the constructor is fitted", async () => {
    const { time, redlock } = virtualSetting(3, { automaticExtensionThreshold: 5000 });
    const given = redlock.using("r", 1000, { automaticExtensionThreshold: 1000 }, () => 1);
    await expect(given).rejects.toThrow(/^automaticExtensionThreshold must be below .*1000 ms .*1000 ms/);
    expect(await time.run(redlock.using("r", 1000, () => 1))).toBe(1);
  });
});

describe("the routine's outcome wins", () => {
  test("what it throws comes out, though the lock was lost", async () => {
    const { time, nodes, redlock } = virtualSetting(3);
    const using = redlock.using("r", 1000, async (_, lock) => {
      for (const node of nodes) node.cut();
      await new Promise((resolve) => lock.signal.addEventListener("abort", resolve));
      expect(lock.state).toBe("lost");
      throw new TypeError("the routine's own");
    });
    await expect(time.run(using)).rejects.toThrow(new TypeError("the routine's own"));
  });

  test("what it returns comes out, though the key was gone at the release", async () => {
    const { time, masters, redlock } = virtualSetting(3, { retryCount: -1 });
    const using = redlock.using("r", 1000, () => {
      for (const master of masters) master.put("r", "rival");
      return "result";
    });
    expect(await time.measure(using)).toMatchObject({ took: 4, error: undefined });
    expect(await using).toBe("result");
    for (const master of masters) expect(master.owner("r")).toBe("rival");
  });

  test("what it returns comes out, though no master answers the release", async () => {
    const { time, nodes, redlock } = virtualSetting(3, { nodeTimeout: 50 });
    const using = redlock.using("r", 1000, () => {
      for (const node of nodes) node.hang();
      return "result";
    });
    expect(await time.measure(using)).toMatchObject({ took: 52, error: undefined });
  });

  test("a lock is released even if its routine throws before it waits", async () => {
    const { time, masters, redlock } = virtualSetting(3);
    const using = redlock.using("r", 1000, () => {
      throw new Error("at once");
    });
    await expect(time.run(using)).rejects.toThrow("at once");
    await time.advance(5);
    expect(masters[0]!.owner("r")).toBeUndefined();
  });
});

test("a lock that the routine extends and releases early is neither extended nor released again", async () => {
  const { time, nodes, redlock } = virtualSetting(3);
  await time.run(
    redlock.using("r", 1000, async (signal, lock) => {
      await lock.extend(2000);
      expect(lock.remaining()).toBeGreaterThan(1900);
      expect((await lock.release()).outcome).toBe("released");
      expect(signal.aborted).toBe(false);
    }),
  );
  for (const node of nodes) expect(node.kinds).toEqual(["vote", "extend", "release"]);
});

describe("a lock that the routine detaches", () => {
  test("is neither extended nor released any more, and emits no event", async () => {
    const { time, nodes, masters, redlock, client } = virtualSetting(3);
    let json = "";
    const using = redlock.using("r", 1000, async (_, lock) => {
      json = JSON.stringify(await lock.detach());
      await new Promise<void>((resolve) => void time.timers(resolve, 600));
      return "done";
    });
    expect(await time.run(using)).toBe("done");
    // (The question behind all that was sent, see `detach`.)
    for (const node of nodes) expect(node.kinds).toEqual(["vote", "extend"]);
    const taker = new VirtualClient(masters, {}, 2);
    const lock = taker.redlock.resume(JSON.parse(json));
    expect(await time.run(lock.verify())).toBe(true);
    expect(lock.remaining()).toBeGreaterThan(300);
    expect(client.faults).toEqual([]);
    expect(client.lost).toEqual([]);
  });
});

describe("the routine's signal", () => {
  test.each([
    ["alone", undefined],
    ["with the caller's", new AbortController().signal],
  ])("tells when it is read, %s, that the loop was blocked for too long", async (_, signal) => {
    const { time, machine, redlock } = virtualSetting(3);
    await time.run(
      redlock.using("r", 1000, { signal }, async (given, lock) => {
        expect(given.aborted).toBe(false);
        machine.block(1000);
        expect(given.aborted).toBe(true);
        expect(given.reason).toMatchObject({ code: "LOCK_LOST" });
        expect(given.error).toBe(given.reason);
        expect(lock.state).toBe("lost");
      }),
    );
  });

  test("tells when it is read that the lock of the caller's signal was lost meanwhile", async () => {
    const { time, machine, redlock } = virtualSetting(3);
    await time.run(
      redlock.using("outer", 1000, (outer) =>
        redlock.using("inner", 10_000, { signal: outer }, (inner, lock) => {
          machine.block(1000);
          expect(inner.aborted).toBe(true);
          expect(inner.reason).toBe(outer.reason);
          expect(lock.state).toBe("held");
        }),
      ),
    );
  });

  test("aborts when the lock is lost, with the reason where redlock 5 has it", async () => {
    const { time, nodes, redlock } = virtualSetting(3);
    const told = await time.run(
      redlock.using("r", 1000, async (signal) => {
        for (const node of nodes) node.cut();
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        return { at: time.now(), reason: signal.reason as unknown, error: signal.error };
      }),
    );
    expect(told.reason).toBeInstanceOf(LockLostError);
    expect(told.error).toBe(told.reason);
    expect(told.at).toBeLessThan(1000);
  });

  test("aborts when the caller's own does, and the lock is held until the routine has ended", async () => {
    const { time, masters, redlock } = virtualSetting(3);
    const controller = new AbortController();
    const using = redlock.using("r", 1000, { signal: controller.signal }, async (signal, lock) => {
      setImmediate(() => controller.abort("enough"));
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      expect([lock.state, masters[0]!.owner("r")]).toEqual(["held", lock.value]);
      return signal.reason as unknown;
    });
    expect(await time.run(using)).toBe("enough");
  });

  test("with a caller's signal too, the loss is at signal.error", async () => {
    const { time, nodes, redlock } = virtualSetting(3);
    const { signal } = new AbortController();
    const error = await time.run(
      redlock.using("r", 1000, { signal }, async (routineSignal) => {
        for (const node of nodes) node.cut();
        await new Promise((resolve) => routineSignal.addEventListener("abort", resolve));
        return routineSignal.error;
      }),
    );
    expect(error).toBeInstanceOf(LockLostError);
  });

  test("leaves nothing tied to a caller's signal that lives on", async () => {
    const { time, redlock } = virtualSetting(3);
    const { signal } = new AbortController();
    await time.run(redlock.using("r", 1000, { signal }, () => 1));
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  test("a caller's signal that is aborted already runs nothing", async () => {
    const { nodes, redlock } = virtualSetting(3);
    const using = redlock.using("r", 1000, { signal: AbortSignal.abort() }, () => 1);
    await expect(using).rejects.toThrow(AbortError);
    expect(nodes[0]!.sent).toEqual([]);
  });

  test("aborts when quit releases the lock: another may hold it from then on", async () => {
    const { time, redlock } = virtualSetting(3);
    let seen: AbortSignal | undefined;
    const gate = new Gate();
    const using = redlock.using("r", 1000, async (signal) => {
      seen = signal;
      await gate.opened;
    });
    await time.advance(5);
    await time.run(redlock.quit());
    expect(seen?.aborted).toBe(true);
    gate.open();
    await time.run(using);
  });
});
