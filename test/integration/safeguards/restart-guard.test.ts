import { ExecutionError, InvalidArgumentError, Redlock } from "@quorlock/redlock";
import { withoutScripts } from "@quorlock/redlock/without-scripts";
import { type Master, type MastersOptions, startProxy } from "@quorlock/testbed";
import { Cluster, Redis } from "ioredis";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { documentedRule } from "../../contract/permissions.ts";
import { until } from "../../contract/until.ts";
import { type Fleet, fresh, rejection, timed, untilConnected } from "../fleet/fleet.ts";
import { GuardedFleet, restartGuard, ttl } from "../fleet/guarded-fleet.ts";
import { itWithIoredis } from "../fleet/library.ts";

// PROTOCOL 9.1, 9.2, 9.6, 9.7, 9.8, 9.9, 9.12.

/** Masters with this persistence, for the tests of one block; each test finds them new. */
function useFleet(persistence?: MastersOptions["persistence"]): GuardedFleet {
  const guarded = GuardedFleet.forTests(persistence);
  beforeEach(() => guarded.fleet.empty());
  return guarded;
}

/** How many scripts each master has run. */
function callsOf(fleet: Fleet): Promise<number[]> {
  return Promise.all(
    fleet.admins.map(async (admin) => {
      const stats = await admin.info("commandstats");
      return [...stats.matchAll(/cmdstat_(?:set|eval|evalsha):calls=(\d+)/g)].reduce(
        (sum, [line, count]) => sum + (line.startsWith("cmdstat_set") ? 0 : Number(count)),
        0,
      );
    }),
  );
}

describe("a durable master", () => {
  const guarded = useFleet("aof-always");
  const { fleet } = guarded;
  const durable = { restartGuard: { maxTtl: ttl, durable: true } };

  it("votes at once after a restart", async () => {
    const opened = await guarded.openNew(durable);
    await guarded.crash(fleet.masters[2]!);
    await untilConnected(opened);
    await using lock = await opened.redlock.acquire(fresh("durable"), ttl);
    expect((await lock.attempts[0]!).votesFor.size).toBe(5);
  });

  it("is named one by one", async () => {
    const [first, ...others] = fleet.masters as [Master, ...Master[]];
    const names = new Set(others.map(({ host, port }) => `${host}:${port}`));
    const opened = await guarded.openNew({
      restartGuard: { maxTtl: ttl, durable: (node) => names.has(node) },
    });
    await guarded.crash(first);
    await guarded.crash(others[0]!);
    await untilConnected(opened);
    await using lock = await opened.redlock.acquire(fresh("durable"), ttl);
    expect((await lock.attempts[0]!).votesFor.size).toBe(4);
    expect(await guarded.quarantineOf(first)).toBeGreaterThan(0);
  });

  it("is in quarantine when it has been emptied", async () => {
    const opened = await guarded.openNew(durable);
    await fleet.admins[2]!.flushall();
    await using lock = await opened.redlock.acquire(fresh("durable"), ttl);
    expect((await lock.attempts[0]!).votesFor.size).toBe(4);
    expect(await guarded.quarantineOf(fleet.masters[2]!)).toBeGreaterThan(0);
  });
});

describe("with masters that keep running", () => {
  const guarded = useFleet();
  const { fleet } = guarded;

  itWithIoredis("an event of select")(
    "a client that is switched to a database of another maxTtl is told, as a new client would be",
    async () => {
      const opened = await guarded.openNew();
      const clients = fleet.masters.map(({ host, port }) => new Redis({ host, port, db: 2 }));
      const other = new Redlock(clients, { restartGuard: { maxTtl: ttl * 2 }, nodeTimeout: 900 });
      await other.initialize();
      await Promise.all(opened.clients.map((client) => client.select(2)));
      const refused = await rejection(opened.redlock.acquire(fresh("switched"), ttl));
      expect(refused).toBeInstanceOf(InvalidArgumentError);
      expect(String(refused)).toContain("maxTtl must be the same for all clients");
      await other.quit();
    },
  );

  it("FLUSHALL on a master: no second client gets the lock", async () => {
    const holder = await guarded.openNew();
    const rival = await guarded.openGuarded();
    const resource = fresh("emptied");
    const lock = await guarded.holdByThree(holder, resource);
    await fleet.admins[2]!.flushall();
    expect(await rival.redlock.tryAcquire(resource, ttl)).toBeNull();
    // Emptied again, it begins again: with another epoch, though the process is the same.
    const mark = await fleet.admins[2]!.get("quorlock:guard");
    await fleet.admins[2]!.flushall();
    expect(await rival.redlock.tryAcquire(resource, ttl)).toBeNull();
    expect(await fleet.admins[2]!.get("quorlock:guard")).not.toBe(mark);
    expect(lock.state).toBe("held");
    expect(rival.errors.map(({ reason }) => reason)).toContain("QUARANTINE");
  });

  it("each quarantine is reported once, in a message without repetition", async () => {
    const holder = await guarded.openNew();
    const rival = await guarded.openGuarded();
    const master = fleet.masters[2]!;
    const told = () => rival.errors.filter(({ reason }) => reason === "QUARANTINE");
    const vote = async () => {
      for (let round = 0; round < 5; round += 1) {
        await (await rival.redlock.acquire(fresh("told"), ttl)).release();
      }
      await (await rival.redlock.acquire([fresh("told"), fresh("told")], ttl)).release();
    };
    await using lock = await guarded.holdByThree(holder, fresh("told"));
    await fleet.admin(master).flushall();
    await vote();
    expect(told().map(({ message }) => message)).toEqual([
      expect.stringMatching(/: QUARANTINE: it may have forgotten votes, for \d+ ms more \[NODE\]$/),
    ]);
    expect(told()[0]!.error.message).toMatch(/^QUARANTINE it may/);
    // Its own extensions meet it as well, but are another client's.
    await lock.extend(ttl);
    expect(holder.errors.filter(({ reason }) => reason === "QUARANTINE").length).toBeLessThanOrEqual(1);
    await until("it is over", async () => (await guarded.quarantineOf(master)) < 0);
    await vote();
    expect(told()).toHaveLength(1);
    await fleet.admin(master).flushall();
    await vote();
    expect(told()).toHaveLength(2);
  });

  it("a key that is released in quarantine is not granted", async () => {
    const holder = await guarded.openNew();
    const rival = await guarded.openGuarded();
    const resource = fresh("released");
    const lock = await fleet.hold(resource, ttl, holder.redlock);
    const waiting = rival.redlock.acquire(resource, ttl);
    await fleet.untilWaiting(resource);
    // As if it had come back with an old snapshot: keys and queue are there, and nothing else is known.
    await fleet.admins[2]!.del("quorlock:guard");
    await lock.release();
    await using granted = await waiting;
    expect(await fleet.admins[2]!.get(resource)).toBeNull();
    expect(granted.state).toBe("held");
  });

  it("a repaired key counts only where the vote was the holder's: elsewhere a rival's may be forgotten", async () => {
    const opened = await guarded.openNew();
    const [first, second, third, fourth] = fleet.masters as [Master, Master, Master, Master];
    const lock = await guarded.holdByThree(opened, fresh("repaired"));
    const [resource] = lock.resources as [string];
    const refused = async (): Promise<unknown> =>
      rejection(opened.redlock.extend(lock, ttl, { retryCount: 0, nodeTimeout: 300 }));
    await fleet.admin(fourth).flushall();
    // (A vote that is refused puts it in quarantine.)
    expect(await opened.redlock.tryAcquire(resource, ttl)).toBeNull();
    await Promise.all([first.hang(), second.hang()]);
    try {
      // The third has the holder's vote, the fifth receives one, and the state of the fourth is unknown.
      expect(await refused()).toBeInstanceOf(ExecutionError);
      expect(await fleet.admin(fourth).get(resource)).toBe(lock.value);
    } finally {
      await Promise.all([first.resume(), second.resume()]);
    }
    // Of the third it is known.
    await lock.extend(ttl);
    await fleet.admin(third).flushall();
    await lock.extend(ttl);
    expect(await fleet.admin(third).get(resource)).toBe(lock.value);
    await first.hang();
    try {
      await opened.redlock.extend(lock, ttl, { retryCount: 0, nodeTimeout: 300 });
    } finally {
      await first.resume();
    }
    expect(lock.state).toBe("held");
  });

  it("masters are declared new only where all of them answer, and none has a mark", async () => {
    const { redlock } = fleet.open({ restartGuard, nodeTimeout: 300 });
    await fleet.masters[4]!.hang();
    const silent = await rejection(redlock.initialize());
    await fleet.masters[4]!.resume();
    expect(silent).toBeInstanceOf(ExecutionError);
    expect(await Promise.all(fleet.admins.map((admin) => admin.exists("quorlock:guard")))).toEqual([
      0, 0, 0, 0, 0,
    ]);
    await redlock.initialize();
    const again = await rejection(redlock.initialize());
    expect((again as Error).message).toContain("is not new");
  });

  it("one of two clients that declare the masters new at the same time does so", async () => {
    await using proxy = await startProxy(fleet.masters[4]!);
    const on = [...fleet.masters.slice(0, 4), proxy];
    const early = fleet.open({ restartGuard, on, nodeTimeout: 5000 });
    const late = fleet.open({ restartGuard });
    await untilConnected(early);
    await untilConnected(late);
    // All five have answered that they are new; the declaration is held up on its way to the fifth.
    const asked = proxy.nextReply((bytes) => bytes.toString().startsWith("*1\r\n*"));
    void asked.then(() => proxy.hold("requests"));
    const declared = early.redlock.initialize();
    await asked;
    await until("it is held up", () => proxy.counters.requests.held > 0);
    await until("the others are declared", async () => {
      const found = await Promise.all(fleet.admins.map((admin) => admin.exists("quorlock:guard")));
      return found.join() === "1,1,1,1,0";
    });
    expect(String(await rejection(late.redlock.initialize()))).toContain("is not new");
    proxy.release("requests");
    await declared;
    const markers = await Promise.all(fleet.admins.map((admin) => admin.get("quorlock:guard")));
    expect(markers.map((marker) => marker?.split(" ").at(-1))).toEqual(["0", "0", "0", "0", "0"]);
  });

  it("one with another maxTtl leaves no mark where it is missing", async () => {
    await guarded.openNew();
    await fleet.admins[0]!.flushall();
    const { redlock } = fleet.open({ restartGuard: { maxTtl: 2 * ttl } });
    await rejection(redlock.acquire(fresh("other"), ttl));
    expect(await fleet.admins[0]!.exists("quorlock:guard")).toBe(0);
  });

  it("a ttl above maxTtl is refused before anything is sent", async () => {
    const { redlock } = fleet.open({ restartGuard });
    const tooLong = () => redlock.acquire(fresh("long"), ttl + 1);
    expect(await rejection(tooLong())).toBeInstanceOf(InvalidArgumentError);
    expect(await Promise.all(fleet.admins.map((admin) => admin.dbsize()))).toEqual([0, 0, 0, 0, 0]);
  });

  it.each(["info", "object"])(
    "a user without the right to %s gets an error that says so",
    async (command) => {
      await guarded.openNew();
      for (const admin of fleet.admins) {
        await admin.acl(
          "SETUSER",
          "uninformed",
          "reset",
          "on",
          ">password",
          "~*",
          "&*",
          "+@all",
          `-${command}`,
        );
      }
      const client = { username: "uninformed", password: "password", enableReadyCheck: false };
      const { redlock } = fleet.open({ restartGuard, client });
      const asked = timed(() => rejection(redlock.acquire(fresh("uninformed"), ttl, { retryCount: 50 })));
      const { result: error, net } = await asked;
      expect(error).toBeInstanceOf(InvalidArgumentError);
      expect((error as Error).message).toContain("does not allow its user to run INFO and OBJECT");
      // At once: the retries that are allowed would take ten seconds.
      expect(net).toBeLessThan(4000);
    },
  );

  it.each(["info", "object"])("without the right to %s, votes report that as well", async (command) => {
    const { redlock, errors } = await guarded.openNew();
    for (const admin of fleet.admins) await admin.acl("SETUSER", "default", `-${command}`);
    try {
      await rejection(redlock.acquire(fresh("uninformed"), ttl, { retryCount: 0 }));
    } finally {
      for (const admin of fleet.admins) await admin.acl("SETUSER", "default", `+${command}`);
    }
    expect(new Set(errors.map(({ reason }) => reason))).toEqual(new Set(["NOPERM"]));
  });

  it("without the right to SETRANGE, a master is not declared new, and its votes report that", async () => {
    const { redlock, errors } = fleet.open({ restartGuard });
    await untilConnected({ redlock });
    for (const admin of fleet.admins) await admin.acl("SETUSER", "default", "-setrange");
    try {
      expect(String(await rejection(redlock.initialize()))).toContain("could not be declared new");
      await rejection(redlock.acquire(fresh("unmarked"), ttl, { retryCount: 0 }));
    } finally {
      for (const admin of fleet.admins) await admin.acl("SETUSER", "default", "+setrange");
    }
    expect(new Set(errors.map(({ reason }) => reason))).toEqual(new Set(["NOPERM"]));
  });

  it("the documented permissions are enough", async () => {
    const rule = [
      ...documentedRule.filter((word) => !word.startsWith("~lock")),
      "~*",
      "+object",
      "+setrange",
    ];
    for (const admin of fleet.admins)
      await admin.acl("SETUSER", "locks", "reset", "on", ">password", ...rule);
    const client = { username: "locks", password: "password" };
    const { redlock, errors } = fleet.open({ restartGuard, client });
    await untilConnected({ redlock });
    await redlock.initialize();
    const lock = await redlock.acquire(fresh("permitted"), ttl);
    expect((await lock.attempts[0]!).votesFor.size).toBe(5);
    expect(errors).toEqual([]);
  });

  it("costs no round trip: one command for each master, of a lock and of its release", async () => {
    const { redlock } = await guarded.openNew();
    const before = await callsOf(fleet);
    const lock = await redlock.acquire(fresh("one"), ttl);
    await Promise.all(lock.attempts);
    await Promise.all((await lock.release()).attempts);
    const after = await callsOf(fleet);
    expect(after.map((count, index) => count - before[index]!)).toEqual([2, 2, 2, 2, 2]);
  });
});

describe("refused in the constructor", () => {
  const clients: Redis[] = [];
  const lazily = () => {
    const client = new Redis(1, { lazyConnect: true });
    clients.push(client);
    return client;
  };
  afterAll(() => {
    for (const client of clients) client.disconnect();
  });

  it("without a maxTtl", () => {
    expect(() => new Redlock([lazily()], { restartGuard: {} as never })).toThrow(InvalidArgumentError);
    expect(() => new Redlock([lazily()], { restartGuard: { maxTtl: 0 } })).toThrow("restartGuard.maxTtl");
  });

  it("on a Cluster", () => {
    const cluster = new Cluster([{ port: 1 }], { lazyConnect: true });
    expect(() => new Redlock([cluster], { restartGuard })).toThrow("Redis Cluster cannot be guarded");
    cluster.disconnect();
  });

  it("without scripts", () => {
    expect(() => new Redlock(withoutScripts([lazily()]), { restartGuard })).toThrow("without scripts");
  });
});
