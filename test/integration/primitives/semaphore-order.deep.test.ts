import { setTimeout as pause } from "node:timers/promises";
import type { Redlock } from "@quorlock/redlock";
import { Semaphore } from "@quorlock/redlock/semaphore";
import { describe, expect, it } from "vitest";
import { Fleet, fresh } from "../fleet/fleet.ts";

// PROTOCOL 10.2.

const fleet = Fleet.forTests(5);
const ttl = 30_000;

/** A client that asks this much later, ms, comes later on every master as well. */
const later = 50;

interface Call {
  readonly arrived: number;
  granted: number;
}

/** Clients that call, wait, hold and release, each time as newcomers: what one has been told, the next one does not know. */
async function calls(redlocks: readonly Redlock[], limit: number, grants: number): Promise<readonly Call[]> {
  const name = fresh("permits");
  const all: Call[] = [];
  let granted = 0;
  const come = async (redlock: Redlock, hold: number): Promise<void> => {
    while (granted < grants) {
      const call = { arrived: performance.now(), granted: Number.POSITIVE_INFINITY };
      all.push(call);
      const permit = await new Semaphore(redlock, name, limit).acquire(ttl, { waitTimeout: 60_000 });
      call.granted = performance.now();
      granted += 1;
      await pause(hold);
      await permit.release();
      await pause(hold);
    }
  };
  await Promise.all(redlocks.map((redlock, index) => come(redlock, 5 + (index % 5) * 5)));
  return all;
}

/** Grants to a client that came later than one that was still waiting. */
function overtakes(all: readonly Call[]): number {
  const overtook = all.filter((one) =>
    all.some((other) => other.arrived + later < one.arrived && one.granted + 1 < other.granted),
  );
  return overtook.length;
}

describe("a semaphore", () => {
  it.each([2, 5])(
    "of %i is first come, first served: a newcomer sees the queue",
    async (limit) => {
      const redlocks = Array.from({ length: 5 * limit }, () => fleet.open().redlock);
      for (const redlock of redlocks) await (await redlock.acquire(fresh(), ttl)).release();
      const all = await calls(redlocks, limit, 400);
      const count = overtakes(all);
      console.log(`limit ${limit}: ${count} of ${all.length} overtook`);
      // A few overtake clients that are still joining the queue. Before newcomers checked the queue, 184 and 330 of 410 did.
      expect(count / all.length).toBeLessThan(0.1);
    },
    120_000,
  );
});
