import { setTimeout as pause } from "node:timers/promises";
import { Redlock } from "@quorlock/redlock";
import { Redis, type RedisOptions } from "ioredis";
import { Redis as Redis5 } from "ioredis-5";
import { afterEach, describe, expect, it, vi } from "vitest";
import { until } from "../../contract/until.ts";
import { FakeSentinel } from "../fleet/fake-sentinel.ts";
import { Fleet } from "../fleet/fleet.ts";
import { untilAllVote } from "../fleet/votes.ts";

// Sentinels that hang, and connections to Sentinels that nothing needs any more.

const fleet = Fleet.forTests(1);
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
      "connectTimeout" | "failoverDetector" | "retryStrategy" | "sentinelReconnectStrategy"
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

  it("a connection that a retryStrategy gives up listens to no Sentinel, and that of the user to none after quit", async () => {
    await using sentinel = await FakeSentinel.of(fleet.masters[0]!);
    let isOver = false;
    const retryStrategy = () => (isOver ? null : 20);
    const { client, redlock } = await open(sentinel, { failoverDetector: true, retryStrategy });
    await until("both connections listen", () => sentinel.connections === 2);
    isOver = true;
    await killConnectionOfLocks(client);
    await until("the one of the locks has gone", () => sentinel.connections < 2);
    await (fleet.admins[0] as Redis).call("CLIENT", "KILL", "TYPE", "NORMAL", "SKIPME", "YES");
    await until("the one of the user has ended", () => client.status === "end");
    await redlock.quit();
    await until("no connection to the Sentinel is open", () => sentinel.connections === 0);
  });

  it("a Sentinel that hangs raises no error where failoverDetector listens to it", async () => {
    await using sentinel = await FakeSentinel.of(fleet.masters[0]!);
    const connectTimeout = 300;
    const options = { connectTimeout, failoverDetector: true, sentinelReconnectStrategy: () => 20 };
    const { redlock } = await open(sentinel, options);
    await until("both connections listen", () => sentinel.connections === 2);
    const errors: unknown[] = [];
    const onRejection = (reason: unknown): void => void errors.push(reason);
    const told = vi.spyOn(console, "error").mockImplementation((...words) => void errors.push(words));
    process.on("unhandledRejection", onRejection);
    try {
      sentinel.isMute = true;
      sentinel.hangUp();
      await until("both connections are made again", () => sentinel.unanswered >= 2);
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
