import { expect, it } from "vitest";
import { Fleet, fresh, rejection, timed } from "../fleet/fleet.ts";

// PROTOCOL 7.15.

// Callers of one process wait for the same lock, each by its own settings.

const fleet = Fleet.forTests(3);
const ttl = 20_000;
const patient = { retryCount: -1 };

/** No lease has as much left when its votes are there: 1 % of the ttl and 2 ms are taken off for drift. */
const greedy = { ...patient, minimumValidity: ttl * 0.99 - 2.1, retryDelay: 30_000, retryJitter: 0 };

it.each([false, true])(
  "a caller whose minimumValidity is not met delays no other, whatever its retryDelay (fencing: %s)",
  async (fencing) => {
    const resource = fresh();
    const held = await fleet.hold(resource, ttl);
    const { redlock } = await fleet.openWarm({ fencing });
    const stop = new AbortController();
    const wanting = rejection(redlock.acquire(resource, ttl, { ...greedy, signal: stop.signal }));
    await fleet.untilWaiting(resource, 1);
    const waiting = redlock.acquire(resource, ttl, patient);
    const { net } = await timed(async () => {
      await held.release();
      await (await waiting).release();
    });
    expect(net).toBeLessThan(900);
    stop.abort();
    expect(await wanting).toHaveProperty("code", "ABORTED");
  },
);

it("a caller that leaves delays no other: the next one is in the queues at once", async () => {
  const resource = fresh();
  const held = await fleet.hold(resource, ttl);
  const { redlock } = await fleet.openWarm(patient);
  const stop = new AbortController();
  const leaving = rejection(redlock.acquire(resource, ttl, { signal: stop.signal, nodeTimeout: 8000 }));
  await fleet.untilWaiting(resource, 1);
  const waiting = redlock.acquire(resource, ttl);
  await fleet.masters[2]!.hang();
  try {
    const { net } = await timed(async () => {
      stop.abort();
      await held.release();
      const lock = await waiting;
      expect(lock.state).toBe("held");
      // The rest of its release would wait for the master that hangs.
      void lock.release();
    });
    expect(net).toBeLessThan(900);
  } finally {
    await fleet.masters[2]!.resume();
  }
  expect(await leaving).toHaveProperty("code", "ABORTED");
});

it("a release settles within its own nodeTimeout, whatever the next caller allows the masters", async () => {
  const resource = fresh();
  const held = await fleet.hold(resource, ttl);
  // Each lease has its own fencing token, so the next caller asks the masters.
  const { redlock } = await fleet.openWarm({ ...patient, fencing: true });
  const first = redlock.acquire(resource, ttl, { nodeTimeout: 300 });
  const second = redlock.acquire(resource, ttl, { nodeTimeout: 4000 });
  await fleet.untilWaiting(resource, 1);
  await held.release();
  const lock = await first;
  await Promise.all(fleet.masters.slice(1).map((master) => master.hang()));
  try {
    const { result, net } = await timed(() => lock.release());
    expect(result.outcome).toBe("partial");
    // A release waits for one time-out: its own is 900 ms, that of the next caller 4,000. The rest is for this process.
    expect(net).toBeLessThan(900 + 250);
  } finally {
    await Promise.all(fleet.masters.slice(1).map((master) => master.resume()));
  }
  // The next caller has gone on asking meanwhile.
  await (await second).release();
});

it("a backoff that throws when a message comes ends its call with that error, and no other", async () => {
  const resource = fresh();
  const held = await fleet.hold(resource, ttl);
  const { redlock } = await fleet.openWarm();
  let isReleased = false;
  // A round asks for a pause too, as long as the messages are not subscribed to.
  const backoff = () => {
    if (isReleased) throw new Error("this backoff fails");
    return 30_000;
  };
  const failing = rejection(redlock.acquire(resource, ttl, { ...greedy, backoff }));
  await fleet.untilWaiting(resource, 1);
  const waiting = redlock.acquire(resource, ttl, patient);
  isReleased = true;
  await held.release();
  expect(await failing).toHaveProperty("message", "this backoff fails");
  await (await waiting).release();
  await fleet.untilWaiting(resource, 0);
});
