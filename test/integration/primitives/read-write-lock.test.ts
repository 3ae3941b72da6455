import { setTimeout as pause } from "node:timers/promises";
import { type DetachedLock, InvalidArgumentError, type Lock, Redlock } from "@quorlock/redlock";
import { ReadWriteLock, type WriteLock } from "@quorlock/redlock/read-write-lock";
import { Child } from "@quorlock/simulation/processes";
import { clusterConfig, formCluster, Stalls } from "@quorlock/testbed";
import { Cluster } from "ioredis";
import { describe, expect, it } from "vitest";
import { documentedRule, documentedRuleOfReaders } from "../../contract/permissions.ts";
import { until } from "../../contract/until.ts";
import { Fleet, fresh, type OpenOptions, rejection, timed, votesOf } from "../fleet/fleet.ts";

// PROTOCOL 10.3, 10.4, 10.5.

const fleet = Fleet.forTests(3);

const ttl = 30_000;
/** For locks that run out in the course of a test. */
const shortTtl = 1_500;

/** Waiters poll at short intervals. */
const soon: OpenOptions = { retryDelay: 20, retryJitter: 10, waitTimeout: 20_000 };

function keysOf(name: string): { readers: string; write: string; rounds: string; queue: string } {
  const prefix = `quorlock:rw:{${name}}`;
  const [readers, write, rounds] = [`${prefix}:readers`, `${prefix}:write`, `${prefix}:rounds`];
  return { readers, write, rounds, queue: `quorlock:queue:tagged:${write}` };
}

/** The length of the queue on each master. */
function waiting(name: string): Promise<number[]> {
  return Promise.all(fleet.admins.map((admin) => admin.zcard(keysOf(name).queue)));
}

async function untilNothingIsLeft(name: string): Promise<void> {
  const keys = Object.values(keysOf(name));
  await until(`nothing is left of ${name}`, async () => {
    const left = await Promise.all(fleet.admins.map((admin) => admin.exists(keys)));
    return left.every((count) => count === 0);
  });
}

/** Each client has its own connections. */
function open(name: string, options: OpenOptions = {}): ReadWriteLock {
  return new ReadWriteLock(fleet.open({ ...soon, ...options }).redlock, name);
}

/** The shared resource: reports a reader or writer that should not be there. */
class Report {
  readers = 0;
  writers = 0;
  reads = 0;
  writes = 0;
  readonly mistakes: string[] = [];

  /** `signal`: an act counts only under a lock that stands. */
  async read(lock: Lock, work: () => Promise<unknown>): Promise<void> {
    this.readers += 1;
    if (this.writers > 0 && lock.remaining() > 0) this.mistakes.push("reads beside a writer");
    await work();
    this.readers -= 1;
    this.reads += 1;
  }

  async write(lock: Lock, work: () => Promise<unknown>): Promise<void> {
    this.writers += 1;
    const isAlone = this.writers === 1 && this.readers === 0;
    if (!isAlone && lock.remaining() > 0) this.mistakes.push("writes and is not alone");
    await work();
    this.writers -= 1;
    this.writes += 1;
  }
}

/** As it travels to another process. */
async function detached(lock: Lock): Promise<DetachedLock> {
  return JSON.parse(JSON.stringify(await lock.detach())) as DetachedLock;
}

describe("many read or one writes, on real masters", () => {
  it("lets readers in together, and a writer alone", async () => {
    const name = fresh("report");
    const [one, other] = [open(name), open(name)];
    const readings = await Promise.all([one.read(ttl), one.read(ttl), other.read(ttl)]);
    expect(await other.tryWrite(ttl)).toBeNull();
    for (const reading of readings) expect(await reading.verify()).toBe(true);
    for (const reading of readings) expect(await reading.release()).toMatchObject({ outcome: "released" });
    const writing = await other.write(ttl);
    expect(await one.tryRead(ttl)).toBeNull();
    expect(await one.tryWrite(ttl)).toBeNull();
    await writing.extend(ttl);
    expect(await writing.verify()).toBe(true);
    expect(await writing.release()).toMatchObject({ outcome: "released" });
    await (await one.read(ttl)).release();
    await untilNothingIsLeft(name);
  });

  it("has the keys that it says; each expires", async () => {
    const name = fresh("report");
    const lock = open(name);
    const { readers, write } = keysOf(name);
    const reading = await lock.read(ttl);
    for (const admin of fleet.admins) {
      const [waiter] = reading.value.split(".");
      await until("it is a member", async () => (await admin.zscore(readers, waiter!)) !== null);
      expect(await admin.pttl(readers)).toBeGreaterThan(ttl - 5_000);
    }
    await reading.release();
    const writing = await lock.write(ttl);
    await until("every master has the token", async () =>
      (await fleet.values(write)).every((value) => value === writing.value),
    );
    expect(Math.min(...(await fleet.lifetimes(write)))).toBeGreaterThan(ttl - 5_000);
    await writing.release();
    await untilNothingIsLeft(name);
  });

  it("gives each reader its own expiry, which no other reader changes", async () => {
    const name = fresh("report");
    const lock = open(name);
    const long = await lock.read(ttl);
    const short = await lock.read(shortTtl);
    const { readers } = keysOf(name);
    // A master keeps the whole set for as long as its last reader.
    await until("every master has both", async () => {
      const counts = await Promise.all(fleet.admins.map((admin) => admin.zcard(readers)));
      return counts.every((count) => count === 2);
    });
    for (const admin of fleet.admins) expect(await admin.pttl(readers)).toBeGreaterThan(ttl - 5_000);
    await until("the short one is lost", () => short.state === "lost");
    const again = await lock.read(shortTtl);
    await until("it is lost as well", () => again.state === "lost");
    expect(await lock.tryWrite(ttl)).toBeNull();
    expect(await long.verify()).toBe(true);
    await long.release();
    // Expired readers block no writer.
    await (await lock.write(ttl)).release();
  });

  it("is free for a writer when a reader that was killed has expired, while others come and go", async () => {
    const name = fresh("report");
    const readerTtl = 2_000;
    const child = await startReader(name, readerTtl);
    const lock = open(name);
    expect(await lock.tryWrite(ttl)).toBeNull();
    await child.kill();
    const { result: writing, net } = await timed(() => lock.write(ttl));
    expect(net).toBeLessThan(readerTtl + 1_500);
    await writing.release();
  });

  it("notifies a reader whose lock has expired", async () => {
    const { redlock } = fleet.open(soon);
    const lost: Lock[] = [];
    redlock.on("lost", (lock) => lost.push(lock));
    const lock = new ReadWriteLock(redlock, fresh("report"));
    const reading = await lock.read(shortTtl);
    await until("its signal has aborted", () => reading.signal.aborted);
    expect(reading.state).toBe("lost");
    expect(lost).toEqual([reading]);
    const next = await lock.write(shortTtl);
    await until("its signal has aborted", () => next.signal.aborted);
    expect(lost).toEqual([reading, next]);
    expect(await rejection(next.downgrade())).toMatchObject({ code: "LOCK_LOST" });
  });

  it("bounds writing and reading on after a downgrade by one maxHoldTime", async () => {
    const lock = open(fresh("report"), { nodeTimeout: 200 });
    using stalls = new Stalls();
    const begun = performance.now();
    await lock.usingWrite(900, { maxHoldTime: 1500 }, async (_, writing) => {
      await until("most of the time is over", () => performance.now() - begun > 1100);
      const reading = await writing.downgrade();
      expect(reading.state).toBe("held");
      await until("the time is over", () => reading.signal.aborted);
      // Renewed without a limit, it would be held for the 30 s of \`until\`.
      expect(performance.now() - begun - stalls.total).toBeLessThan(1500 + 1000);
      expect(reading.signal.reason).toMatchObject({ why: "it was held for maxHoldTime, 1500 ms" });
    });
  });

  it("lets readers in at once when a Redlock quits whose writer waits, or was about to ask", async () => {
    for (const isWaiting of [true, false]) {
      const name = fresh("report");
      const other = open(name);
      const reading = await other.read(ttl);
      const { redlock } = await fleet.openWarm();
      const ended = rejection(
        new ReadWriteLock(redlock, name).write(ttl, { retryCount: -1, retryDelay: 5000 }),
      );
      const isRefused = async () => (await other.tryRead(ttl).then((lock) => lock?.release())) === undefined;
      if (isWaiting) await until("the writer keeps readers out", isRefused);
      await redlock.quit();
      expect(await ended).toMatchObject({ code: "CLOSED" });
      const another = await other.tryRead(ttl);
      expect(another?.state).toBe("held");
      await another!.release();
      await reading.release();
      await untilNothingIsLeft(name);
    }
  });

  it("leaves nothing when the Redlock that it is made of quits", async () => {
    const name = fresh("report");
    const other = open(name);
    const { redlock } = fleet.open(soon);
    const lock = new ReadWriteLock(redlock, name);
    const reading = await other.read(ttl);
    const mine = await lock.read(ttl);
    const writing = rejection(lock.write(ttl));
    await until("it waits", async () => (await waiting(name)).some(Boolean));
    await redlock.quit();
    expect(await writing).toMatchObject({ code: "CLOSED" });
    expect(mine.state).toBe("lost");
    await reading.release();
    await untilNothingIsLeft(name);
    expect(await rejection(lock.read(ttl))).toMatchObject({ code: "CLOSED" });
  });

  it("works without a minority of the masters, and reports a missing quorum", async () => {
    const lock = open(fresh("report"));
    await (await lock.read(ttl)).release();
    const [first, second] = fleet.masters;
    await first!.hang();
    try {
      await (await lock.read(ttl)).release();
      await (await lock.write(ttl)).release();
      await second!.hang();
      expect(await rejection(lock.tryRead(ttl))).toMatchObject({ code: "NO_QUORUM" });
    } finally {
      for (const master of [first!, second!]) await master.resume();
    }
  });

  it.each([null, {}, { resources: 5 }, { resources: {} }])("is not resumed from %j", (detached) => {
    expect(() => open("report").resume(detached as never)).toThrow(InvalidArgumentError);
  });

  it("continues a detached lock in another process", async () => {
    const name = fresh("report");
    const [giver, taker] = [open(name), open(name)];
    const reading = taker.resume(await detached(await giver.read(ttl)));
    expect(reading.remaining()).toBe(0);
    expect(await reading.verify()).toBe(true);
    await reading.release();
    const writing = taker.resume(await detached(await giver.write(ttl))) as WriteLock;
    expect(await writing.verify()).toBe(true);
    const downgraded = await writing.downgrade();
    expect(await giver.tryWrite(ttl)).toBeNull();
    await downgraded.release();
    await untilNothingIsLeft(name);
  });
});

/** Eight readers, once all of them read, until `ended`. */
async function streamOfReaders(
  name: string,
  report: Report,
  ended: AbortSignal,
): Promise<ReadonlyArray<Promise<void>>> {
  const readers = Array.from({ length: 8 }, async (_, index) => {
    const lock = open(name);
    // All different, so that they are never all away at once.
    const hold = 60 + 20 * index;
    while (!ended.aborted) {
      await lock.usingRead(ttl, (_signal, reading) => report.read(reading, () => pause(hold)));
    }
  });
  await until("all of them read, one after the other", () => report.reads >= 16 && report.readers >= 2);
  return readers;
}

describe("starvation", () => {
  it("lets a writer through a stream of eight readers, and readers behind it", async () => {
    const name = fresh("report");
    const report = new Report();
    const ended = new AbortController();
    const readers = await streamOfReaders(name, report, ended.signal);
    const writer = open(name);
    const waits: number[] = [];
    for (let count = 0; count < 5; count += 1) {
      const readsBefore = report.reads;
      const { result: writing, net } = await timed(() => writer.write(ttl));
      waits.push(Math.round(net));
      await report.write(writing, () => pause(20));
      await writing.release();
      await until("readers are served", () => report.reads > readsBefore + 8);
    }
    ended.abort();
    await Promise.all(readers);
    console.log(`a writer among 8 readers of 60 to 200 ms waited ${waits.join(", ")} ms`);
    expect(report.mistakes).toEqual([]);
    // Those who read may finish, and it asks again within 30 ms; the rest is a busy machine.
    expect(Math.max(...waits)).toBeLessThan(3_000);
    await untilNothingIsLeft(name);
  });

  it("lets a writer through although others give up beside it, again and again", async () => {
    const name = fresh("report");
    const report = new Report();
    const ended = new AbortController();
    const readers = await streamOfReaders(name, report, ended.signal);
    // They ask seldom, so they would be waited for longer than the one that stays.
    const impatient = [1, 2, 3].map(async () => {
      const lock = open(name, { retryDelay: 500, waitTimeout: 50 });
      while (!ended.signal.aborted) {
        const writing = await lock.write(ttl).catch(() => undefined);
        if (writing) await report.write(writing, () => pause(1));
        await writing?.release();
        await pause(5);
      }
    });
    const writer = open(name, { waitTimeout: 6_000 });
    const waits: number[] = [];
    const begun: number[] = [];
    for (let count = 0; count < 5; count += 1) {
      const readsBefore = report.reads + report.readers;
      const { result: writing, net } = await timed(() => writer.write(ttl));
      waits.push(Math.round(net));
      begun.push(report.reads + report.readers - readsBefore);
      await report.write(writing, () => pause(20));
      await writing.release();
      const readsAfter = report.reads;
      await until("readers are served", () => report.reads > readsAfter + 8);
    }
    ended.abort();
    await Promise.all([...readers, ...impatient]);
    console.log(
      `a writer among 8 readers and 3 impatient writers waited ${waits.join(", ")} ms; reads begun meanwhile: ${begun.join(", ")}`,
    );
    expect(report.mistakes).toEqual([]);
    expect(Math.max(...waits)).toBeLessThan(3_000);
    // Each reader begins once more at most before it is heard of, and after each impatient writer that comes through.
    expect(Math.max(...begun)).toBeLessThan(60);
    await untilNothingIsLeft(name);
  });

  it("keeps an entry for each waiting writer: one that gives up removes only its own", async () => {
    const name = fresh("report");
    const reading = await open(name).read(ttl);
    const reader = open(name);
    const [patient, other, third] = [open(name, { retryDelay: 3_000 }), open(name), open(name)];
    const waiting = patient.write(ttl);
    const shutOut = async (): Promise<boolean> => {
      const further = await reader.tryRead(ttl);
      await further?.release();
      return further === null;
    };
    await until("a new reader is refused", shutOut);
    for (const lock of [other, third]) {
      expect(await rejection(lock.write(ttl, { waitTimeout: 100, retryDelay: 5_000 }))).toMatchObject({
        code: "RESOURCE_LOCKED",
      });
      expect(await shutOut()).toBe(true);
    }
    // Nor does one that is granted: after it the first one is still waited for.
    await reading.release();
    const writing = await other.tryWrite(ttl);
    await writing?.release();
    expect(await shutOut()).toBe(true);
    await (await waiting).release();
    await (await reader.read(ttl)).release();
    await untilNothingIsLeft(name);
  });

  it("keeps readers away for a writer that waits, and not for longer than it waits", async () => {
    const name = fresh("report");
    // By itself that would end after some seconds.
    const [one, other] = [open(name), open(name, { retryDelay: 3_000 })];
    const reading = await one.read(ttl);
    // A writer that does not wait keeps no reader away.
    expect(await other.tryWrite(ttl)).toBeNull();
    await (await one.tryRead(ttl))!.release();
    const gaveUp = new AbortController();
    const waiting = rejection(other.write(ttl, { signal: gaveUp.signal }));
    await until("a new reader is refused", async () => {
      const further = await one.tryRead(ttl);
      await further?.release();
      return further === null;
    });
    // A present reader continues.
    await reading.extend(ttl);
    gaveUp.abort();
    expect(await waiting).toMatchObject({ code: "ABORTED" });
    const { net } = await timed(async () => (await one.read(ttl)).release());
    expect(net).toBeLessThan(3_000);
    await reading.release();
    await untilNothingIsLeft(name);
  });

  it("lets readers in again when a writer that waits is killed", async () => {
    const name = fresh("report");
    const lock = open(name);
    const reading = await lock.read(ttl);
    const { redlock, clients } = fleet.open({ ...soon, nodeTimeout: 200 });
    void rejection(new ReadWriteLock(redlock, name).write(ttl));
    // (A reader needs only two of the three masters, and only where it is does a writer wait for it.)
    await until("it waits", async () => (await waiting(name)).filter(Boolean).length >= 2);
    for (const client of clients) client.disconnect();
    const { net } = await timed(async () => (await lock.read(ttl)).release());
    // 2 s, its nodeTimeout and one more attempt of the reader.
    expect(net).toBeLessThan(2_500);
    await reading.release();
  });
});

describe("downgrade", () => {
  it("makes the writer a reader in one step", async () => {
    const name = fresh("report");
    const [one, other] = [open(name), open(name)];
    const writing = await one.write(ttl);
    const reading = await writing.downgrade();
    expect(writing.state).toBe("released");
    expect(writing.remaining()).toBe(0);
    expect(reading.state).toBe("held");
    expect(reading.remaining()).toBeGreaterThan(ttl - 5_000);
    expect(await writing.release()).toMatchObject({ outcome: "released" });
    expect(await rejection(writing.downgrade())).toMatchObject({ code: "LOCK_LOST" });
    expect(await reading.verify()).toBe(true);
    expect(await other.tryWrite(ttl)).toBeNull();
    const beside = await other.read(ttl);
    await reading.release();
    await beside.release();
    await (await other.write(ttl)).release();
    await untilNothingIsLeft(name);
  });

  it("asks by the settings of the call that acquired the lock, not by those of the constructor", async () => {
    const lock = open(fresh("report"), { nodeTimeout: 3 * ttl });
    const call = { nodeTimeout: 900 };
    const downgraded = async (writing: WriteLock): Promise<void> => {
      const reading = await writing.downgrade(2 * ttl);
      expect(reading.remaining()).toBeGreaterThan(ttl);
      await reading.release();
    };
    await downgraded(await lock.write(ttl, call));
    await downgraded((await lock.tryWrite(ttl, call))!);
    await lock.usingWrite(ttl, call, (_, writing) => downgraded(writing));
  });

  it("keeps every key for as long as it was promised", async () => {
    const name = fresh("report");
    const { redlock, clients } = fleet.open(soon);
    const writing = await new ReadWriteLock(redlock, name).write(ttl);
    // Two of three are a quorum: a master that has not voted by the downgrade never does, and so promises nothing.
    const stats = (await Promise.all(writing.attempts)).at(-1)!;
    const promising = fleet.admins.filter((_, index) => votesOf(clients, stats)[index]);
    expect(promising.length).toBeGreaterThanOrEqual(2);
    const reading = await writing.downgrade(1_000);
    expect(reading.remaining()).toBeGreaterThan(ttl - 5_000);
    for (const admin of promising) {
      await until("it was swapped", async () => (await admin.zcard(keysOf(name).readers)) === 1);
      expect(await admin.pttl(keysOf(name).readers)).toBeGreaterThan(ttl - 5_000);
    }
    await reading.release();
  });

  it("reads on where no quorum confirms it, and swaps what is left later", async () => {
    const name = fresh("report");
    const lock = open(name);
    const other = open(name);
    const writing = await lock.write(ttl);
    const [first, second, third] = fleet.masters;
    for (const master of [first!, second!]) await master.hang();
    let reading: Lock;
    try {
      reading = await writing.downgrade();
      expect(writing.remaining()).toBe(0);
      expect(reading.state).toBe("unknown");
      expect(reading.remaining()).toBeGreaterThan(ttl / 2);
    } finally {
      for (const master of [first!, second!]) await master.resume();
    }
    await reading.extend(ttl);
    expect(reading.state).toBe("held");
    await until("every master was told", async () =>
      (await fleet.values(keysOf(name).write)).every((value) => value === null),
    );
    expect(await fleet.admin(third!).zcard(keysOf(name).readers)).toBe(1);
    expect(await other.tryWrite(ttl)).toBeNull();
    await reading.release();
    await untilNothingIsLeft(name);
  });

  it("never lets a writer in between, under load", async () => {
    const name = fresh("report");
    const report = new Report();
    const ended = new AbortController();
    let version = 0;
    const downgrades = { same: 0, changed: 0 };
    const writers = Array.from({ length: 4 }, async () => {
      const lock = open(name);
      while (!ended.signal.aborted) {
        await lock.usingWrite(ttl, async (_signal, writing) => {
          await report.write(writing, () => pause(2));
          version += 1;
          const mine = version;
          const reading = await writing.downgrade();
          await report.read(reading, () => pause(10));
          downgrades[version === mine ? "same" : "changed"] += 1;
        });
      }
    });
    const readers = Array.from({ length: 4 }, async () => {
      const lock = open(name);
      while (!ended.signal.aborted) {
        await lock.usingRead(ttl, (_signal, reading) => report.read(reading, () => pause(5)));
      }
    });
    await until("enough was written", () => downgrades.same + downgrades.changed >= 40, 40_000);
    ended.abort();
    await Promise.all([...writers, ...readers]);
    expect(report.mistakes).toEqual([]);
    expect(downgrades.changed).toBe(0);
    expect(report.reads).toBeGreaterThan(40);
    await untilNothingIsLeft(name);
  });

  it("keeps the read lock extended for the routine of usingWrite, and releases it", async () => {
    const name = fresh("report");
    const [lock, other] = [open(name), open(name)];
    let reading: Lock | undefined;
    await lock.usingWrite(shortTtl, async (_signal, writing) => {
      reading = await writing.downgrade();
      await pause(2 * shortTtl);
      expect(reading.state).toBe("held");
      expect(await other.tryWrite(ttl)).toBeNull();
    });
    expect(reading?.state).toBe("released");
    await untilNothingIsLeft(name);
  });
});

describe("what is refused", () => {
  it("a writer that reads, before anything is sent", async () => {
    const name = fresh("report");
    const lock = open(name);
    const from = await lock.read(ttl);
    for (const upgrade of [() => lock.write(ttl, { from }), () => lock.tryWrite(ttl, { from })]) {
      const error = await rejection(upgrade());
      expect(error).toMatchObject({ code: "INVALID_ARGUMENT" });
      expect((error as Error).message).toContain("cannot be upgraded");
    }
    await from.release();
    await (await lock.write(ttl, { from })).release();
  });

  it("masters without scripts, and a name that is none", () => {
    const bare = fleet.open({ scripts: false });
    expect(() => new ReadWriteLock(bare.redlock, "report")).toThrow("run scripts");
    expect(() => new ReadWriteLock(fleet.open().redlock, "")).toThrow("non-empty");
  });
});

it("a readers-writer lock has all keys of a name in one slot of a Cluster", async () => {
  const cluster = await Fleet.start(1, { config: clusterConfig });
  await formCluster(cluster.admins);
  const client = new Cluster(cluster.masters.map(({ host, port }) => ({ host, port })));
  const redlock = new Redlock([client], { nodeTimeout: 900 });
  try {
    const lock = new ReadWriteLock(redlock, fresh("report"));
    const writing = await lock.write(ttl);
    expect(await lock.tryRead(ttl)).toBeNull();
    const reading = await writing.downgrade();
    expect(await lock.tryWrite(ttl)).toBeNull();
    expect(await reading.release()).toMatchObject({ outcome: "released" });
  } finally {
    client.disconnect();
    await cluster.stop();
  }
});

it("a readers-writer lock needs no more than the documented permissions", async () => {
  const rule = [...documentedRule, ...documentedRuleOfReaders];
  for (const admin of fleet.admins) await admin.acl("SETUSER", "readers", "reset", "on", ">secret", ...rule);
  const clients = { username: "readers", password: "secret" };
  const { redlock, errors } = fleet.open({ ...soon, client: clients });
  const lock = new ReadWriteLock(redlock, fresh("report"));
  const reading = await lock.read(ttl);
  const waiting = lock.write(ttl);
  await reading.release();
  const downgraded = await (await waiting).downgrade();
  await downgraded.extend(ttl);
  expect(await rejection(lock.write(ttl, { waitTimeout: 100 }))).toMatchObject({ code: "RESOURCE_LOCKED" });
  await downgraded.release();
  expect(errors).toEqual([]);
});

/** A process that reads, and is killed at the latest with this one. */
async function startReader(name: string, readerTtl: number): Promise<Child> {
  const program = new URL("reader-process.ts", import.meta.url);
  const urls = fleet.masters.map(({ host, port }) => `redis://${host}:${port}`);
  const child = Child.node(program, [name, `${readerTtl}`, ...urls]);
  await child.line(0);
  return child;
}

describe("errors", () => {
  it("name the lock as its user does, and not by a key", async () => {
    const name = `{a}${fresh()}`;
    const writing = await open(name).write(ttl);
    await writing.release();
    const error = await rejection(writing.extend(ttl));
    expect(error).toMatchObject({ code: "LOCK_LOST", resources: [name] });
    expect((error as Error).message).toContain(`The lock on "${name}" is lost`);
    const reading = await open(name).read(ttl);
    await Promise.all(fleet.admins.map((admin) => admin.flushall()));
    expect(await reading.verify()).toBe(false);
    expect(reading.signal.reason).toMatchObject({ resources: [name] });
  });

  it.each([true, false])(
    "a call that waits for its own lock gets an error that says so (reentrant: %s)",
    async (reentrant) => {
      const { redlock } = fleet.open({ ...soon, reentrant });
      const lock = new ReadWriteLock(redlock, fresh());
      const short = { waitTimeout: 200 };
      const itself = "this same Redlock (a call nested in that lock waits for itself: readers and writers";
      const write = () => lock.write(ttl, short);
      const read = () => lock.read(ttl, short);
      for (const nested of [
        () => lock.usingWrite(ttl, write),
        () => lock.usingWrite(ttl, read),
        () => lock.usingRead(ttl, write),
      ]) {
        const error = (await rejection(nested())) as Error;
        expect(error.message).toContain(`"${lock.name}" is locked by ${itself}`);
        expect(error.message).not.toContain("reentrant lets");
      }
      // Not where another one has it.
      const other = await open(lock.name).write(ttl);
      expect(((await rejection(read())) as Error).message).toContain("by someone else");
      await other.release();
    },
  );

  it("a reader behind a writer that waits for this same reader gets an error that says so", async () => {
    const lock = open(fresh());
    const reading = await lock.read(ttl);
    const writing = open(lock.name).write(ttl);
    await until("the writer waits", async () => Math.min(...(await waiting(lock.name))) > 0);
    const error = (await rejection(lock.read(ttl, { waitTimeout: 200 }))) as Error;
    expect(error.message).toContain("by a writer that waits for the readers of this same Redlock");
    await reading.release();
    await (await writing).release();
  });
});

it("a downgrade that no master confirms leaves a resumed lock the rest of its time, as any other", async () => {
  const lock = new ReadWriteLock((await fleet.openWarm({ nodeTimeout: 200 })).redlock, fresh());
  const writing = lock.resume(await (await lock.write(ttl)).detach()) as WriteLock;
  await writing.extend(ttl);
  for (const admin of fleet.admins) await admin.config("SET", "min-replicas-to-write", "1");
  const reading = await writing.downgrade();
  for (const admin of fleet.admins) await admin.config("SET", "min-replicas-to-write", "0");
  expect(reading).toMatchObject({ state: "unknown", resources: [keysOf(lock.name).readers] });
  expect(reading.remaining()).toBeGreaterThan(ttl / 2);
  await reading.extend(ttl);
  expect(reading.state).toBe("held");
  await reading.release();
});
