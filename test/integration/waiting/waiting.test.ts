import { describe, expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet, fresh, type Opened, type OpenOptions, timed } from "../fleet/fleet.ts";

// Retries, limits and pauses are counted in virtual time, in packages/redlock/src/waiting/acquire.test.ts: these are about
// what real masters say of the time that is left.

const fleet = Fleet.forTests(3);

const ttl = 30_000;

/** Waiters poll, exactly by the retry settings. (With the queue: queue.test.ts.) */
function open(options: OpenOptions = {}): Opened {
  return fleet.open({ queue: false, ...options });
}

describe("a lock that another client holds", () => {
  it("is granted when it is released", async () => {
    const { redlock } = open();
    const resource = fresh();
    const first = await redlock.acquire(resource, ttl);
    let granted = false;
    const waiting = fleet
      .open({ retryDelay: 10, retryJitter: 5, retryCount: -1 })
      .redlock.acquire(resource, ttl);
    void waiting.then(() => {
      granted = true;
    });
    await until("the other one has asked", async () =>
      (await fleet.admins[0]!.info("commandstats")).includes("set"),
    );
    expect(granted).toBe(false);
    await first.release();
    const second = await waiting;
    expect(second.value).not.toBe(first.value);
    expect(second.remaining()).toBeGreaterThan(ttl * 0.95);
    await second.release();
  });

  it("has its full ttl after the wait", async () => {
    const { redlock } = open({ retryDelay: 20, retryJitter: 0, retryCount: -1 });
    const resource = fresh();
    const { result: lock, took } = await timed(async () => {
      await fleet.occupy(resource, fleet.masters, 700);
      return redlock.acquire(resource, 1000);
    });
    expect(took).toBeGreaterThan(695);
    // Of 1000 ms, drift takes 12: what is missing beyond that is one round trip.
    expect(lock.remaining()).toBeGreaterThan(700);
    await lock.release();
  });
});

describe("a wait", () => {
  it("pauses no longer than the key lives", async () => {
    const { redlock } = open({ retryDelay: 60_000, retryJitter: 0, retryCount: 1 });
    const resource = fresh();
    const {
      result: lock,
      took,
      net,
    } = await timed(async () => {
      await fleet.occupy(resource, fleet.masters, 300);
      return redlock.acquire(resource, ttl);
    });
    expect(took).toBeGreaterThan(295);
    expect(net).toBeLessThan(1300);
    await lock.release();
  });

  it("for several resources ends when the last of them is free", async () => {
    const { redlock } = open({ retryDelay: 10, retryJitter: 5, retryCount: -1 });
    const [one, two] = [fresh(), fresh()];
    const { result: lock, took } = await timed(async () => {
      await fleet.occupy(one, fleet.masters, 200);
      await fleet.occupy(two, fleet.masters, 400);
      return redlock.acquire([one, two], ttl);
    });
    expect(took).toBeGreaterThan(395);
    await lock.release();
  });
});
