import type { RedlockOptions } from "@quorlock/redlock";
import { Redlock } from "@quorlock/redlock";
import { type Master, type MastersOptions, startMasters, startProxy } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { expect, test } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet, fresh } from "../fleet/fleet.ts";
import { group, Sentinel } from "../fleet/sentinel.ts";

// The rows of docs/one-redis.md: what a lock on one Redis promises while that server fails, with and without the restart guard.

const ttl = 6000;
const guarded: RedlockOptions = { restartGuard: { maxTtl: ttl } };

/** A Redis that clients lock on, and a way to make it forget what only it knew. */
interface Service extends AsyncDisposable {
  connect(): Redis;
  /** From now on no write reaches a replica. */
  lag(): void;
  /** Resolves when the service may answer again. */
  fail(): Promise<void>;
}

/** One server, which is killed and started again. */
async function alone(persistence: MastersOptions["persistence"] & string): Promise<Service> {
  const masters = await startMasters(1, { persistence, say: () => {} });
  const [master] = masters.list as [Master];
  return {
    connect: () => new Redis(master.url, { retryStrategy: () => 20 }),
    lag() {},
    async fail() {
      await master.kill();
      await master.restart();
    },
    [Symbol.asyncDispose]: () => masters.stop(),
  };
}

/** A server with a replica that lags when the server dies, and Sentinel, which promotes the replica. */
async function withReplica(): Promise<Service> {
  const fleet = await Fleet.start(2);
  const [primary, replica] = fleet.masters as [Master, Master];
  // Replication goes through a proxy, so that it can lag.
  const link = await startProxy(primary);
  await fleet.admin(replica).replicaof(link.host, link.port);
  await until("the replica is there", async () =>
    (await fleet.admin(primary).info("replication")).includes("state=online"),
  );
  const sentinel = await Sentinel.start(primary);
  await sentinel.knowsReplica();
  return {
    connect: () =>
      new Redis({
        sentinels: [sentinel.address],
        name: group,
        sentinelRetryStrategy: () => 20,
        retryStrategy: () => 20,
      }),
    async fail() {
      await primary.kill();
      await sentinel.failover();
    },
    async [Symbol.asyncDispose]() {
      await sentinel.stop();
      await link.stop();
      await fleet.stop();
    },
    lag: () => link.dropReplies(),
  };
}

interface Outcome {
  /** How long two clients held the lock, ms; 0: they did not. */
  readonly overlap: number;
  /** From the failure to the next grant, ms. */
  readonly pause: number;
  /** Whether the token of the second lock is the larger one, with fencing. */
  readonly grows: boolean | undefined;
}

/** The lock is held while the service fails, and another client asks for it. */
async function outcomeOf(service: Service, options: RedlockOptions): Promise<Outcome> {
  const open = (): Redlock => {
    const client = service.connect();
    client.on("error", () => {});
    return new Redlock(client, { owner: false, ...options });
  };
  const [holder, rival] = [open(), open()];
  try {
    if (options.restartGuard) await holder.initialize();
    await rival.ready();
    const resource = fresh();
    service.lag();
    const held = await holder.acquire(resource, ttl);
    const failed = performance.now();
    await service.fail();
    const second = await rival.acquire(resource, ttl, { waitTimeout: 4 * ttl });
    const overlap = held.remaining();
    const pause = performance.now() - failed;
    const grows = options.fencing ? second.fencingToken! > held.fencingToken! : undefined;
    await second.release();
    return { overlap, pause, grows };
  } finally {
    for (const redlock of [holder, rival]) await redlock.quit();
  }
}

test.each([
  ["alone, with appendfsync always", () => alone("aof-always"), {}, 0],
  ["alone, without persistence", () => alone("none"), {}, 1],
  ["alone, without persistence, with the restart guard", () => alone("none"), guarded, 0],
  ["with a replica that lags", withReplica, {}, 1],
  ["with a replica that lags, with fencing", withReplica, { fencing: true }, 1],
  ["with a replica that lags, with the restart guard", withReplica, guarded, 0],
  [
    "with a replica that lags, with the restart guard and fencing",
    withReplica,
    { ...guarded, fencing: true },
    0,
  ],
] as const)("one Redis %s", async (what, start, options: RedlockOptions, holders) => {
  await using service = await start();
  const { overlap, pause, grows } = await outcomeOf(service, options);
  const tokens = grows === undefined ? "" : `, the token ${grows ? "grows" : "does not grow"}`;
  console.log(
    `${what}: two holders for ${(overlap / 1000).toFixed(1)} s, no new lock for ${(pause / 1000).toFixed(1)} s${tokens}`,
  );
  expect(overlap > 0).toBe(holders === 1);
  expect(grows).not.toBe(false);
});

test("one Redis with two replicas, and WAIT: the one that is promoted may be the one that lags", async () => {
  const fleet = await Fleet.start(3);
  const [primary, near, far] = fleet.masters as [Master, Master, Master];
  const link = await startProxy(primary);
  // Sentinel looks at this setting before it looks at what a replica has.
  await fleet.admin(far).config("SET", "replica-priority", 1);
  await fleet.admin(near).replicaof(primary.host, primary.port);
  await fleet.admin(far).replicaof(link.host, link.port);
  await until("both replicas are there", async () =>
    /state=online[\s\S]*state=online/.test(await fleet.admin(primary).info("replication")),
  );
  const sentinel = await Sentinel.start(primary);
  const replicas = () => sentinel.client.call("SENTINEL", "REPLICAS", group).then(String, String);
  await until("the Sentinel knows both", async () => /name,[\s\S]*name,/.test(await replicas()), 60_000);
  const first = new Redis(primary.port, { retryStrategy: null });
  const second = new Redis({ sentinels: [sentinel.address], name: group, retryStrategy: () => 20 });
  second.on("error", () => {});
  try {
    link.dropReplies();
    expect(await first.set("wait", "first", "PX", 10_000, "NX")).toBe("OK");
    const [one, both] = [await first.wait(1, 1000), await first.wait(2, 500)];
    console.log(`first:  SET wait first PX 10000 NX: OK; WAIT 1 1000: ${one}; WAIT 2 500: ${both}`);
    expect([one, both]).toEqual([1, 1]);
    const ends = performance.now() + (await first.pttl("wait"));
    await primary.kill();
    await sentinel.failover();
    await until("the promoted replica gives the lock away", async () =>
      second.set("wait", "second", "PX", 10_000, "NX").then(
        (reply) => reply === "OK",
        () => false,
      ),
    );
    const left = ends - performance.now();
    console.log(
      `second: SET wait second PX 10000 NX: OK, ${(left / 1000).toFixed(1)} s before the first ends`,
    );
    expect(left).toBeGreaterThan(0);
  } finally {
    for (const client of [first, second]) client.disconnect();
    await sentinel.stop();
    await link.stop();
    await fleet.stop();
  }
});
