import { Semaphore } from "@quorlock/redlock/semaphore";
import { describe, expect, it } from "vitest";
import { until } from "../contract/until.ts";
import { Fleet, fresh, rejection } from "../integration/fleet/fleet.ts";
import { crowd } from "./crowd.ts";

const fleet = Fleet.forTests(5);

const ttl = 30_000;

describe("a semaphore on real masters", () => {
  it("is never above its limit with twelve clients, each at its own distance from every master", async () => {
    const { most, byClient } = await crowd({
      masters: fleet.masters,
      clients: 12,
      limit: 5,
      // A busy machine needs longer for the same number of grants.
      seconds: 90,
      isEnough: (soFar) => soFar.most >= 4 && Math.min(...soFar.byClient) >= 20,
    });
    expect(most).toBeLessThanOrEqual(5);
    // The limit was reached, and every client got permits.
    expect(most).toBeGreaterThanOrEqual(4);
    expect(Math.min(...byClient)).toBeGreaterThanOrEqual(20);
  });

  it("has the keys that it says, and leaves none", async () => {
    const { redlock } = fleet.open();
    const name = fresh("permits");
    const semaphore = new Semaphore(redlock, name, 2);
    const both = await semaphore.acquire(ttl, { permits: 2 });
    for (const slot of [0, 1]) {
      const key = `{${name}}:slot:${slot}`;
      await until(`every master has ${key}`, async () =>
        (await fleet.values(key)).every((value) => value === both.value),
      );
    }
    await both.release();
    for (const slot of [0, 1]) await fleet.untilGone(`{${name}}:slot:${slot}`);
  });

  it("gives a freed permit to a waiter, in another process or not", async () => {
    const name = fresh("permits");
    const [one, other] = [fleet.open().redlock, fleet.open().redlock];
    const holding = await new Semaphore(one, name, 1).acquire(ttl);
    const waiting = new Semaphore(other, name, 1).acquire(ttl, { waitTimeout: 20_000 });
    await until("the other one is at the head of the line", async () =>
      (await fleet.values(`{${name}}:admission`)).some((value) => value !== null),
    );
    await holding.release();
    const lock = await waiting;
    expect(lock.resources).toEqual(holding.resources);
    await fleet.untilGone(`{${name}}:admission`);
    await lock.release();
  });

  it("works without a minority of the masters, and reports a missing quorum", async () => {
    const { redlock } = fleet.open({ nodeTimeout: 200 });
    const semaphore = new Semaphore(redlock, fresh("permits"), 2);
    const gone = fleet.masters.slice(0, 2);
    for (const master of gone) await master.hang();
    try {
      await (await semaphore.acquire(ttl)).release();
      await fleet.masters[2]!.hang();
      expect(await rejection(semaphore.tryAcquire(ttl))).toMatchObject({ code: "NO_QUORUM" });
    } finally {
      for (const master of fleet.masters.slice(0, 3)) await master.resume();
    }
  });
});
