import { setTimeout as pause } from "node:timers/promises";
import type { Lock } from "@quorlock/redlock";
import { expect, it } from "vitest";
import { Fleet, fresh } from "../fleet/fleet.ts";

// PROTOCOL 2.5.

const fleet = Fleet.forTests(3);
const ttl = 1000;
/** More than is left when the votes are there: 1 % of the ttl and 2 ms are taken off for drift. */
const minimumValidity = 987.9;

it.each([{}, { fencing: true }])(
  "a waiter that wants more than is left gives way to others: %j",
  async (options) => {
    const resource = fresh("late");
    const [holder, greedy, plain] = [
      await fleet.openWarm(options),
      await fleet.openWarm(options),
      await fleet.openWarm(options),
    ];
    const held = await fleet.hold(resource, 3 * ttl, holder.redlock);
    const stop = new AbortController();
    const waits = { minimumValidity, waitTimeout: 20_000, signal: stop.signal };
    const wanting = greedy.redlock.acquire(resource, ttl, waits).catch((error: unknown) => error);
    await fleet.untilWaiting(resource, 1);
    const waiting = plain.redlock.acquire(resource, ttl, { waitTimeout: 20_000 });
    await fleet.untilWaiting(resource, 2);
    const calls = await Promise.all(fleet.admins.map(callsAt));
    await held.release();
    await (await waiting).release();
    // Backoffs of 100 ms and more come between its attempts, however fast the machine is: some twenty commands in a second.
    await pause(ttl);
    const later = await Promise.all(fleet.admins.map(callsAt));
    for (const [index, count] of later.entries()) expect(count - calls[index]!).toBeLessThan(500);
    stop.abort();
    await wanting;
  },
);

it("a waiter that wants nearly a whole lease is served before one behind it, however long after its heartbeat the lock is free", async () => {
  const resource = fresh("late");
  const [holder, wanting, plain] = [await fleet.openWarm(), await fleet.openWarm(), await fleet.openWarm()];
  const held = await fleet.hold(resource, 8000, holder.redlock);
  const order: string[] = [];
  const waits = { waitTimeout: 20_000 };
  const first = wanting.redlock.acquire(resource, 4000, { ...waits, minimumValidity: 3250 });
  await fleet.untilWaiting(resource, 1);
  const second = plain.redlock.acquire(resource, 4000, waits);
  await fleet.untilWaiting(resource, 2);
  // Its heartbeat is 1 s: by then less than it wants is left of a lease from its latest one.
  await pause(800);
  await held.release();
  const used = async (name: string, lock: Lock): Promise<void> => {
    order.push(name);
    await lock.release();
  };
  await Promise.all([first.then((lock) => used("first", lock)), second.then((lock) => used("second", lock))]);
  expect(order).toEqual(["first", "second"]);
});

it("waiters that want more than a lease has come first once each, however soon they ask again", async () => {
  const resource = fresh("late");
  const [holder, greedy, plain] = [await fleet.openWarm(), await fleet.openWarm(), await fleet.openWarm()];
  const held = await fleet.hold(resource, 20_000, holder.redlock);
  const stop = new AbortController();
  let backoffs = 0;
  const backoff = (): number => {
    backoffs += 1;
    return 1;
  };
  const waits = { minimumValidity, waitTimeout: 20_000, signal: stop.signal, backoff };
  const count = 6;
  const wanting = Array.from({ length: count }, () =>
    greedy.redlock.acquire(resource, ttl, waits).catch((error: unknown) => error),
  );
  await fleet.untilWaiting(resource, 1);
  const waiting = plain.redlock.acquire(resource, ttl, { waitTimeout: 20_000 });
  await fleet.untilWaiting(resource, 2);
  // Until then the greedy ones ask again and again.
  await fleet.untilListening(2);
  const before = backoffs;
  await held.release();
  const lock = await waiting;
  expect(backoffs - before).toBeLessThanOrEqual(count);
  await lock.release();
  stop.abort();
  await Promise.all(wanting);
});

async function callsAt(admin: (typeof fleet.admins)[number]): Promise<number> {
  return Number(/total_commands_processed:(\d+)/.exec(await admin.info("stats"))![1]);
}
