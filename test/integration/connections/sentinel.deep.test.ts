import { Redlock } from "@quorlock/redlock";
import type { Master } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis-5";
import { createClient } from "redis";
import { afterEach, beforeEach, expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet, fresh } from "../fleet/fleet.ts";
import { group, Sentinel } from "../fleet/sentinel.ts";
import { untilAllVote } from "../fleet/votes.ts";

// A master behind a Sentinel, which makes its replica the master. The client's own connection goes along.

/** The first two are one group. */
const fleet = Fleet.forTests(4);
let sentinel: Sentinel;

beforeEach(async () => {
  const [first, second] = fleet.masters as [Master, Master];
  await fleet.admin(second).replicaof(first.host, first.port);
  await until("the replica is there", async () =>
    (await fleet.admin(first).info("replication")).includes("state=online"),
  );
  sentinel = await Sentinel.start(first);
});
afterEach(async () => {
  await sentinel.stop();
  for (const admin of fleet.admins) await admin.replicaof("NO", "ONE");
  await fleet.empty();
});

async function isReplica(master: Master): Promise<boolean> {
  return (await fleet.admin(master).role())[0] === "slave";
}

const versions = [
  ["6", Redis],
  ["5", Redis5],
] as const;

/** A client of each kind, by what its user would call it. */
const kinds = versions.flatMap(([version, AnyRedis]) =>
  [true, false].map((failoverDetector) => ({ version, AnyRedis, failoverDetector })),
);

it("a failover is followed, with failoverDetector and without", async () => {
  const [first, second, third, fourth] = fleet.masters as [Master, Master, Master, Master];
  const sentinels = [sentinel.address];
  const all = kinds.map(({ version, AnyRedis, failoverDetector }) => {
    const clients = [
      new AnyRedis({ sentinels, name: group, failoverDetector }),
      new AnyRedis(third.port),
      new AnyRedis(fourth.port),
    ];
    for (const client of clients) client.on("error", () => {});
    const redlock = new Redlock(clients, { nodeTimeout: 400, retryCount: 0 });
    return { what: `ioredis ${version}, failoverDetector ${failoverDetector}`, clients, redlock };
  });
  try {
    for (const { redlock, clients } of all) await untilAllVote(redlock, clients);
    await sentinel.failover();
    // The old master serves on until the Sentinel makes a replica of it.
    for (const { what, redlock } of all) {
      await until(
        `the new master votes (${what})`,
        async () => {
          const resource = fresh();
          const lock = await redlock.acquire(resource, 5000).catch(() => undefined);
          if (!lock) return false;
          await Promise.all(lock.attempts);
          const value = await fleet.admin(second).get(resource);
          const isOver = (await isReplica(first)) && !(await isReplica(second));
          await lock.release();
          return isOver && value === lock.value;
        },
        60_000,
      );
    }
    for (const { redlock, clients } of all) await untilAllVote(redlock, clients);
  } finally {
    for (const { clients } of all) for (const client of clients) client.disconnect();
  }
});

it.each([
  ["ioredis", (port: number) => new Redis(port)],
  ["node-redis", (port: number) => createClient({ url: `redis://127.0.0.1:${port}` })],
])("a Sentinel that takes the place of its master is named as one: %s", async (_, clientOf) => {
  const redlock = new Redlock([clientOf(sentinel.port)], { nodeTimeout: 1000, retryCount: 0 });
  const told: string[] = [];
  redlock.on("error", ({ message }) => told.push(message));
  const advice = /ERR: .*: is this a Sentinel\? Then pass a client of the master that it watches/;
  await expect(redlock.ready({ timeout: 2000 })).rejects.toThrow(advice);
  const [ready] = told.splice(0);
  expect(ready).toMatch(advice);
  await expect(redlock.acquire("r", 2000)).rejects.toThrow("quorum");
  await expect(redlock.acquire(["r", "s"], 2000)).rejects.toThrow("quorum");
  expect(told.length).toBeGreaterThan(0);
  for (const message of told) expect(message).toMatch(advice);
  await redlock.quit();
});
