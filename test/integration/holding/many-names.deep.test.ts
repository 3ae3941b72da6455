import { expect, it } from "vitest";
import { Fleet } from "../fleet/fleet.ts";

const fleet = Fleet.forTests(3);

/** Some 0.2 s on an idle machine. Comparing each name with all others takes 4 s and more. */
const longest = 1500;

/** Returns the longest time that the event loop took for one turn during `work`, ms. */
async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let most = 0;
  let last = performance.now();
  let isOver = false;
  const look = (): void => {
    const now = performance.now();
    most = Math.max(most, now - last);
    last = now;
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  await work();
  isOver = true;
  look();
  return most;
}

it("60,000 names block the event loop briefly in each call", async () => {
  const { redlock } = await fleet.openWarm({ nodeTimeout: 10_000, reentrant: "handle" });
  const ttl = 60_000;
  const names = Array.from({ length: 60_000 }, (_, index) => `name:${index}`);
  let lock = await redlock.acquire("warm", ttl);
  await lock.release();
  const steps: Record<string, () => Promise<unknown>> = {
    acquire: async () => {
      lock = await redlock.acquire(names, ttl);
    },
    refused: () => redlock.tryAcquire(names, ttl).then((refused) => expect(refused).toBeNull()),
    nested: async () => (await redlock.acquire(names, ttl, { parent: lock })).release(),
    extend: () => lock.extend(ttl),
    verify: () => lock.verify(),
    "detach and resume": async () => {
      lock = redlock.resume(await lock.detach());
      expect(await lock.verify()).toBe(true);
    },
    release: async () => expect(await lock.release()).toMatchObject({ outcome: "released" }),
  };
  const turns: Record<string, number> = {};
  for (const [name, step] of Object.entries(steps)) turns[name] = await longestTurn(step);
  expect(Object.entries(turns).filter(([, turn]) => turn > longest)).toEqual([]);
});
