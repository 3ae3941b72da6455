import { ExecutionError, InvalidArgumentError, type Lock, Redlock } from "@quorlock/redlock";
import { withoutScripts } from "@quorlock/redlock/without-scripts";
import type { Master, MastersOptions } from "@quorlock/testbed";
import { Cluster, Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { until } from "../contract/until.ts";
import { Fleet, fresh, type Opened, type OpenOptions, rejection } from "./fleet.ts";

const ttl = 6000;
const restartGuard = { maxTtl: ttl };

let fleet: Fleet;

/** Masters with this persistence, for the tests of one block; each test finds them new. */
function useFleet(persistence: MastersOptions["persistence"] = "none"): void {
  beforeAll(async () => {
    fleet = await Fleet.start(5, { persistence });
  });
  beforeEach(async () => {
    for (const admin of fleet.admins) await admin.flushall();
  });
  afterEach(() => fleet.closeAll());
  afterAll(() => fleet?.stop());
}

/** All masters have been declared new, and vote. */
async function openNew(options: OpenOptions = {}): Promise<Opened> {
  const opened = fleet.open({ restartGuard, ...options });
  await opened.redlock.initialize();
  await warmUp(opened);
  return opened;
}

/** One more client of the same masters. */
async function openGuarded(options: OpenOptions = {}): Promise<Opened> {
  const opened = fleet.open({ restartGuard, ...options });
  await warmUp(opened);
  return opened;
}

/** Until every master has voted: nothing of the connection, or of the scripts, is new any more. */
async function warmUp({ redlock }: Opened): Promise<void> {
  await fleet.teachScripts();
  const lock = await redlock.acquire(fresh("warm-up"), ttl);
  expect((await lock.attempts[0]!).votesFor.size).toBe(5);
  await Promise.all((await lock.release()).attempts);
}

/** Held by the votes of the first three masters alone. */
async function holdByThree({ redlock }: Opened, resource: string): Promise<Lock> {
  const others = fleet.masters.slice(3);
  await fleet.occupy(resource, others);
  const lock = await redlock.acquire(resource, ttl);
  await fleet.free(resource, others);
  return lock;
}

async function crash(master: Master): Promise<void> {
  await master.kill();
  await master.restart();
  await until("the admin client is connected again", async () => {
    const reply = await fleet
      .admin(master)
      .ping()
      .catch(() => undefined);
    return reply === "PONG";
  });
}

const quarantineOf = (master: Master): Promise<number> => fleet.admin(master).pttl("quorlock:quarantine");

/** Until the clients of the Redlock are connected to every master again. */
function untilConnected(opened: Opened): Promise<void> {
  return until("every master answers", async () =>
    (await opened.redlock.inspect("nothing")).every(({ unreachable }) => unreachable === undefined),
  );
}

/** How many scripts each master has run. */
function calls(): Promise<number[]> {
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

const losses: readonly [
  name: string,
  persistence: NonNullable<MastersOptions["persistence"]>,
  forgets: boolean,
][] = [
  ["nothing kept", "none", true],
  ["a snapshot from before the lock", "rdb", true],
  ["a log written every second", "aof-everysec", false],
  ["a log written always", "aof-always", false],
];

describe.each(losses)("a master is killed and comes back with %s", (_, persistence, forgets) => {
  useFleet(persistence);

  async function heldThroughACrash(options: OpenOptions): Promise<{ lock: Lock; rival: Opened }> {
    const holder = await openNew(options);
    const rival = await openGuarded(options);
    const third = fleet.masters[2]!;
    if (persistence === "rdb") await fleet.admin(third).save();
    const resource = fresh("guarded");
    const lock = await holdByThree(holder, resource);
    await crash(third);
    expect(await fleet.admin(third).get(resource)).toBe(forgets ? null : lock.value);
    await untilConnected(holder);
    await untilConnected(rival);
    return { lock, rival };
  }

  it("nobody else gets the lock while it is held, and the others serve", async () => {
    const { lock, rival } = await heldThroughACrash({});
    const [resource] = lock.resources as [string];
    const third = fleet.masters[2]!;
    expect(await rival.redlock.tryAcquire(resource, ttl)).toBeNull();
    expect(await quarantineOf(third)).toBeGreaterThan(0);
    await lock.extend(ttl);
    // The hold is repaired there.
    await until(
      "the third master has the key",
      async () => (await fleet.admin(third).get(resource)) === lock.value,
    );
    while ((await quarantineOf(third)) !== -2) {
      expect(await rival.redlock.tryAcquire(resource, ttl)).toBeNull();
      await using other = await rival.redlock.acquire(fresh("served"), ttl);
      const { size } = (await other.attempts[0]!).votesFor;
      // (It may have ended in between.)
      if ((await quarantineOf(third)) > 0) expect(size).toBe(4);
      await lock.extend(ttl);
    }
    // From now on it votes as the others do.
    await using later = await rival.redlock.acquire(fresh("later"), ttl);
    expect((await later.attempts[0]!).votesFor.size).toBe(5);
    expect(await rival.redlock.tryAcquire(resource, ttl)).toBeNull();
    expect(lock.state).toBe("held");
    expect((await lock.release()).outcome).toBe("released");
  });
});

describe.each(losses.filter(([, , forgets]) => forgets))("and comes back with %s", (_, persistence) => {
  useFleet(persistence);

  it("without the guard two hold", async () => {
    const holder = await fleet.openWarm();
    const rival = await fleet.openWarm();
    const third = fleet.masters[2]!;
    if (persistence === "rdb") await fleet.admin(third).save();
    const resource = fresh("unguarded");
    const lock = await holdByThree(holder, resource);
    await crash(third);
    await untilConnected(rival);
    const second = await rival.redlock.tryAcquire(resource, ttl);
    expect(second?.state).toBe("held");
    expect(lock.state).toBe("held");
  });
});

describe("a durable master", () => {
  useFleet("aof-always");
  const durable = { restartGuard: { maxTtl: ttl, durable: true } };

  it("votes at once after a restart", async () => {
    const opened = await openNew(durable);
    await crash(fleet.masters[2]!);
    await untilConnected(opened);
    await using lock = await opened.redlock.acquire(fresh("durable"), ttl);
    expect((await lock.attempts[0]!).votesFor.size).toBe(5);
  });

  it("is named one by one", async () => {
    const [first, ...others] = fleet.masters as [Master, ...Master[]];
    const names = new Set(others.map(({ host, port }) => `${host}:${port}`));
    const opened = await openNew({ restartGuard: { maxTtl: ttl, durable: (node) => names.has(node) } });
    await crash(first);
    await crash(others[0]!);
    await untilConnected(opened);
    await using lock = await opened.redlock.acquire(fresh("durable"), ttl);
    expect((await lock.attempts[0]!).votesFor.size).toBe(4);
    expect(await quarantineOf(first)).toBeGreaterThan(0);
  });

  it("is in quarantine when it has been emptied", async () => {
    const opened = await openNew(durable);
    await fleet.admins[2]!.flushall();
    await using lock = await opened.redlock.acquire(fresh("durable"), ttl);
    expect((await lock.attempts[0]!).votesFor.size).toBe(4);
    expect(await quarantineOf(fleet.masters[2]!)).toBeGreaterThan(0);
  });
});

describe("with masters that keep running", () => {
  useFleet();

  it("somebody empties a master: nobody else gets the lock", async () => {
    const holder = await openNew();
    const rival = await openGuarded();
    const resource = fresh("emptied");
    const lock = await holdByThree(holder, resource);
    await fleet.admins[2]!.flushall();
    expect(await rival.redlock.tryAcquire(resource, ttl)).toBeNull();
    // Emptied again, it begins anew: with another epoch, though the process is the same.
    const mark = await fleet.admins[2]!.get("quorlock:guard");
    await fleet.admins[2]!.flushall();
    expect(await rival.redlock.tryAcquire(resource, ttl)).toBeNull();
    expect(await fleet.admins[2]!.get("quorlock:guard")).not.toBe(mark);
    expect(lock.state).toBe("held");
    expect(rival.errors.map(({ reason }) => reason)).toContain("QUARANTINE");
  });

  it("what is released in quarantine is not handed over", async () => {
    const holder = await openNew();
    const rival = await openGuarded();
    const resource = fresh("released");
    const lock = await holder.redlock.acquire(resource, ttl);
    const waiting = rival.redlock.acquire(resource, ttl);
    await until("it waits everywhere", async () =>
      (await holder.redlock.inspect(resource)).every(({ queueLength }) => queueLength === 1),
    );
    // As if it had come back with an old snapshot: keys and queue are there, and nothing else is known.
    await fleet.admins[2]!.del("quorlock:guard");
    await lock.release();
    await using granted = await waiting;
    expect(await fleet.admins[2]!.get(resource)).toBeNull();
    expect(granted.state).toBe("held");
  });

  it("a repaired key counts only where the vote was the holder's: elsewhere a rival's may be forgotten", async () => {
    const opened = await openNew();
    const [first, second, third, fourth] = fleet.masters as [Master, Master, Master, Master];
    const lock = await holdByThree(opened, fresh("repaired"));
    const [resource] = lock.resources as [string];
    const refused = async (): Promise<unknown> =>
      rejection(opened.redlock.extend(lock, ttl, { retryCount: 0, nodeTimeout: 300 }));
    await fleet.admin(fourth).flushall();
    // (A vote that is refused puts it in quarantine.)
    expect(await opened.redlock.tryAcquire(resource, ttl)).toBeNull();
    await Promise.all([first.hang(), second.hang()]);
    try {
      // The third has the holder's vote, the fifth is given it, and of the fourth nobody knows.
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

  it("new masters vote for nobody for maxTtl, unless they are declared new", async () => {
    const { redlock, errors } = fleet.open({ restartGuard });
    const error = await rejection(redlock.acquire(fresh("new"), ttl, { retryCount: 0 }));
    expect(error).toBeInstanceOf(ExecutionError);
    expect((error as Error).message).toContain("QUARANTINE");
    expect(new Set(errors.map(({ reason }) => reason))).toEqual(new Set(["QUARANTINE"]));
    expect(await rejection(redlock.initialize())).toBeInstanceOf(InvalidArgumentError);
    await until("the quarantine is over", async () => {
      const left = await Promise.all(fleet.masters.map(quarantineOf));
      return left.every((ms) => ms === -2);
    });
    await using lock = await redlock.acquire(fresh("new"), ttl);
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

  it("another maxTtl is refused, with both numbers", async () => {
    await openNew();
    const { redlock } = fleet.open({ restartGuard: { maxTtl: 2 * ttl } });
    const error = await rejection(redlock.acquire(fresh("other"), ttl));
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect((error as Error).message).toMatch(/12000 ms here, and 6000 ms at 127\.0\.0\.1:\d+/);
  });

  it("one with another maxTtl leaves no mark where it is missing", async () => {
    await openNew();
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

  it("a user without the right to INFO is told so", async () => {
    await openNew();
    for (const admin of fleet.admins) {
      await admin.acl("SETUSER", "uninformed", "reset", "on", ">password", "~*", "&*", "+@all", "-info");
    }
    const client = { username: "uninformed", password: "password", enableReadyCheck: false };
    const { redlock } = fleet.open({ restartGuard, client });
    const error = await rejection(redlock.acquire(fresh("uninformed"), ttl));
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect((error as Error).message).toContain("INFO");
  });

  it("where it is missing, INFO is told to be missing by the votes as well", async () => {
    const { redlock, errors } = await openNew();
    for (const admin of fleet.admins) await admin.acl("SETUSER", "default", "-info");
    try {
      await rejection(redlock.acquire(fresh("uninformed"), ttl, { retryCount: 0 }));
    } finally {
      for (const admin of fleet.admins) await admin.acl("SETUSER", "default", "+info");
    }
    expect(new Set(errors.map(({ reason }) => reason))).toEqual(new Set(["NOPERM"]));
  });

  it("costs no round trip: one command for each master, of a lock and of its release", async () => {
    const { redlock } = await openNew();
    const before = await calls();
    const lock = await redlock.acquire(fresh("one"), ttl);
    await Promise.all(lock.attempts);
    await Promise.all((await lock.release()).attempts);
    const after = await calls();
    expect(after.map((count, index) => count - before[index]!)).toEqual([2, 2, 2, 2, 2]);
  });
});

describe("with fencing tokens", () => {
  useFleet();

  /** Takes and gives up the lock until `master` votes as well; the tokens that it came to. */
  async function untilItVotes({ redlock }: Opened, master: number): Promise<number[]> {
    const tokens: number[] = [];
    await until(`master ${master} votes`, async () => {
      await using lock = await redlock.acquire("fenced", ttl);
      tokens.push(lock.fencingToken!);
      const { votesFor } = await lock.attempts[0]!;
      return votesFor.has(redlockClients.get(redlock)![master]!);
    });
    return tokens;
  }
  const redlockClients = new Map<Redlock, readonly Redis[]>();

  async function openFenced(): Promise<Opened> {
    const opened = await openNew({ fencing: true });
    redlockClients.set(opened.redlock, opened.clients);
    return opened;
  }

  it("a master that forgot its counters is given the floor of the others before it votes", async () => {
    const opened = await openFenced();
    const [first] = await untilItVotes(opened, 0);
    // Far ahead of every clock: what is forgotten would be missed.
    for (const admin of fleet.admins) await admin.set("quorlock:floor", String(first! + 1e12));
    await fleet.admins[0]!.flushall();
    const tokens = await untilItVotes(opened, 0);
    expect(tokens).toEqual([...new Set(tokens)].toSorted((a, b) => a - b));
    const mark = await fleet.admins[0]!.get("quorlock:guard");
    expect(mark).toMatch(/ 0$/);
    expect(Number(await fleet.admins[0]!.get("quorlock:floor"))).toBeGreaterThanOrEqual(first! + 1e12);
    expect(opened.errors.map(({ reason }) => reason)).not.toContain("UNCERTAIN_FLOOR");
  });

  it("where too many have forgotten them, the clock has to do, and the user is told", async () => {
    const opened = await openFenced();
    await Promise.all(fleet.admins.slice(0, 3).map((admin) => admin.flushall()));
    await until(
      "there is a quorum again",
      async () => {
        const lock = await opened.redlock.tryAcquire("fenced", ttl).catch(() => null);
        await lock?.release();
        return lock !== null;
      },
      25_000,
    );
    expect(opened.errors.map(({ reason }) => reason)).toContain("UNCERTAIN_FLOOR");
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
