import { inspect } from "node:util";
import { ExecutionError, type NodeError } from "@quorlock/redlock";
import { type Master, startProxy } from "@quorlock/testbed";
import type { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { until } from "../contract/until.ts";
import { Fleet, fresh, type Opened, type OpenOptions, rejection, timed, votesOf } from "./fleet.ts";
import { WireTap } from "./wire-tap.ts";

// Three masters, of which the last one, or more of them, answer with an error.
let fleet: Fleet;
const undo: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  fleet = await Fleet.start(3, { config: ["--enable-debug-command", "local"] });
});
afterEach(async () => {
  for (const step of undo.splice(0)) await step();
  fleet.closeAll();
});
afterAll(() => fleet?.stop());

const ttl = 20_000;
const nodeTimeout = 300;

/** Connected everywhere, and the masters know the scripts. */
function openReady(options: OpenOptions = {}): Promise<Opened> {
  return fleet.openWarm({ nodeTimeout, ...options });
}

/** Makes a master refuse; resolves with the word that it then says. The resource is what will be locked. */
type Fault = (admin: Redis, resource: string) => Promise<string>;

const faults: Record<string, Fault> = {
  async "a list at the key"(admin, resource) {
    await admin.rpush(resource, "not a lock");
    undo.push(() => admin.del(resource));
    return "WRONGTYPE";
  },
  async "an ACL without SET and scripts"(admin) {
    await admin.acl("SETUSER", "default", "-set", "-eval", "-evalsha");
    undo.push(() => admin.acl("SETUSER", "default", "+@all"));
    return "NOPERM";
  },
  async "an ACL without the key"(admin) {
    await admin.acl("SETUSER", "default", "resetkeys", "~another");
    undo.push(() => admin.acl("SETUSER", "default", "~*"));
    return "NOPERM";
  },
  async "a replica"(admin) {
    // Nobody is there to replicate from: it serves what it has, read-only.
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

/** So many keys that a reload takes many seconds. */
async function slowToLoad(admin: Redis): Promise<void> {
  const count = 20_000;
  await admin.eval(
    "for i = 1, tonumber(ARGV[1]) do redis.call('SET', 'filler' .. i, string.rep('x', 100)) end",
    0,
    count,
  );
  await admin.config("SET", "key-load-delay", "500");
  await admin.config("SET", "loading-process-events-interval-bytes", "1024");
}

describe.each(Object.entries(faults))("%s", (_, makeFault) => {
  it.each([1, 2])("on one master is a failed vote of that one, with %i resources", async (count) => {
    const { redlock, clients, errors } = await openReady();
    const resources = Array.from({ length: count }, () => fresh());
    const faulty = fleet.masters[2]!;
    const reason = await makeFault(fleet.admin(faulty), resources.at(-1)!);

    const lock = await redlock.acquire(resources, ttl);
    const [stats] = await Promise.all(lock.attempts);
    expect(votesOf(clients, stats!)).toEqual([true, true, false]);
    const vote = stats!.votesAgainst.get(clients[2]!) as NodeError;
    expect(vote).toMatchObject({ name: "NodeError", code: "NODE", reason, node: `127.0.0.1:${faulty.port}` });
    expect(vote.message).toContain(reason);
    expect(vote.error).toBeInstanceOf(Error);
    expect(errors).toContain(vote);

    await lock.extend(2 * ttl);
    expect(lock.remaining()).toBeGreaterThan(1.9 * ttl);
    expect(await lock.verify()).toBe(true);
    expect(await redlock.tryAcquire(resources, ttl)).toBeNull();
    expect((await lock.release()).outcome).toBe("released");
    for (const resource of resources) await fleet.untilGone(resource, fleet.masters.slice(0, 2));
    expect(errors.filter((error) => error.reason !== reason)).toEqual([]);
  });
});

describe("what an error tells", () => {
  it("is no token: whoever knows one can release the lock, and errors are logged", async () => {
    const { redlock, errors } = await openReady();
    const lock = await redlock.acquire(fresh(), ttl);
    await faults["an ACL without SET and scripts"]!(fleet.admins[0]!, "");
    await lock.extend(ttl);
    await lock.release();
    await until("the fault is told", () => errors.length > 0);
    for (const error of errors) expect(inspect(error, { depth: 10 })).not.toContain(lock.value);
  });
});

describe("on a majority", () => {
  it.each(["a list at the key", "a replica", "no memory left", "an ACL without SET and scripts"])(
    "%s is an ExecutionError that says so",
    async (name) => {
      const { redlock } = await openReady({ retryCount: 1, retryDelay: 1 });
      const resource = fresh();
      let reason = "";
      for (const admin of fleet.admins.slice(0, 2)) reason = await faults[name]!(admin, resource);
      const { result: error, took } = await timed(() => rejection(redlock.acquire(resource, ttl)));
      expect(error).toBeInstanceOf(ExecutionError);
      expect(error).toMatchObject({ code: "NO_QUORUM" });
      for (const { port } of fleet.masters.slice(0, 2)) {
        expect((error as Error).message).toContain(`127.0.0.1:${port}: ${reason}`);
      }
      expect(await Promise.all((error as ExecutionError).attempts)).toHaveLength(2);
      expect(took).toBeLessThan(4 * nodeTimeout);
      expect(await rejection(redlock.tryAcquire(resource, ttl))).toMatchObject({ code: "NO_QUORUM" });
      await fleet.untilGone(resource, fleet.masters.slice(2));
    },
  );

  it("a waiting acquire gets its lock when it is over", async () => {
    const { redlock } = fleet.open({ nodeTimeout, retryCount: -1, retryDelay: 10, retryJitter: 5 });
    const resource = fresh();
    for (const admin of fleet.admins) await faults["a replica"]!(admin, resource);
    const waiting = redlock.acquire(resource, ttl);
    for (const step of undo.splice(0)) await step();
    await (await waiting).release();
  });
});

describe("a password that is wrong", () => {
  it("is a failed vote, and the others' quorum works", async () => {
    const [guarded] = fleet.masters.slice(2) as [Master];
    const admin = fleet.admin(guarded);
    await admin.config("SET", "requirepass", "a secret");
    undo.push(() => admin.config("SET", "requirepass", ""));
    const { redlock, clients, errors } = fleet.open({ nodeTimeout });
    const lock = await redlock.acquire(fresh(), ttl);
    const [stats] = await Promise.all(lock.attempts);
    expect(votesOf(clients, stats!)).toEqual([true, true, false]);
    expect((await lock.release()).outcome).toBe("released");
    expect(errors.length).toBeGreaterThan(0);
    expect(errors[0]!.message).toMatch(/NOAUTH|UNREACHABLE/);
  });
});

describe("after a reconnect", () => {
  it("no SET of a lock that is over is executed, with the client's resending on", async () => {
    const [first, second, third] = fleet.masters as [Master, Master, Master];
    await using proxy = await startProxy(third);
    const { redlock, clients } = await openReady({ on: [first, second, proxy] });
    // The user's own command waits for the same reconnect, and is sent again.
    proxy.hold("requests");
    const resource = fresh();
    const lock = await redlock.acquire(resource, ttl);
    await proxy.when(({ requests }) => requests.held > 0);
    await using tap = await WireTap.on(fleet.admin(third));
    const users = clients[2]!.set("the user's own", "sent again", "PX", 5000);
    expect((await lock.release()).outcome).toBe("released");
    proxy.reset();
    proxy.release("requests");
    await users;
    await until("our own connection stands again", async () => {
      const [, , inspection] = await redlock.inspect(resource);
      return inspection!.unreachable === undefined;
    });
    expect(await fleet.values(resource)).toEqual([null, null, null]);
    const sets = (await tap.commands()).filter(({ words }) => words[0] === "SET");
    expect(sets.map(({ words }) => words[1])).toEqual(["the user's own"]);
  });
});
