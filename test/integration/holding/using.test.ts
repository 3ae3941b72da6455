import { ExecutionError } from "@quorlock/redlock";
import { describe, expect, it } from "vitest";
import { Fleet, fresh } from "../fleet/fleet.ts";
import { WireTap } from "../fleet/wire-tap.ts";

const fleet = Fleet.forTests(3);

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
    // Only an extension may set the key again; the rival never has a lock to extend.
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
});
