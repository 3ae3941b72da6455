import {
  ExecutionError,
  InvalidArgumentError,
  type Lock,
  LockLostError,
  ResourceLockedError,
} from "@quorlock/redlock";
import { type Master, Stalls } from "@quorlock/testbed";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet, fresh, rejection, timed } from "../fleet/fleet.ts";
import { WireTap } from "../fleet/wire-tap.ts";

let fleet: Fleet;
const hung: Master[] = [];

beforeAll(async () => {
  fleet = await Fleet.start(3);
});
afterEach(async () => {
  for (const master of hung.splice(0)) await master.resume();
  fleet.closeAll();
});
afterAll(() => fleet?.stop());

async function hang(masters: readonly Master[]): Promise<void> {
  for (const master of masters) {
    await master.hang();
    hung.push(master);
  }
}

const aborted = (signal: AbortSignal): Promise<unknown> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason);
    signal.addEventListener("abort", () => resolve(signal.reason));
  });

describe("the routine", () => {
  it("runs under the lock, and its value is what using comes to", async () => {
    const { redlock } = fleet.open();
    const resource = fresh();
    const value = await redlock.using([resource], 5000, async (signal, lock) => {
      expect(signal.aborted).toBe(false);
      expect(lock.state).toBe("held");
      expect(lock.resources).toEqual([resource]);
      const values = await fleet.values(resource);
      expect(values.filter((held) => held === lock.value).length).toBeGreaterThanOrEqual(2);
      expect(await fleet.open().redlock.tryAcquire(resource, 5000)).toBeNull();
      return { answer: 42 };
    });
    expect(value).toEqual({ answer: 42 });
    await fleet.untilGone(resource);
  });

  it.each([
    ["a value, at once", () => 7, { value: 7 }],
    ["nothing", () => undefined, { value: undefined }],
    ["a rejection", () => Promise.reject(new RangeError("mine")), { error: "mine" }],
    [
      "a throw",
      () => {
        throw new RangeError("mine, at once");
      },
      { error: "mine, at once" },
    ],
  ])("may come to %s", async (_, routine, expected) => {
    const { redlock } = fleet.open();
    const resource = fresh();
    const outcome = await redlock.using(resource, 5000, routine as () => unknown).then(
      (value) => ({ value }),
      (error: Error) => ({ error: error.message }),
    );
    expect(outcome).toEqual(expected);
    await fleet.untilGone(resource);
  });

  it.each(["returns", "throws"])(
    "that %s is what counts, also when the lock was lost meanwhile",
    async (how) => {
      const { redlock } = fleet.open();
      const resource = fresh();
      const { result, net } = await timed(() =>
        redlock
          .using(resource, 5000, async (_, lock) => {
            await Promise.all(lock.attempts);
            await fleet.occupy(resource);
            if (how === "throws") throw new RangeError("mine");
            return "done";
          })
          .catch((error: Error) => error.message),
      );
      expect(result).toBe(how === "throws" ? "mine" : "done");
      expect(net).toBeLessThan(1500);
      expect(await fleet.values(resource)).toEqual(["another client", "another client", "another client"]);
      await fleet.free(resource);
    },
  );

  it("does not run when the lock is not to be had", async () => {
    const { redlock } = fleet.open({ retryCount: 0 });
    const resource = fresh();
    await fleet.occupy(resource);
    let ran = false;
    const error = await rejection(
      redlock.using(resource, 5000, () => {
        ran = true;
      }),
    );
    expect(error).toBeInstanceOf(ResourceLockedError);
    expect(ran).toBe(false);
    await fleet.free(resource);
  });

  it("must be there, and that is noticed before anything is sent", async () => {
    const { redlock } = fleet.open();
    const resource = fresh();
    const using = redlock.using.bind(redlock) as (...args: unknown[]) => Promise<unknown>;
    expect(await rejection(using(resource, 5000))).toBeInstanceOf(InvalidArgumentError);
    expect(await rejection(using(resource, 5000, {}))).toBeInstanceOf(InvalidArgumentError);
    expect(await fleet.values(resource)).toEqual([null, null, null]);
  });

  it("takes settings before it, as redlock 5 does, or undefined", async () => {
    const { redlock } = fleet.open();
    expect(await redlock.using(fresh(), 5000, { retryCount: 1 }, () => 1)).toBe(1);
    expect(await redlock.using(fresh(), 5000, undefined, () => 2)).toBe(2);
  });

  it("may release early, and extend by itself", async () => {
    const { redlock } = fleet.open();
    const resource = fresh();
    await redlock.using(resource, 5000, async (signal, lock) => {
      await lock.extend(20_000);
      expect(lock.remaining()).toBeGreaterThan(15_000);
      expect((await lock.release()).outcome).toBe("released");
      expect(signal.aborted).toBe(false);
      await fleet.untilGone(resource);
    });
  });
});

describe("renewal", () => {
  it("keeps a short lock for as long as the routine runs, and not at a mad rate", async () => {
    const { redlock } = fleet.open({ nodeTimeout: 300 });
    const rival = fleet.open({ nodeTimeout: 300 }).redlock;
    const resource = fresh();
    await using tap = await WireTap.on(fleet.admins[0]!);
    let tries = 0;
    await redlock.using(resource, 400, async (signal, lock) => {
      const end = performance.now() + 1500;
      while (performance.now() < end) {
        expect(await rival.tryAcquire(resource, 400)).toBeNull();
        tries += 1;
        expect(lock.remaining()).toBeGreaterThan(0);
      }
      expect(signal.aborted).toBe(false);
    });
    expect(tries).toBeGreaterThan(10);
    // Only an extension may set the key anew; the rival never has a lock to extend.
    const extensions = (await tap.commands()).filter(
      ({ words }) => words[0]!.startsWith("EVAL") && words.includes(resource) && words.at(-1) === "1",
    );
    // Due after a third of the ttl, and never before a tenth of it has passed.
    expect(extensions.length).toBeGreaterThanOrEqual(4);
    expect(extensions.length).toBeLessThanOrEqual(40);
    await fleet.untilGone(resource);
  });

  it.each([10, 30, 60])("does no harm to a lock of %i ms", async (ttl) => {
    const { redlock } = fleet.open({ nodeTimeout: ttl / 2 });
    const resource = fresh();
    // So short a lock may well run out on a busy machine, or not be got: then that is told.
    const outcome = await redlock
      .using(resource, ttl, async (signal) => {
        await fleet.admins[0]!.ping();
        return signal.aborted ? signal.reason : "held";
      })
      .catch((error: unknown) => error);
    if (outcome !== "held") expect(outcome).toBeInstanceOf(ExecutionError);
    await fleet.untilGone(resource);
  });

  it("keeps the lock while a minority hangs", async () => {
    const { redlock } = fleet.open({ nodeTimeout: 50 });
    const resource = fresh();
    await redlock.using(resource, 600, async (signal, lock) => {
      await hang(fleet.masters.slice(2));
      const end = performance.now() + 1200;
      await until("two ttls have passed", () => performance.now() > end);
      expect(signal.aborted).toBe(false);
      expect(lock.state).not.toBe("lost");
    });
  });

  it("survives that all hang for a part of the ttl", async () => {
    const { redlock } = fleet.open({ nodeTimeout: 100 });
    await redlock.using(fresh(), 3000, async (signal, lock) => {
      const end = performance.now() + 1300;
      await hang(fleet.masters);
      await until("a renewal has failed", () => lock.state === "unknown");
      for (const master of hung.splice(0)) await master.resume();
      await until("a renewal has succeeded", () => lock.state === "held");
      await until("some time has passed", () => performance.now() > end);
      expect(lock.remaining()).toBeGreaterThan(1000);
      expect(signal.aborted).toBe(false);
    });
  });

  it("ends with the routine, and an extension in flight does not bring the key back", async () => {
    const { redlock } = fleet.open({ automaticExtensionThreshold: 9_000 });
    const resource = fresh();
    await using tap = await WireTap.on(fleet.admins[0]!);
    for (let round = 0; round < 20; round += 1) {
      await redlock.using(resource, 10_000, async (_, lock) => {
        void lock.extend(10_000).catch(() => {});
      });
      await fleet.untilGone(resource);
    }
    expect((await tap.commands()).length).toBeLessThan(200);
  });
});

describe("a lock that is lost", () => {
  it("aborts the signal with the reason, in redlock 5's place too", async () => {
    const { redlock } = fleet.open({ nodeTimeout: 400 });
    const lost: Lock[] = [];
    redlock.on("lost", (lock) => lost.push(lock));
    const resource = fresh();
    const held = await redlock.using(resource, 900, async (signal, lock) => {
      await Promise.all(lock.attempts);
      await fleet.occupy(resource, fleet.masters.slice(0, 2));
      const reason = await aborted(signal);
      expect(reason).toBeInstanceOf(LockLostError);
      expect(reason).toMatchObject({ code: "LOCK_LOST", resources: [resource] });
      expect(signal.error).toBe(reason);
      expect(lock.state).toBe("lost");
      return lock;
    });
    expect(lost).toEqual([held]);
    expect(await fleet.values(resource)).toEqual(["another client", "another client", null]);
    await fleet.free(resource);
  });

  it("is notified before its deadline when no master answers any more", async () => {
    const { redlock } = fleet.open({ nodeTimeout: 100 });
    await redlock.using(fresh(), 800, async (signal) => {
      await hang(fleet.masters);
      const { result: reason, net } = await timed(() => aborted(signal));
      expect(reason).toBeInstanceOf(LockLostError);
      expect(net).toBeLessThan(800);
    });
  });

  it("with the caller's signal given, still has its reason in both places", async () => {
    const { redlock } = fleet.open({ nodeTimeout: 400 });
    const resource = fresh();
    await redlock.using(resource, 900, { signal: new AbortController().signal }, async (signal, lock) => {
      await Promise.all(lock.attempts);
      await fleet.occupy(resource);
      expect(await aborted(signal)).toBeInstanceOf(LockLostError);
      expect(signal.error).toBe(signal.reason);
    });
    await fleet.free(resource);
  });

  it("aborts the signal at maxHoldTime, and is free then", async () => {
    const { redlock } = fleet.open({ nodeTimeout: 200 });
    const resource = fresh();
    using stalls = new Stalls();
    const begun = performance.now();
    await redlock.using(resource, 300, { maxHoldTime: 900 }, async (signal) => {
      const reason = await aborted(signal);
      const took = performance.now() - begun;
      const net = took - stalls.total;
      expect(reason).toBeInstanceOf(LockLostError);
      expect((reason as LockLostError).why).toContain("maxHoldTime");
      // It is told some 10 ms before, and drift is taken off.
      expect(took).toBeGreaterThan(900 * 0.9 - 20);
      expect(net).toBeLessThan(900 + 100);
      const next = await fleet.open({ retryDelay: 20, retryCount: 20 }).redlock.acquire(resource, 5000);
      await next.release();
    });
  });
});

describe("the caller's signal", () => {
  it("aborts the routine's, with its own reason; the lock is kept until the routine is over", async () => {
    const { redlock } = fleet.open();
    const resource = fresh();
    const controller = new AbortController();
    await redlock.using(resource, 5000, { signal: controller.signal }, async (signal, lock) => {
      controller.abort("shutting down");
      expect(await aborted(signal)).toBe("shutting down");
      expect(lock.state).toBe("held");
      expect(await lock.verify()).toBe(true);
    });
    await fleet.untilGone(resource);
  });
});

describe("await using", () => {
  it("releases on an early return", async () => {
    const { redlock } = fleet.open();
    const resource = fresh();
    const work = async (leave: boolean): Promise<string> => {
      await using lock = await redlock.acquire(resource, 5000);
      expect(lock.state).toBe("held");
      if (leave) return "early";
      return "late";
    };
    expect(await work(true)).toBe("early");
    await fleet.untilGone(resource);
    expect(await work(false)).toBe("late");
    await fleet.untilGone(resource);
  });

  it("releases when the routine throws, and rejects with that error", async () => {
    const { redlock } = fleet.open();
    const resource = fresh();
    const work = async (): Promise<void> => {
      await using _ = await redlock.acquire(resource, 5000);
      throw new RangeError("mine");
    };
    expect(await rejection(work())).toMatchObject({ name: "RangeError", message: "mine" });
    await fleet.untilGone(resource);
  });

  it("of a lock that was lost or released throws nothing", async () => {
    const { redlock } = fleet.open();
    const resource = fresh();
    {
      await using lock = await redlock.acquire(resource, 5000);
      await lock.release();
    }
    {
      await using _ = await redlock.acquire(resource, 5000);
      await fleet.occupy(resource);
    }
    await fleet.free(resource);
  });

  it("takes the null of tryAcquire", async () => {
    const { redlock } = fleet.open();
    const resource = fresh();
    await fleet.occupy(resource);
    {
      await using lock = await redlock.tryAcquire(resource, 5000);
      expect(lock).toBeNull();
    }
    await fleet.free(resource);
  });
});
