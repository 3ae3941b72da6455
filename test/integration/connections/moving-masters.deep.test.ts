import { Redlock } from "@quorlock/redlock";
import { type Proxy as FaultProxy, type Master, startProxy } from "@quorlock/testbed";
import { Redis, type RedisOptions } from "ioredis";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet, fresh } from "../fleet/fleet.ts";
import { itWithIoredis, versions } from "../fleet/library.ts";
import { untilAllVote } from "../fleet/votes.ts";
import { WireTap } from "../fleet/wire-tap.ts";

// Our connections follow the user's client: to its password of now, to the server that it is connected to. A connection
// that leads nowhere is replaced.

const fleet = Fleet.forTests(5);
const ttl = 4000;
const proxies: FaultProxy[] = [];
afterEach(async () => {
  for (const proxy of proxies.splice(0)) await proxy.stop();
});

async function proxied(count: number): Promise<readonly FaultProxy[]> {
  for (const master of fleet.masters.slice(0, count)) proxies.push(await startProxy(master));
  return proxies.slice(-count);
}

const quick: RedisOptions = { retryStrategy: () => 20 };

let AnyRedis: typeof Redis = Redis;

function open(on: readonly Pick<Master, "host" | "port">[], client: RedisOptions = quick) {
  return fleet.open({ on, client, Client: AnyRedis, nodeTimeout: 400, retryCount: 0 });
}

/** Cuts every connection of the user's and ours, as a server does that has forgotten a user. */
const kill = (admin: Redis) => admin.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
const killListeners = (admin: Redis) => admin.call("CLIENT", "KILL", "TYPE", "pubsub");

describe.each(versions)("with %s:", (_version, Version) => {
  beforeEach(() => {
    AnyRedis = Version;
  });

  describe("a password that is rotated", () => {
    it.each([
      [
        "of the server",
        { password: "old" },
        (admin: Redis, word: string) => admin.config("SET", "requirepass", word),
      ],
      [
        "of a user",
        { username: "locks", password: "old" },
        (admin: Redis, word: string) =>
          admin.call("ACL", "SETUSER", "locks", "resetpass", "on", `>${word}`, "~*", "&*", "+@all"),
      ],
    ])("%s: locks go on with the one that the user's client has", async (_, credentials, set) => {
      const masters = fleet.masters.slice(0, 3);
      const admins = fleet.admins.slice(0, 3);
      for (const admin of admins) await set(admin, "old");
      try {
        const { redlock, clients } = open(masters, { ...quick, ...credentials });
        const waiters = new Redlock(clients, { nodeTimeout: 400 });
        await untilAllVote(redlock, clients);
        for (const admin of admins) await set(admin, "new");
        for (const client of clients) client.options.password = "new";
        for (const admin of admins) {
          await killListeners(admin);
          await kill(admin);
        }
        await untilAllVote(redlock, clients);
        expect(await Promise.all(clients.map((client) => client.ping()))).toEqual(["PONG", "PONG", "PONG"]);
        // The connections that listen as well.
        const resource = fresh();
        const first = await redlock.acquire(resource, 10_000);
        const second = waiters.acquire(resource, 10_000, { waitTimeout: 10_000 });
        await until("it is listened to", async () => {
          const counts = await Promise.all(
            admins.map((admin) => admin.pubsub("CHANNELS", "quorlock:inbox:*")),
          );
          return counts.every((channels) => channels.length > 0);
        });
        await first.release();
        await (await second).release();
      } finally {
        for (const admin of admins) await admin.config("SET", "requirepass", "");
      }
    });
  });

  describe("an address that leads to another server", () => {
    it("is connected to again when the one before says that it is a replica", async () => {
      const [first, second, third, spare] = fleet.masters as [Master, Master, Master, Master];
      const [proxy] = await proxied(1);
      const { redlock, clients } = open([proxy!, second, third]);
      await untilAllVote(redlock, clients);
      proxy!.pointTo(spare);
      const old = fleet.admin(first);
      await old.replicaof(spare.host, spare.port);
      try {
        await untilAllVote(redlock, clients);
        const lock = await redlock.acquire(fresh(), ttl);
        await Promise.all(lock.attempts);
        expect(await fleet.admin(spare).get(lock.resources[0]!)).toBe(lock.value);
        await lock.release();
      } finally {
        await old.replicaof("NO", "ONE");
        await fleet.admin(first).flushall();
      }
    });

    itWithIoredis("reconnectOnError")(
      "the user's reconnectOnError decides for other errors, and nothing is sent again",
      async () => {
        const errors: string[] = [];
        const reconnectOnError = (error: Error): 2 => {
          errors.push(error.message);
          return 2;
        };
        const masters = fleet.masters.slice(0, 3);
        const [proxy] = await proxied(1);
        const { redlock, clients } = open([proxy!, ...masters.slice(1)], { ...quick, reconnectOnError });
        await untilAllVote(redlock, clients);
        const [admin] = fleet.admins as [Redis];
        const { accepted } = proxy!.counters;
        await admin.config("SET", "min-replicas-to-write", 1);
        await using tap = await WireTap.on(admin);
        const resources: string[] = [];
        try {
          await until("it has reconnected", async () => {
            const resource = fresh("refused");
            resources.push(resource);
            const lock = await redlock.acquire(resource, ttl);
            await lock.release();
            return proxy!.counters.accepted > accepted;
          });
          const sets = (await tap.commands()).filter(({ words }) => words[0]!.toUpperCase() === "SET");
          expect(errors.every((message) => message.includes("NOREPLICAS"))).toBe(true);
          for (const resource of resources) {
            expect(sets.filter(({ words }) => words[1] === resource).length).toBeLessThan(2);
          }
        } finally {
          await admin.config("SET", "min-replicas-to-write", 0);
        }
        await untilAllVote(redlock, clients);
      },
    );
  });

  describe("a connection that is half open", () => {
    it("is given up while the server does not greet, and the next one is made", async () => {
      const on = await proxied(3);
      const { redlock, clients } = open(on, { ...quick, connectTimeout: 300 });
      await untilAllVote(redlock, clients);
      for (const proxy of on) {
        proxy.hold("replies");
        proxy.reset();
      }
      await until("new connections are not greeted", () => on.every(({ counters }) => counters.accepted > 8));
      for (const proxy of on) {
        proxy.freeze();
        proxy.release();
      }
      await untilAllVote(redlock, clients, 9000);
    });
  });
});
