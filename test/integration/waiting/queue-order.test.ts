import { systemRuntime } from "@quorlock/redlock";
import { expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet, fresh } from "../fleet/fleet.ts";

// First come, first served, with the limits that docs/waiting.md states.

const fleet = Fleet.forTests(3);

const ttl = 20_000;
/** A busy machine has a quarter of the ttl: a vote that is late leaves the queue for a backoff. */
const patient = { retryCount: -1, nodeTimeout: ttl / 4 };

async function untilWaiting(resource: string, count: number): Promise<void> {
  await until(`${count} wait on every master`, async () => {
    const lengths = await Promise.all(
      fleet.admins.map((admin) => admin.zcard(`quorlock:queue:{${resource}}`)),
    );
    return lengths.every((length) => length === count);
  });
}

it("a client with a slow clock does not overtake, not even on its first wait", async () => {
  const resource = fresh();
  const holder = await fleet.openWarm();
  const held = await holder.redlock.acquire(resource, ttl);
  const served: string[] = [];
  const waits: Promise<void>[] = [];
  const wait = async (name: string, slow: number): Promise<void> => {
    const runtime = { ...systemRuntime, wall: () => systemRuntime.wall() - slow };
    const { redlock } = await fleet.openWarm({ ...patient, runtime });
    const position = waits.length + 1;
    waits.push(
      redlock.acquire(resource, ttl).then(async (lock) => {
        served.push(name);
        await lock.release();
      }),
    );
    await untilWaiting(resource, position);
  };
  await wait("first", 0);
  await wait("slow by 5 s", 5000);
  await wait("third", 0);
  // Until it has seen the queue, and asked again: the largest ticket is the third's, the second largest its own.
  const [admin] = fleet.admins;
  await until("its ticket is corrected", async () => {
    const scores = await admin!.zrange(`quorlock:queue:{${resource}}`, "0", "-1", "WITHSCORES");
    return Number(scores[3]) - Number(scores[1]) < 5000 && Number(scores[5]) >= Number(scores[3]);
  });
  await held.release();
  await Promise.all(waits);
  expect(served).toEqual(["first", "slow by 5 s", "third"]);
});

it("a process serves at most 16 of its own calls that came after a waiter of another process", async () => {
  const resource = fresh();
  const [holder, many, one] = [
    await fleet.openWarm(),
    await fleet.openWarm(patient),
    await fleet.openWarm(patient),
  ];
  const held = await holder.redlock.acquire(resource, ttl);
  const served: string[] = [];
  const take = (redlock: typeof many.redlock, name: string) =>
    redlock.acquire(resource, ttl).then(async (lock) => {
      served.push(name);
      await lock.release();
    });
  const waits = [take(many.redlock, "many")];
  await untilWaiting(resource, 1);
  waits.push(take(one.redlock, "one"));
  await untilWaiting(resource, 2);
  for (let count = 0; count < 59; count += 1) waits.push(take(many.redlock, "many"));
  await held.release();
  await Promise.all(waits);
  expect(served.indexOf("one")).toBeGreaterThan(0);
  // The first of them came before it, and 15 after it.
  expect(served.indexOf("one")).toBeLessThanOrEqual(16);
});

it("a waiter that loses its subscription keeps its place: it starts another round at once, and is granted by it", async () => {
  const resource = fresh();
  const [holder, first, second] = [
    await fleet.openWarm(),
    await fleet.openWarm(patient),
    await fleet.openWarm(patient),
  ];
  const held = await holder.redlock.acquire(resource, ttl);
  const served: string[] = [];
  const wait = async ({ redlock }: typeof first, name: string, count: number): Promise<Promise<void>> => {
    const waiting = redlock.acquire(resource, ttl).then(async (lock) => {
      served.push(name);
      await lock.release();
    });
    await untilWaiting(resource, count);
    return waiting;
  };
  const entries = (admin: (typeof fleet.admins)[number]) =>
    admin
      .zrange(`quorlock:queue:{${resource}}`, "0", "0")
      .then(([id]) => admin.get(`quorlock:queue:{${resource}}:${id}`));
  const firstServed = wait(first, "first", 1);
  await untilWaiting(resource, 1);
  const before = await Promise.all(fleet.admins.map(entries));
  const secondServed = wait(second, "second", 2);
  await untilWaiting(resource, 2);
  // Each master has an inbox of its own for the same waiter.
  const inboxes = new Set(before.map((entry) => entry?.split(" ")[2]));
  for (const admin of fleet.admins) {
    const clients = String(await admin.client("LIST")).split("\n");
    // The one that has subscribed first: the first waiter's.
    const subscriber = clients.find((client) => / sub=1 /.test(client));
    await admin.client("KILL", "ID", /id=(\d+)/.exec(subscriber!)![1]!);
  }
  // A master takes a waiter without a subscriber for dead. So a round that began before the last of the losses was
  // noticed is not enough: its entry has an inbox without a subscriber there.
  await until("it has asked again, and is heard by every master", async () => {
    const now = await Promise.all(fleet.admins.map(entries));
    const subscribers = await Promise.all(
      fleet.admins.map((admin, index) => admin.pubsub("NUMSUB", String(now[index]?.split(" ")[2]))),
    );
    return now.every((entry, index) => entry !== before[index] && subscribers[index]![1] === 1);
  });
  expect(inboxes.size).toBe(fleet.admins.length);
  await held.release();
  await Promise.all([firstServed, secondServed]);
  expect(served).toEqual(["first", "second"]);
});
