import type { Redlock } from "@quorlock/redlock";
import { describe, expect, it } from "vitest";
import { until } from "../contract/until.ts";
import { Fleet, fresh, type Opened, rejection, timed } from "../integration/fleet/fleet.ts";

// Five masters without persistence: one that is killed and started again is another process, at the same address,
// that knows no key, no script and no connection of before.
const fleet = Fleet.forTests(5);

const ttl = 60_000;
const nodeTimeout = 500;
const reconnectDelay = 50;
/** The time a busy machine may add, ms. */
const slack = 1500;

function openReady(): Promise<Opened> {
  return fleet.openWarm({ nodeTimeout, retryCount: 0, client: { retryStrategy: () => reconnectDelay } });
}

async function untilAllAnswer(redlock: Redlock): Promise<void> {
  await until("every master answers", async () =>
    (await redlock.inspect("anything")).every(({ unreachable }) => unreachable === undefined),
  );
}

describe("masters that are removed and added again at the same address", () => {
  it("one after the other: a lock is kept throughout, and moves to the new ones", async () => {
    const { redlock } = await openReady();
    const rival = await openReady();
    const resource = fresh();
    const lock = await redlock.acquire(resource, ttl);
    for (const master of fleet.masters) {
      await master.kill();
      await lock.extend(ttl);
      expect(await rival.redlock.tryAcquire(resource, ttl)).toBeNull();
      await master.restart();
      await untilAllAnswer(redlock);
      // The new one is given the key by the next extension, before the next goes.
      await lock.extend(ttl);
      // All have answered: until then the rival's vote may be the first to find a new one's key free.
      await Promise.all(lock.attempts);
      expect(await rival.redlock.tryAcquire(resource, ttl)).toBeNull();
      expect(lock.state).toBe("held");
    }
    expect(await fleet.values(resource)).toEqual(fleet.masters.map(() => lock.value));
    expect((await lock.release()).outcome).toBe("released");
    await fleet.untilGone(resource);
  });

  it("one after the other, while `using` runs: the lock is extended, and its signal does not abort", async () => {
    const { redlock } = await openReady();
    const resource = fresh();
    const shortTtl = 3000;
    const lost: unknown[] = [];
    redlock.on("lost", (lock) => lost.push(lock));
    await redlock.using(resource, shortTtl, { nodeTimeout: 300 }, async (signal, lock) => {
      for (const master of fleet.masters) {
        await master.restart();
        await until(
          "the new one has the key",
          async () =>
            (await fleet
              .admin(master)
              .get(resource)
              .catch(() => null)) === lock.value,
        );
      }
      expect(signal.aborted).toBe(false);
    });
    expect(lost).toEqual([]);
    await fleet.untilGone(resource);
  });

  it("a majority at once: no quorum, then a lock within two time-outs and one reconnect", async () => {
    const { redlock } = await openReady();
    const gone = fleet.masters.slice(1, 4);
    for (const master of gone) await master.kill();
    const error = (await rejection(redlock.acquire(fresh(), ttl))) as Error;
    for (const { port } of gone) expect(error.message).toContain(`127.0.0.1:${port}: UNREACHABLE`);
    for (const master of gone) await master.restart();
    const retries = { waitTimeout: 10_000, retryDelay: 10, retryJitter: 5 };
    const { result: lock, net } = await timed(() => redlock.acquire(fresh(), ttl, retries));
    expect(net).toBeLessThan(2 * nodeTimeout + reconnectDelay + slack);
    await lock.release();
  });

  it("all at once: earlier locks are lost, and their holders are notified", async () => {
    const { redlock } = await openReady();
    const taken = await redlock.acquire([fresh(), fresh()], ttl);
    const lock = redlock.resume(await taken.detach());
    expect(await lock.verify()).toBe(true);
    for (const master of fleet.masters) await master.restart();
    await untilAllAnswer(redlock);
    // Resumed, so its key is not given again: the masters have forgotten it.
    expect(await lock.verify()).toBe(false);
    expect(lock.state).toBe("lost");
    await (await redlock.acquire(fresh(), ttl)).release();
  });
});
