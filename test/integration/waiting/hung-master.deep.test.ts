import { expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet, fresh, timed } from "../fleet/fleet.ts";

// One of three masters hangs, and every caller gives each master 4 s: nothing waits for the one that hangs.

const fleet = Fleet.forTests(3);
const ttl = 20_000;
const heartbeat = 1000;
const patient = { retryCount: -1, nodeTimeout: 4000 };
const holder = "0123456789abcdef0123456789abcdef.1";

async function besidesAHungMaster(work: () => Promise<void>): Promise<void> {
  await fleet.masters[2]!.hang();
  try {
    await work();
  } finally {
    await fleet.masters[2]!.resume();
  }
}

it("a key that is freed is taken within a heartbeat", async () => {
  const resource = fresh();
  const { redlock } = await fleet.openWarm(patient);
  await fleet.occupy(resource, fleet.masters, 60_000, holder);
  await besidesAHungMaster(async () => {
    const waiting = redlock.acquire(resource, ttl);
    const [admin] = fleet.admins;
    await until("it waits", async () => (await admin!.zcard(`quorlock:queue:{${resource}}`)) === 1);
    const { net } = await timed(async () => {
      await fleet.free(resource, fleet.masters.slice(0, 2));
      await waiting;
    });
    expect(net).toBeLessThan(heartbeat + 500);
  });
});

it("the key of a crashed holder is taken within its ttl and a heartbeat, on the first wait of a process", async () => {
  const resource = fresh();
  const { redlock } = await fleet.openWarm(patient);
  await besidesAHungMaster(async () => {
    const { took, net } = await timed(async () => {
      await fleet.occupy(resource, fleet.masters.slice(0, 2), 1500, holder);
      await redlock.acquire(resource, ttl);
    });
    expect(took).toBeGreaterThan(1490);
    expect(net).toBeLessThan(1500 + heartbeat + 500);
  });
});

it("a lock is handed from process to process as fast as without it", async () => {
  const resource = fresh();
  const clients = [await fleet.openWarm(patient), await fleet.openWarm(patient)];
  await besidesAHungMaster(async () => {
    const held = await clients[0]!.redlock.acquire(resource, ttl);
    const [admin] = fleet.admins;
    const waits = Array.from({ length: 10 }, async (_, index) => {
      const lock = await clients[index % 2]!.redlock.acquire(resource, ttl);
      void lock.release();
    });
    await until("both wait", async () => (await admin!.zcard(`quorlock:queue:{${resource}}`)) === 2);
    const { net } = await timed(async () => {
      void held.release();
      await Promise.all(waits);
    });
    expect(net).toBeLessThan(2 * heartbeat);
  });
});
