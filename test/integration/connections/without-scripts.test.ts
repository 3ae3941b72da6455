import { once } from "node:events";
import { InvalidArgumentError, type Lock, Redlock, type RedlockOptions } from "@quorlock/redlock";
import { withoutScripts } from "@quorlock/redlock/without-scripts";
import {
  type Master,
  type Masters,
  startMasters,
  startProxy,
  type Proxy as TestProxy,
} from "@quorlock/testbed";
import { Cluster, Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ask } from "../../contract/ask.ts";
import { until } from "../../contract/until.ts";
import { Fleet, fresh } from "../fleet/fleet.ts";
import { itWithIoredis } from "../fleet/library.ts";
import { WireTap } from "../fleet/wire-tap.ts";

// PROTOCOL 2.16.

const scripts = false;
const ttl = 20_000;

describe("masters that have no EVAL", () => {
  const config = ["EVAL", "EVALSHA"].flatMap((command) => ["--rename-command", command, ""]);
  const fleet = Fleet.forTests(3, { config });

  it("are sent nothing but the commands of the user's rule", async () => {
    const { redlock } = await fleet.openWarm({ scripts, on: fleet.masters.slice(0, 1) });
    await using tap = await WireTap.on(fleet.admins[0]!);
    const resource = fresh();
    const lock = await redlock.acquire(resource, 1000);
    await lock.extend(2000);
    await lock.release();
    const reads = [["WATCH", resource], ["GET", resource], ["PTTL", resource], ["MULTI"]];
    expect((await tap.commands()).map(({ words }) => words)).toEqual([
      ["SET", resource, lock.value, "NX", "PX", "1000"],
      ...reads,
      ["PEXPIRE", resource, "2000"],
      ["EXEC"],
      ...reads,
      ["DEL", resource],
      ["EXEC"],
    ]);
  });

  it("have one connection for all Redlocks of a client, and these exclude each other", async () => {
    const [admin] = fleet.admins;
    const connections = async () =>
      String(await admin!.call("CLIENT", "LIST", "TYPE", "normal"))
        .trim()
        .split("\n").length;
    await until("those of earlier tests are closed", async () => (await connections()) === 1);
    const { clients, redlock } = await fleet.openWarm({ scripts, on: fleet.masters.slice(0, 1) });
    const redlocks = [redlock, new Redlock(withoutScripts(clients)), new Redlock(withoutScripts(clients))];
    for (let round = 0; round < 20; round += 1) {
      const resources = [fresh(), fresh()];
      const locks = await Promise.all(redlocks.map((each) => each.tryAcquire(resources, ttl)));
      expect(locks.filter((lock) => lock !== null)).toHaveLength(1);
    }
    // The admin's, the user's own, and ours.
    expect(await connections()).toBe(3);
  });
});

describe("beside a client that uses scripts", () => {
  const fleet = Fleet.forTests(3);

  const patient: RedlockOptions = { retryCount: -1, retryDelay: 5, retryJitter: 4 };

  it("neither ever enters while the other is in, under load", async () => {
    const clients = [fleet.open({ scripts, ...patient }), fleet.open({ ...patient })];
    const resources = [fresh(), fresh(), fresh()] as const;
    const wishes = [[0], [0, 1], [1, 2], [2, 0], [1]].map((wish) => wish.map((index) => resources[index]!));
    /** By resource: who is in. */
    const inside = new Map<string, Lock>();
    const entered = [0, 0];
    const enter = async (client: number, wish: readonly string[]) => {
      const lock = await clients[client]!.redlock.acquire(wish, ttl);
      for (const resource of wish) {
        if (inside.has(resource)) throw new Error(`two hold ${resource}`);
        inside.set(resource, lock);
      }
      entered[client]! += 1;
      // Long enough for a rival to try.
      await fleet.admins[0]!.ping();
      for (const resource of wish) inside.delete(resource);
      await lock.release();
    };
    const work = async (client: number, worker: number) => {
      for (let round = 0; round < 25; round += 1)
        await enter(client, wishes[(worker + round) % wishes.length]!);
    };
    await Promise.all([0, 1, 2, 3, 4, 5].map((worker) => work(worker % 2, worker)));
    expect(entered).toEqual([75, 75]);
    // A busy machine may be slow; nothing else may go wrong.
    for (const { errors } of clients) {
      expect(errors.filter(({ reason }) => reason !== "TIMEOUT")).toEqual([]);
    }
    for (const resource of resources) await fleet.untilGone(resource);
  });
});

describe("a connection that is lost in the middle of a transaction", () => {
  let fleet: Fleet;
  let proxy: TestProxy;
  beforeAll(async () => {
    fleet = await Fleet.start(3);
  });
  beforeEach(async () => {
    proxy = await startProxy(fleet.masters[0]!);
  });
  afterEach(async () => {
    fleet.closeAll();
    await proxy.stop();
  });
  afterAll(() => fleet?.stop());

  const openThroughProxy = () => fleet.openWarm({ scripts, on: [proxy, ...fleet.masters.slice(1)] });

  it("after the reads costs one vote, writes nothing, and the next transaction is a new one", async () => {
    const { redlock, errors } = await openThroughProxy();
    const resources = [fresh(), fresh()];
    const [first] = resources as [string, string];
    const lock = await redlock.acquire(resources, ttl);
    await Promise.all(lock.attempts);
    proxy.hold("replies");
    const extension = lock.extend(3 * ttl);
    await proxy.when(({ replies }) => replies.held > 0);
    await killClients(fleet.admins[0]!);
    await proxy.heal();
    await extension;
    expect(await votesFor(lock)).toBe(2);
    expect(errors).toMatchObject([{ reason: "UNREACHABLE" }]);
    const [left] = await fleet.lifetimes(first);
    expect(left).toBeLessThanOrEqual(ttl);
    await until("all three vote again", async () => {
      await lock.extend(3 * ttl);
      return (await votesFor(lock)) === 3;
    });
    expect((await lock.release()).outcome).toBe("released");
    for (const resource of resources) await fleet.untilGone(resource);
  });

  it("after EXEC was executed leaves a vote that does not count, and is rolled back", async () => {
    const { redlock } = await openThroughProxy();
    const resources = [fresh(), fresh()];
    const lost = proxy.resetAfterRequest((bytes) => /exec/i.test(bytes.toString()));
    const lock = await redlock.acquire(resources, ttl);
    await lost;
    expect(await votesFor(lock)).toBe(2);
    expect(await fleet.values(resources[0]!)).toEqual(fleet.masters.map(() => lock.value));
    expect((await lock.release()).outcome).toBe("released");
    for (const resource of resources) await fleet.untilGone(resource);
  });
});

const claimOf = (resource: string) => ({
  resources: [resource],
  token: "mine",
  ttl: 2 * ttl,
  abandoned: false,
});

const withIoredis = itWithIoredis("a disconnect that awaits the answers");
const withSelect = itWithIoredis("an event of select");

describe("a client that leaves its connection in the middle of a transaction", () => {
  let fleet: Fleet;
  let master: Master;
  let proxy: TestProxy;
  let elsewhere: Redis;
  beforeAll(async () => {
    fleet = await Fleet.start(1);
    master = fleet.masters[0]!;
    elsewhere = new Redis(master.port, master.host, { db: 1 });
  });
  beforeEach(async () => {
    proxy = await startProxy(master);
  });
  afterEach(async () => {
    fleet.closeAll();
    await proxy.stop();
  });
  afterAll(async () => {
    elsewhere?.disconnect();
    await fleet?.stop();
  });

  /** A node on a connection that stands, and resources that are held by its token there. */
  const held = async () => {
    const { clients } = fleet.open({ scripts, on: [proxy] });
    const [client] = clients;
    const node = withoutScripts(clients)[0]!;
    const [first, second] = [fresh(), fresh()];
    await ask(node).inspect(first);
    for (const resource of [first, second]) await fleet.occupy(resource, [master], ttl, "mine");
    return { client: client!, clients, node, first, second };
  };

  /** Until what was called before has been executed, and nothing of it has been heard. */
  const executed = () => proxy.when(({ replies }) => replies.held > 0);

  const unsent = { is: "fault", sent: false, error: { reason: "UNREACHABLE" } };

  withIoredis(
    "by its end, is written nothing, and no connection is made for what is left of it",
    async () => {
      const { client, node, first, second } = await held();
      proxy.hold("replies");
      const extension = ask(node).extend(claimOf(first), true);
      await executed();
      await ended(client);
      const { accepted } = proxy.counters;
      proxy.release("replies");
      expect(await extension).toMatchObject(unsent);
      await proxy.when(({ connections }) => connections === 0);
      expect(proxy.counters.accepted).toBe(accepted);
      expect(await fleet.admin(master).pttl(first)).toBeLessThanOrEqual(ttl);
      expect(await ask(node).release([second], "mine")).toMatchObject(unsent);
    },
  );

  withIoredis(
    "by its end, has what is only to be forgotten forgotten: no connection is made for that",
    async () => {
      const { client, node } = await held();
      const rivals = fresh();
      await fleet.occupy(rivals, [master], ttl);
      proxy.hold("replies");
      const extension = ask(node).extend(claimOf(rivals), true);
      await executed();
      await ended(client);
      const { accepted } = proxy.counters;
      proxy.release("replies");
      expect(await extension).toMatchObject({ is: "no" });
      await proxy.when(({ connections }) => connections === 0);
      expect(proxy.counters.accepted).toBe(accepted);
    },
  );

  withIoredis("is not sent what waited behind it once it is back", async () => {
    const { client, node, first } = await held();
    const free = fresh();
    proxy.hold("replies");
    const extension = ask(node).extend(claimOf(first), true);
    const vote = ask(node).vote(claimOf(free));
    await executed();
    await ended(client);
    const connected = client.connect();
    proxy.release("replies");
    expect(await extension).toMatchObject(unsent);
    expect(await vote).toMatchObject(unsent);
    await connected;
    expect(await ask(node).vote(claimOf(fresh()))).toMatchObject({ is: "yes" });
    expect(await fleet.values(free)).toEqual([null]);
  });

  withSelect("by SELECT, goes on in neither database", async () => {
    const { client, node, first, second } = await held();
    for (const resource of [first, second]) await elsewhere.set(resource, "mine", "PX", ttl);
    await using tap = await WireTap.on(fleet.admin(master));
    proxy.hold("replies");
    const extension = ask(node).extend(claimOf(first), true);
    const vote = ask(node).vote(claimOf(fresh()));
    const release = ask(node).release([second], "mine");
    await executed();
    const selected = client.select(1);
    // Its reply leaves the proxy first: the user's connection is the older one.
    await proxy.when(({ replies }) => replies.held > 1);
    proxy.release("replies");
    await selected;
    expect(await extension).toMatchObject(unsent);
    expect(await vote).toMatchObject(unsent);
    expect(await release).toMatchObject(unsent);
    expect((await tap.commands()).filter(({ database }) => database === "1")).toEqual([]);
    expect(await elsewhere.mget(first, second)).toEqual(["mine", "mine"]);
    expect(await ask(node).extend(claimOf(first), false)).toMatchObject({ is: "yes" });
    expect(await elsewhere.pttl(first)).toBeGreaterThan(ttl);
  });
});

describe("a master that hangs in the middle of a transaction", () => {
  const fleet = Fleet.forTests(3);

  it("blocks no other call, and is not sent the operations that were given up meanwhile", async () => {
    const { redlock } = await fleet.openWarm({ scripts });
    const [hung] = fleet.masters;
    await using tap = await WireTap.on(fleet.admin(hung!));
    const names = Array.from({ length: 5 }, () => [fresh(), fresh()]);
    await hung!.hang();
    for (const resources of names) {
      const lock = await redlock.acquire(resources, ttl);
      expect((await lock.release()).outcome).toBe("released");
    }
    await hung!.resume();
    await until("it votes again", async () => {
      const lock = await redlock.acquire([fresh(), fresh()], ttl);
      const votes = await votesFor(lock);
      await lock.release();
      return votes === 3;
    });
    const written = (await tap.commands()).filter(({ words }) => words[0] === "SET");
    const given = new Set(names.flat());
    expect(written.filter(({ words }) => given.has(words[1]!))).toEqual([]);
    for (const resource of given) await fleet.untilGone(resource);
  });
});

describe("an own key that expires between reads and EXEC", () => {
  let masters: Masters;
  let proxy: TestProxy;
  let admin: Redis;
  let client: Redis;
  beforeAll(async () => {
    masters = await startMasters(1, { say: () => {} });
    proxy = await startProxy(masters.list[0]!);
    // For servers before Redis 6 as well: there EXEC goes by other rules.
    admin = new Redis(masters.urls[0]!, { protocol: 2 });
    client = new Redis(proxy.url, { protocol: 2 });
  });
  afterAll(async () => {
    for (const each of [admin, client]) each?.disconnect();
    await proxy?.stop();
    await masters?.stop();
  });

  // Which of these makes EXEC do nothing depends on the version of the server.
  describe.each(["deleted by then", "not deleted yet"])("%s", (how) => {
    const expired = async (resource: string, lifetime: number) => {
      const end = performance.now() + lifetime + 20;
      if (how === "deleted by then") {
        await until("it is gone", async () => (await admin.get(resource)) === null);
      } else await until("its time is over", () => performance.now() > end);
    };

    it.each([
      ["set", 1000],
      ["looked at", 1],
    ])("is not created by a plain extension by which it would be %s", async (_, wanted) => {
      const node = withoutScripts([client])[0]!;
      const [expiring, lasting] = [fresh(), fresh()];
      await ask(node).inspect(expiring);
      await admin.set(lasting, "mine", "PX", ttl);
      await admin.set(expiring, "mine", "PX", 300);
      proxy.hold("replies");
      const claim = { resources: [lasting, expiring], token: "mine", ttl: wanted, abandoned: false };
      const extension = ask(node).extend(claim, false);
      await proxy.when(({ replies }) => replies.held > 0);
      await expired(expiring, 300);
      proxy.release("replies");
      expect(await extension).toEqual({ is: "no", resource: expiring, owner: undefined, remaining: 0 });
      expect(await admin.get(expiring)).toBeNull();
      expect(await admin.get(lasting)).toBe("mine");
    });

    it("is created by a repair", async () => {
      const node = withoutScripts([client])[0]!;
      const resource = fresh();
      await ask(node).inspect(resource);
      await admin.set(resource, "mine", "PX", 300);
      proxy.hold("replies");
      const repair = ask(node).extend({ resources: [resource], token: "mine", ttl, abandoned: false }, true);
      await proxy.when(({ replies }) => replies.held > 0);
      await expired(resource, 300);
      proxy.release("replies");
      expect(await repair).toMatchObject({ is: "yes", remaining: ttl });
      expect(await admin.get(resource)).toBe("mine");
    });
  });
});

describe("what cannot be had", () => {
  const client = new Redis({ lazyConnect: true });
  const cluster = new Cluster([], { lazyConnect: true });
  afterAll(() => {
    client.disconnect();
    cluster.disconnect();
  });

  it.each([["queue", true]])("is refused at once: %s", (name, value) => {
    const opened = (option: unknown) => new Redlock(withoutScripts([client]), { [name]: option });
    expect(() => opened(value)).toThrow(InvalidArgumentError);
    expect(() => opened(value)).toThrow(name);
    expect(() => opened(false)).not.toThrow();
    expect(() => opened(undefined)).not.toThrow();
  });

  it("a Cluster neither", () => {
    expect(() => withoutScripts([client, cluster])).toThrow(InvalidArgumentError);
    expect(() => new Redlock([client, cluster], {})).not.toThrow();
  });
});

/** The user's client has ended; what the master answers on the connection of the locks is still heard. */
async function ended(client: Redis): Promise<void> {
  const end = once(client, "end");
  client.disconnect();
  client.stream.destroy();
  await end;
}

/** Ends all connections but this one. */
async function killClients(admin: Redis): Promise<void> {
  await admin.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
}

/** How many masters said yes when the lock was acquired or last extended. */
async function votesFor(lock: Lock): Promise<number> {
  return (await lock.attempts.at(-1))!.votesFor.size;
}
