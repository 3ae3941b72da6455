import { setTimeout as pause } from "node:timers/promises";
import { Redlock } from "@quorlock/redlock";
import type { Master } from "@quorlock/testbed";
import { Redis, type RedisOptions } from "ioredis";
import { Redis as Redis5 } from "ioredis-5";
import { afterEach, describe, expect, it, vi } from "vitest";
import { until } from "../../contract/until.ts";
import { FakeSentinel } from "../fleet/fake-sentinel.ts";
import { Fleet, fresh } from "../fleet/fleet.ts";
import { untilAllVote } from "../fleet/votes.ts";

// Sentinels that hang, and connections to Sentinels that nothing needs any more.

const fleet = Fleet.forTests(2);
const clients: Redis[] = [];

afterEach(() => {
  for (const client of clients.splice(0)) client.disconnect();
});

const versions = [
  ["6", Redis],
  ["5", Redis5],
] as const;

/** Ends all connections to the master, except that of the user. */
async function killConnectionOfLocks(users: Redis): Promise<void> {
  const [admin] = fleet.admins as [Redis];
  const kept = [await users.client("ID"), await admin.client("ID")].map(String);
  for (const [, id] of String(await admin.client("LIST")).matchAll(/^id=(\d+) /gm)) {
    if (!kept.includes(id!)) await admin.call("CLIENT", "KILL", "ID", id!);
  }
}

describe.each(versions)("with ioredis %s:", (_, AnyRedis) => {
  async function open(
    sentinel: FakeSentinel,
    options: Pick<
      RedisOptions,
      "connectTimeout" | "failoverDetector" | "lazyConnect" | "retryStrategy" | "sentinelReconnectStrategy"
    >,
  ) {
    const client = new AnyRedis({ sentinels: [sentinel.address], name: "main", ...options });
    client.on("error", () => {});
    clients.push(client);
    const redlock = new Redlock([client], { nodeTimeout: 400, retryCount: 0 });
    await untilAllVote(redlock, [client]);
    return { client, redlock };
  }

  it("a Sentinel that hangs is given up after connectTimeout, and after quit no connection to it is left", async () => {
    await using sentinel = await FakeSentinel.of(fleet.masters[0]!);
    const { client, redlock } = await open(sentinel, { connectTimeout: 500 });
    const isSilent = async (): Promise<void> => {
      const { unanswered: before } = sentinel;
      sentinel.isMute = true;
      await killConnectionOfLocks(client);
      await until("the Sentinel is asked", () => sentinel.unanswered > before);
    };
    await isSilent();
    sentinel.isMute = false;
    await untilAllVote(redlock, [client], 10_000);
    await isSilent();
    await redlock.quit();
    await until("no connection to the Sentinel is open", () => sentinel.connections === 0);
  });

  it("the connection of the locks listens to no Sentinel, and that of the user, given up by its retryStrategy, to none after quit", async () => {
    await using sentinel = await FakeSentinel.of(fleet.masters[0]!);
    let isOver = false;
    const retryStrategy = () => (isOver ? null : 20);
    const { client, redlock } = await open(sentinel, { failoverDetector: true, retryStrategy });
    await until("one connection listens", () => sentinel.connections === 1);
    isOver = true;
    await (fleet.admins[0] as Redis).call("CLIENT", "KILL", "TYPE", "NORMAL", "SKIPME", "YES");
    await until("that of the user has ended", () => client.status === "end");
    await redlock.quit();
    await until("no connection to the Sentinel is open", () => sentinel.connections === 0);
  });

  it("a connection of the locks hears of a failover for a client that has not connected, and listens no more after quit", async () => {
    const [before, after] = fleet.masters as [Master, Master];
    await using sentinel = await FakeSentinel.of(before);
    const { client, redlock } = await open(sentinel, { failoverDetector: true, lazyConnect: true });
    /** Whether the lock is on the first master, and on the second. */
    const places = async (): Promise<readonly boolean[]> => {
      const lock = await redlock.acquire(fresh(), 5000);
      const values = await fleet.values(lock.resources[0]!);
      await lock.release();
      return values.map((value) => value === lock.value);
    };
    await until("it listens", () => sentinel.listening === 1);
    expect(await places()).toEqual([true, false]);
    sentinel.announce(after);
    await until("locks are on the other", async () => (await places().catch(() => []))[1] === true);
    await until("it listens again", () => sentinel.listening === 1);
    expect(client.status).toBe("wait");
    await redlock.quit();
    await until("no connection to the Sentinel is open", () => sentinel.connections === 0);
  });

  it("a Sentinel that has failed is asked last by the next connection of the locks", async () => {
    await using first = await FakeSentinel.of(fleet.masters[0]!);
    await using second = await FakeSentinel.of(fleet.masters[0]!);
    const client = new AnyRedis({
      sentinels: [first.address, second.address],
      name: "main",
      connectTimeout: 500,
    });
    client.on("error", () => {});
    clients.push(client);
    const redlock = new Redlock([client], { nodeTimeout: 400, retryCount: 0 });
    await untilAllVote(redlock, [client]);
    first.isMute = true;
    for (const unanswered of [1, 1]) {
      await killConnectionOfLocks(client);
      await until(
        "a master is known",
        async () => (await redlock.inspect("r"))[0]?.unreachable === undefined,
      );
      expect(first.unanswered).toBe(unanswered);
    }
    await redlock.quit();
  });

  it("a Sentinel that hangs raises no error where failoverDetector listens to it", async () => {
    await using sentinel = await FakeSentinel.of(fleet.masters[0]!);
    const connectTimeout = 300;
    const options = { connectTimeout, failoverDetector: true, sentinelReconnectStrategy: () => 20 };
    const { redlock } = await open(sentinel, options);
    await until("that of the user listens", () => sentinel.connections === 1);
    const errors: unknown[] = [];
    const onRejection = (reason: unknown): void => void errors.push(reason);
    const told = vi.spyOn(console, "error").mockImplementation((...words) => void errors.push(words));
    process.on("unhandledRejection", onRejection);
    try {
      sentinel.isMute = true;
      sentinel.hangUp();
      await until("it is made again", () => sentinel.unanswered >= 1);
      // The time after which a question would be given up, twice.
      await pause(2 * connectTimeout);
      expect(errors).toEqual([]);
    } finally {
      told.mockRestore();
      process.off("unhandledRejection", onRejection);
      await redlock.quit();
    }
  });
});
