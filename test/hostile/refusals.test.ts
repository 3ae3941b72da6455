import { ExecutionError, type NodeError } from "@quorlock/redlock";
import type { Master } from "@quorlock/testbed";
import type { Redis, RedisOptions } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { until } from "../contract/until.ts";
import {
  Fleet,
  fresh,
  type Opened,
  type OpenOptions,
  rejection,
  timed,
  votesOf,
} from "../integration/fleet/fleet.ts";

// Five masters, of which two, or three, answer with an error.
let fleet: Fleet;
let healthy: readonly Master[];
let faulty: readonly Master[];
const undo: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  // Before Redis 7 every client may DEBUG, and there is no such option.
  const starting = Fleet.start(5, { config: ["--enable-debug-command", "local"] });
  fleet = await starting.catch((error: Error) => {
    if (/enable-debug-command.*\n.*Bad directive/.test(error.message)) return Fleet.start(5);
    throw error;
  });
  healthy = fleet.masters.slice(0, 3);
  faulty = fleet.masters.slice(3);
});
afterEach(async () => {
  // First: what still tries to connect need not see the masters change again.
  fleet.closeAll();
  for (const step of undo.splice(0)) await step();
});
afterAll(() => fleet?.stop());

const ttl = 20_000;
const nodeTimeout = 1000;
/** The time a busy machine may add, ms. */
const slack = 1500;

/** Connected everywhere, and the masters know the scripts. */
function openReady(options: OpenOptions = {}): Promise<Opened> {
  return fleet.openWarm({ nodeTimeout, ...options });
}

/** Makes a master refuse; resolves with the word that it then says. The resources are what will be locked. */
type Fault = (admin: Redis, resources: readonly string[]) => Promise<string>;

async function withoutPermission(admin: Redis, ...rule: string[]): Promise<string> {
  await admin.acl("SETUSER", "default", ...rule);
  undo.push(() => admin.acl("SETUSER", "default", "allkeys", "allchannels", "allcommands"));
  return "NOPERM";
}

const faults: Record<string, Fault> = {
  "an ACL without SET": (admin) => withoutPermission(admin, "-set"),
  "an ACL without SET and scripts": (admin) => withoutPermission(admin, "-set", "-eval", "-evalsha"),
  "an ACL without keys": (admin) => withoutPermission(admin, "resetkeys", "~another"),
  "an ACL without one of the keys": (admin, resources) =>
    withoutPermission(
      admin,
      "resetkeys",
      "~another",
      ...resources.slice(0, -1).map((resource) => `~${resource}`),
    ),
  // (Redis 6.2 has no such keys, and a user without commands that write is the nearest to it.)
  "an ACL that only reads": (admin) =>
    withoutPermission(admin, "resetkeys", "%R~*").catch(() => withoutPermission(admin, "-@write")),
  async "a replica"(admin) {
    // No server to replicate from: it serves its own data, read-only.
    await admin.call("REPLICAOF", "127.0.0.1", "1");
    undo.push(() => admin.call("REPLICAOF", "NO", "ONE"));
    return "READONLY";
  },
  async "no memory left"(admin) {
    await admin.config("SET", "maxmemory", "1");
    undo.push(() => admin.config("SET", "maxmemory", "0"));
    return "OOM";
  },
  async "too few replicas"(admin) {
    await admin.config("SET", "min-replicas-to-write", "1");
    undo.push(() => admin.config("SET", "min-replicas-to-write", "0"));
    return "NOREPLICAS";
  },
  async "loading its data"(admin) {
    await slowToLoad(admin);
    const observer = await connected(admin);
    const loaded = admin.call("DEBUG", "RELOAD");
    await untilSaid(observer, "LOADING");
    undo.push(async () => {
      // The rest is loaded at full speed.
      await observer.config("SET", "key-load-delay", "0");
      await loaded;
      observer.disconnect();
      await admin.flushall();
    });
    return "LOADING";
  },
  async "a script that is running"(admin) {
    await admin.config("SET", "lua-time-limit", "1");
    const busy = await connected(admin);
    const running = busy.eval("while true do end", 0).catch(() => {});
    await untilSaid(admin, "BUSY");
    undo.push(async () => {
      await admin.script("KILL");
      await running;
      busy.disconnect();
    });
    return "BUSY";
  },
};

/** A connection that stands already: to make a new one takes commands that are refused. */
async function connected(admin: Redis): Promise<Redis> {
  const another = admin.duplicate();
  await another.ping();
  return another;
}

function untilSaid(client: Redis, word: string): Promise<void> {
  return until(`it says ${word}`, async () => {
    const answer = await client.get("anything").catch((error: Error) => error.message);
    return String(answer).startsWith(word);
  });
}

/** The number of keys with which a reload takes many seconds. */
async function slowToLoad(admin: Redis): Promise<void> {
  const count = 20_000;
  await admin.eval(
    "for i = 1, tonumber(ARGV[1]) do redis.call('SET', 'filler' .. i, string.rep('x', 100)) end",
    0,
    count,
  );
  await admin.config("SET", "key-load-delay", "500");
  // (Redis 6.2 has no such parameter: these four cases cannot be made there.)
  await admin.config("SET", "loading-process-events-interval-bytes", "1024");
}

describe.each(Object.entries(faults))("%s", (_, makeFault) => {
  it.each([1, 2])("on two of five is a failed vote of each, with %i resources", async (count) => {
    const { redlock, clients, errors } = await openReady();
    const resources = Array.from({ length: count }, () => fresh());
    let reason = "";
    for (const master of faulty) reason = await makeFault(fleet.admin(master), resources);

    const lock = await redlock.acquire(resources, ttl);
    const [stats] = await Promise.all(lock.attempts);
    expect(votesOf(clients, stats!)).toEqual([true, true, true, false, false]);
    for (const [index, { port }] of faulty.entries()) {
      const vote = stats!.votesAgainst.get(clients[3 + index]!) as NodeError;
      expect(vote).toMatchObject({ name: "NodeError", code: "NODE", reason, node: `127.0.0.1:${port}` });
      expect(vote.message).toContain(reason);
      expect(vote.error).toBeInstanceOf(Error);
      expect(errors).toContain(vote);
    }

    await lock.extend(2 * ttl);
    expect(lock.remaining()).toBeGreaterThan(1.9 * ttl);
    expect(await lock.verify()).toBe(true);
    expect(await redlock.tryAcquire(resources, ttl)).toBeNull();
    expect((await lock.release()).outcome).toBe("released");
    for (const resource of resources) await fleet.untilGone(resource, healthy);
    expect(errors.filter((error) => error.reason !== reason)).toEqual([]);
  });

  it("on three of five is an ExecutionError that names each, in time", async () => {
    const { redlock, clients } = await openReady({ retryCount: 1, retryDelay: 1 });
    const resource = fresh();
    const [spared, ...broken] = fleet.masters.slice(1);
    let reason = "";
    for (const master of broken) reason = await makeFault(fleet.admin(master), [resource]);
    const { result: error, net } = await timed(() => rejection(redlock.acquire(resource, ttl)));
    expect(error).toBeInstanceOf(ExecutionError);
    expect(error).toMatchObject({ code: "NO_QUORUM" });
    for (const { port } of broken) expect((error as Error).message).toContain(`127.0.0.1:${port}: ${reason}`);
    const attempts = await Promise.all((error as ExecutionError).attempts);
    expect(attempts).toHaveLength(2);
    for (const stats of attempts) {
      const told = clients.slice(2).map((client) => (stats.votesAgainst.get(client) as NodeError).reason);
      expect(told).toEqual([reason, reason, reason]);
    }
    expect(net).toBeLessThan(2 * nodeTimeout + slack);
    expect(await rejection(redlock.tryAcquire(resource, ttl))).toMatchObject({ code: "NO_QUORUM" });
    await fleet.untilGone(resource, [fleet.masters[0]!, spared!]);
  });
});

describe("an ACL of two of five that leaves something out:", () => {
  it("scripts: their SET counts, and failed extensions and releases are reported", async () => {
    const { redlock, clients, errors } = await openReady();
    for (const master of faulty) await withoutPermission(fleet.admin(master), "-eval", "-evalsha");
    const resource = fresh();
    const lock = await redlock.acquire(resource, ttl);
    const [stats] = await Promise.all(lock.attempts);
    expect(votesOf(clients, stats!)).toEqual([true, true, true, true, true]);
    await lock.extend(2 * ttl);
    const [extension] = await Promise.all(lock.attempts);
    for (const client of clients.slice(3)) {
      expect(extension!.votesAgainst.get(client)).toMatchObject({ reason: "NOPERM" });
    }
    expect(await lock.verify()).toBe(true);
    expect((await lock.release()).outcome).toBe("released");
    await fleet.untilGone(resource, healthy);
    expect(new Set(errors.map(({ reason }) => reason))).toEqual(new Set(["NOPERM"]));
    // Their keys live on until they expire; the others are enough for the next one.
    await (await redlock.acquire(resource, ttl, { retryCount: 0 })).release();
  });

  it("channels: nothing is missed, since nothing is published or subscribed to", async () => {
    const { redlock, clients, errors } = await openReady();
    for (const master of faulty) {
      const admin = fleet.admin(master);
      await withoutPermission(admin, "resetchannels", "-subscribe", "-psubscribe", "-publish");
      // (There are shards to publish to from Redis 7 on.)
      await admin.acl("SETUSER", "default", "-ssubscribe", "-spublish").catch(() => {});
    }
    const lock = await redlock.acquire([fresh(), fresh()], ttl);
    const [stats] = await Promise.all(lock.attempts);
    expect(votesOf(clients, stats!)).toEqual([true, true, true, true, true]);
    await lock.extend(2 * ttl);
    expect((await lock.release()).outcome).toBe("released");
    expect(errors).toEqual([]);
  });
});

/** The guarded want another password than the one that the client has, the others want that one. */
async function guard(masters: readonly Master[], { username, password }: RedisOptions): Promise<void> {
  const wanted = password === undefined ? "nopass" : `>${password}`;
  for (const master of fleet.masters) {
    const admin = fleet.admin(master);
    undo.push(() => admin.acl("SETUSER", "default", "nopass"));
    if (masters.includes(master)) await admin.acl("SETUSER", "default", "resetpass", ">another");
    else
      await admin.acl("SETUSER", username ?? "default", "on", "resetpass", wanted, "allkeys", "allcommands");
    if (username !== undefined) undo.push(() => admin.acl("DELUSER", username));
  }
}

describe("a master that does not let the client in", () => {
  const entrances: Record<string, readonly [word: string, options: RedisOptions]> = {
    "without a password": ["NOAUTH", {}],
    "with a wrong password": ["WRONGPASS", { password: "wrong" }],
    "with an unknown user": ["WRONGPASS", { username: "unknown", password: "wrong" }],
  };

  const cases = Object.entries(entrances).flatMap(([how, [word, options]]) =>
    ([2, 3] as const).map((protocol) => [how, protocol, word, { ...options, protocol }] as const),
  );

  it.each(cases)("%s, by RESP%i: says so, and the others' quorum works", async (_, __, word, client) => {
    await guard(faulty, client);
    const { redlock, clients } = fleet.open({ nodeTimeout, client });
    const lock = await redlock.acquire(fresh(), ttl);
    const [stats] = await Promise.all(lock.attempts);
    expect(votesOf(clients, stats!)).toEqual([true, true, true, false, false]);
    for (const one of clients.slice(3)) {
      const vote = stats!.votesAgainst.get(one) as NodeError;
      expect(vote.reason).toBe("UNREACHABLE");
      expect(vote.message).toContain(word);
    }
    expect((await lock.release()).outcome).toBe("released");
  });

  it("a majority of them: no quorum, in time, by name", async () => {
    const client = { password: "wrong" };
    await guard(fleet.masters.slice(2), client);
    const { redlock, clients } = fleet.open({ nodeTimeout, retryCount: 0, client });
    const { result: error, net } = await timed(() => rejection(redlock.acquire(fresh(), ttl)));
    expect(error).toMatchObject({ code: "NO_QUORUM" });
    expect(net).toBeLessThan(nodeTimeout + slack);
    const [stats] = await Promise.all((error as ExecutionError).attempts);
    for (const [index, { port }] of fleet.masters.entries()) {
      if (index < 2) continue;
      expect((error as Error).message).toContain(`127.0.0.1:${port}: UNREACHABLE`);
      expect((stats!.votesAgainst.get(clients[index]!) as Error).message).toContain("WRONGPASS");
    }
  });
});

describe("a master that is loading when the client comes", () => {
  it("has no vote until it has loaded, and the others' quorum works", async () => {
    for (const master of faulty) await faults["loading its data"]!(fleet.admin(master), []);
    const { redlock, clients } = fleet.open({ nodeTimeout });
    const lock = await redlock.acquire(fresh(), ttl);
    const [stats] = await Promise.all(lock.attempts);
    expect(votesOf(clients, stats!)).toEqual([true, true, true, false, false]);
    for (const client of clients.slice(3)) {
      // ioredis does not call a connection ready as long as the master loads.
      expect((stats!.votesAgainst.get(client) as NodeError).reason).toMatch(/TIMEOUT|UNREACHABLE|LOADING/);
    }
    expect((await lock.release()).outcome).toBe("released");
    for (const step of undo.splice(0)) await step();
    await until("all vote again", async () => {
      const next = await redlock.acquire(fresh(), ttl);
      const [votes] = await Promise.all(next.attempts);
      await next.release();
      return votes!.votesFor.size === 5;
    });
  });
});
