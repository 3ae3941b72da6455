import { Redlock } from "@quorlock/redlock";
import { type ClockedMasters, startMastersWithClocks } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { afterEach, expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { fresh } from "../fleet/fleet.ts";

// PROTOCOL 7.2.

// Tickets are by the time of the masters, and two clients may have read different times. A waiting call is served
// still before those that begin later.

const ttl = 20_000;
/** A busy machine has a quarter of the ttl: a vote that is late leaves the queue for a backoff. */
const patient = { retryCount: -1, nodeTimeout: ttl / 4 };
const hour = 3_600_000;

let masters: ClockedMasters | undefined;
const opened: Redis[] = [];
afterEach(async () => {
  for (const client of opened.splice(0)) client.disconnect();
  await masters?.stop();
});

/** Masters whose clocks are off by so much. */
async function start(...offsets: number[]): Promise<ClockedMasters> {
  masters = await startMastersWithClocks(offsets.length, { say: () => {} });
  for (const [index, offset] of offsets.entries()) masters.clocks[index]!.step(offset);
  return masters;
}

function clientOf(index: number): Redis {
  const { port, host } = masters!.list[index]!;
  const client = new Redis(port, host);
  opened.push(client);
  return client;
}

function open(): Redlock {
  return new Redlock(
    masters!.list.map((_, index) => clientOf(index)),
    patient,
  );
}

it.each([
  [
    "the clock of the only master steps back by ten minutes",
    [0],
    (of: ClockedMasters) => of.clocks[0]!.step(-hour / 6),
  ],
  [
    "the clock of the only master steps back by a day",
    [0],
    (of: ClockedMasters) => of.clocks[0]!.step(-24 * hour),
  ],
  [
    "one of three unequal clocks cannot be read any more",
    [0, hour, 2 * hour],
    (of: ClockedMasters) => of.list[2]!.hang(),
  ],
])("a waiting call is served before those that begin later, although %s", async (_, offsets, change) => {
  const fleet = await start(...offsets);
  const resource = fresh();
  const admin = clientOf(0);
  const untilWaiting = (count: number) =>
    until(`${count} wait`, async () => (await admin.zcard(`quorlock:queue:{${resource}}`)) === count);
  const held = await open().acquire(resource, ttl);
  const values = () => Promise.all(offsets.map((_, index) => clientOf(index).get(resource)));
  await until("its keys are there", async () => (await values()).every((value) => value === held.value));
  const served: string[] = [];
  const take = async (redlock: Redlock, name: string): Promise<void> => {
    const lock = await redlock.acquire(resource, ttl);
    served.push(name);
    void lock.release();
  };
  const waits = [take(open(), "first")];
  await untilWaiting(1);
  await Promise.resolve(change(fleet));
  const later = open();
  waits.push(take(later, "second"));
  await untilWaiting(2);
  waits.push(take(later, "third"));
  await until("the one that began later has the larger ticket", async () => {
    const [, first, , second] = await admin.zrange(`quorlock:queue:{${resource}}`, "0", "-1", "WITHSCORES");
    return Number(second) - Number(first) < 60_000_000;
  });
  void held.release();
  await Promise.all(waits);
  expect(served).toEqual(["first", "second", "third"]);
});
