import { type Lock, Redlock } from "@quorlock/redlock";
import { ReadWriteLock } from "@quorlock/redlock/read-write-lock";
import { Semaphore } from "@quorlock/redlock/semaphore";
import { Child, type Ending, runProgram } from "@quorlock/simulation/processes";
import { type Masters, startMasters } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { program } from "../built.ts";
import type { LockView, Overview } from "./look.ts";

const hostile = "billing\u001b[2J-7";
let masters: Masters;
let admins: readonly Redis[];
let billing: Redlock;
let report: Redlock;

function clients(): readonly Redis[] {
  // A master is killed.
  return masters.list.map(({ url }) => new Redis(url).on("error", () => {}));
}

function redlockOf(owner: string): Redlock {
  return new Redlock(clients(), { owner });
}

beforeAll(async () => {
  masters = await startMasters(3, { source: "local-binary", say: () => {} });
  admins = clients();
  billing = redlockOf(hostile);
  report = redlockOf("report-2");
  for (const redlock of [billing, report]) await (await redlock.acquire("first", 5000)).release();
});
beforeEach(async () => {
  // Records are kept: they name the owners.
  for (const admin of admins) for (const key of await admin.keys("[^q]*")) await admin.del(key);
});
afterAll(async () => {
  await billing.quit();
  await report.quit();
  for (const admin of admins) admin.disconnect();
  await masters.stop();
});

function addresses(): readonly string[] {
  return masters.list.flatMap(({ url }) => ["--master", url]);
}

/** Runs it; what it prints has no token of the lock and nothing that a terminal would obey. */
async function quorlock(args: readonly string[], ...locks: readonly Lock[]): Promise<Ending> {
  const ending = await runProgram(program, [...args, ...addresses()]);
  for (const { value } of locks) expect(ending.output).not.toContain(value.slice(0, 9));
  expect(ending.output).not.toContain("\u001b");
  return ending;
}

async function viewOf(args: readonly string[]): Promise<unknown> {
  return JSON.parse((await quorlock([...args, "--json"])).output);
}

describe("quorlock inspect", () => {
  test("says who holds a lock, how long still, and who waits in which place", async () => {
    await using lock = await billing.acquire("r", 60_000);
    const waiting = report.acquire("r", 1000, { waitTimeout: 60_000 });
    await vi.waitFor(async () => expect(await admins[0]!.zcard("quorlock:queue:{r}")).toBe(1), 10_000);
    const { code, output } = await quorlock(["inspect", "r"], lock);
    expect(code).toBe(0);
    const pid = `(pid ${process.pid}, host `;
    expect(output).toContain(`r: held by billing\\u001b[2J-7 ${pid}`);
    expect(output).toMatch(
      /\n {2}expires {4}in \d\d\.\d s, unless it is extended\n {2}on {9}3 of 3 masters\n/,
    );
    expect(output).toContain(`\n  waiting    1. report-2 ${pid}`);
    const view = (await viewOf(["inspect", "r"])) as LockView;
    expect(view).toMatchObject({
      resource: "r",
      owner: { name: hostile, pid: process.pid },
      masters: 3,
      of: 3,
      others: [],
      waiters: [{ name: "report-2" }],
      waiting: 1,
    });
    await lock.release();
    await (await waiting).release();
  });

  test("says where the masters disagree", async () => {
    await using _ = await billing.acquire("r", 60_000);
    const [first, second, third] = admins as [Redis, Redis, Redis];
    await first.set("r", "0123456789abcdef0123456789abcdef", "PX", 9000);
    await second.del("r");
    await third.set("other", "x");
    const { others, masters: count, owner } = (await viewOf(["inspect", "r"])) as LockView;
    expect({ count, of: others.length }).toEqual({ count: 1, of: 2 });
    expect(others.map(({ says }) => says).sort()).toContain("free");
    expect((await quorlock(["inspect", "r"])).output).toMatch(
      /^r: no quorum: nobody holds it, nobody can take it\n.*\n {2}on {9}1 of 3 masters: [\da-f]{8}\n/,
    );
    expect(owner?.tag).toMatch(/^[\da-f]{8}$/);
  });

  test("says that a resource is free, revoked, or a key of another type", async () => {
    expect((await quorlock(["inspect", "free"])).output).toBe("free: free\n");
    await billing.acquire("r", 60_000);
    await quorlock(["release", "r"]);
    expect((await quorlock(["inspect", "r"])).output).toMatch(/^r: revoked by \S+@\S+\n/);
    for (const admin of admins) await admin.rpush("list", "x");
    expect((await quorlock(["inspect", "list"])).output).toContain("says a list, not a lock");
  });

  test("shows the permits of a semaphore, and its waiters", async () => {
    const permit = await new Semaphore(billing, "api", 2).acquire(60_000);
    const { output } = await quorlock(["inspect", "api", "--semaphore", "2"], permit);
    expect(output).toMatch(/^api: 1 of 2 permits held\n\{api\}:slot:[01]: held by billing/);
    await permit.release();
  });

  test("shows the readers or the writer of a readers-writer lock", async () => {
    const reader = await new ReadWriteLock(report, "config").read(60_000);
    expect((await quorlock(["inspect", "config", "--read-write"], reader)).output).toMatch(
      /^config: 1 reader\n {2}reading {4}report-2 /,
    );
    await reader.release();
    const writer = await new ReadWriteLock(billing, "config").write(60_000);
    expect((await quorlock(["inspect", "config", "--read-write"], writer)).output).toMatch(
      /^config: held by billing/,
    );
    await writer.release();
  });

  test("shows no reader that one master alone has, however often", async () => {
    const readers = ["1", "2"].flatMap((end) => [Date.now() + 60_000, `${"a".repeat(31)}${end}`]);
    await admins[0]!.zadd("quorlock:rw:{lost}:readers", ...readers);
    expect(await viewOf(["inspect", "lost", "--read-write"])).toMatchObject({
      readers: [],
      writer: { state: "free", others: [{ says: "1 reader" }] },
    });
    await admins[1]!.zadd("quorlock:rw:{lost}:readers", Date.now() + 60_000, "b".repeat(32));
    const { writer } = (await viewOf(["inspect", "lost", "--read-write"])) as { writer: LockView };
    expect(writer.state).toBe("no-quorum");
    expect(await new ReadWriteLock(billing, "lost").tryWrite(1000)).toBe(null);
    for (const admin of admins) await admin.del("quorlock:rw:{lost}:readers");
  });

  test("shows no waiter that has crashed, and says what is no token", async () => {
    await using lock = await billing.acquire("r", 60_000);
    const waits = report.acquire("r", 60_000, { waitTimeout: 20_000 });
    await vi.waitFor(async () => expect((await billing.inspect("r"))[0]!.queueLength).toBe(1), 5000);
    for (const admin of admins) await admin.zadd("quorlock:queue:{r}", 1, "f".repeat(32));
    const { waiting, waiters } = (await viewOf(["inspect", "r"])) as LockView;
    expect([waiting, waiters.map(({ name }) => name)]).toEqual([1, ["report-2"]]);
    await lock.release();
    await (await waits).release();
    for (const admin of admins) await admin.set("plain", "busy by somebody");
    expect((await quorlock(["inspect", "plain"])).output).toMatch(/: held by busy by … \(no token\)\n/);
  });

  test("takes the largest limit of a semaphore, and one kind of lock at a time", async () => {
    const { code, output } = await quorlock(["inspect", "api", "--semaphore", "10000"]);
    expect({ code, output }).toEqual({ code: 0, output: "api: 0 of 10000 permits held\n" });
    expect((await quorlock(["inspect", "api", "--semaphore", "2", "--read-write"])).code).toBe(64);
  });

  test("asks thirteen masters without a warning", async () => {
    const refusing = Array.from({ length: 13 }, (_, index) => ["--master", `127.0.0.1:${index + 1}`]).flat();
    const { code, errors } = await runProgram(program, ["inspect", "r", ...refusing]);
    expect({ code, errors }).toEqual({ code: 2, errors: "" });
  });

  test("ends with 2 if no quorum of masters answers", async () => {
    const args = ["inspect", "r", "--master", masters.list[0]!.url, "--master", "127.0.0.1:1"];
    const { code, output } = await runProgram(program, args);
    expect({ code, output }).toEqual({
      code: 2,
      output: "r: unknown: 1 of 2 masters answered\n  127.0.0.1:1 says ECONNREFUSED\n",
    });
  });
});

const setting = (name: string, on: string, off: string) => (admin: Redis, isOn: boolean) =>
  admin.config("SET", name, isOn ? on : off);
test.each<[string, (admin: Redis, isOn: boolean) => Promise<unknown>]>([
  ["OOM", setting("maxmemory", "1", "0")],
  ["NOREPLICAS", setting("min-replicas-to-write", "1", "0")],
  ["READONLY", (admin, isOn) => (isOn ? admin.replicaof("127.0.0.1", 1) : admin.replicaof("NO", "ONE"))],
])("quorlock calls no lock free that a quorum refuses: %s", async (code, refuse) => {
  const [one, another] = [admins[0]!, admins[1]!];
  try {
    await refuse(one, true);
    expect((await viewOf(["inspect", "r"])) as LockView).toMatchObject({
      state: "free",
      others: [{ says: code }],
    });
    await refuse(another, true);
    const { output } = await quorlock(["inspect", "r"]);
    expect(output.replaceAll(/127.*? says/g, "")).toBe(
      `r: no quorum: nobody holds it, nobody can take it\n   ${code}\n   ${code}\n`,
    );
  } finally {
    for (const admin of [one, another]) await refuse(admin, false);
  }
  expect((await viewOf(["inspect", "r"])) as LockView).toMatchObject({ state: "free", others: [] });
});

async function seen(): Promise<readonly string[]> {
  const { state, others } = (await viewOf(["inspect", "r"])) as LockView;
  return [state, ...others.map(({ says }) => says)];
}

/** As if it were loaded from a file: whether the master is durable, its clients know. */
const reload = async (admin: Redis) =>
  admin.set("quorlock:guard:memory", (await admin.get("quorlock:guard:memory"))!);

test("quorlock knows the masters that a restart guard puts into quarantine, before a client has asked them", async () => {
  const guarded = new Redlock(admins, { restartGuard: { maxTtl: 60_000 }, owner: false });
  const [one, another] = [admins[0]!, admins[1]!];
  try {
    await guarded.initialize();
    expect(await seen()).toEqual(["free"]);
    await reload(one);
    expect(await seen()).toEqual(["free", "QUARANTINE?"]);
    await reload(another);
    expect(await seen()).toEqual(["unknown", "QUARANTINE?", "QUARANTINE?"]);
    expect((await quorlock(["inspect", "r"])).output).toMatch(
      /^r: unknown: masters have restarted, and may have/,
    );
    for (const admin of [one, another]) await admin.del("quorlock:guard");
    expect(await seen()).toEqual(["no-quorum", "QUARANTINE", "QUARANTINE"]);
    // A holder may rely on this one and on what the others have forgotten.
    await admins[2]!.set("r", "a".repeat(32), "PX", 60_000);
    expect(await seen()).toEqual(["unknown", "QUARANTINE", "QUARANTINE"]);
    await admins[2]!.del("r");
    await expect(guarded.tryAcquire("r", 5000)).rejects.toThrow("QUARANTINE");
    expect(await seen()).toEqual(["no-quorum", "QUARANTINE", "QUARANTINE"]);
    for (const admin of admins) await admin.del("quorlock:guard");
    expect(await seen()).toEqual(["free"]);
  } finally {
    for (const admin of admins) await admin.del("quorlock:guard");
    await guarded.quit({ keepClients: true });
  }
});

test("quorlock names the owner that has resumed a lock of one that has quit, once it is recorded", async () => {
  const sender = redlockOf("sender");
  const detached = await (await sender.acquire("passed on", 60_000)).detach();
  await sender.quit();
  await using lock = report.resume(detached);
  await lock.extend(60_000);
  const asked = ["inspect", "passed on"];
  expect(await viewOf(asked)).toMatchObject({ state: "owner-gone", owner: { name: "sender" } });
  const held = { state: "held", owner: { name: "report-2" } };
  await vi.waitFor(async () => expect(await viewOf(asked)).toMatchObject(held), 60_000);
});

test("quorlock ls lists the locks that have been held for ten seconds, without SCAN", async () => {
  await using lock = await billing.acquire("long", 60_000);
  const readers = await Promise.all(
    [billing, report].map((redlock) => new ReadWriteLock(redlock, "config").read(60_000)),
  );
  for (const admin of admins) await admin.config("RESETSTAT");
  let seen: Overview["locks"] = [];
  await vi.waitFor(
    async () => {
      seen = ((await viewOf(["ls"])) as Overview).locks;
      expect(seen).toHaveLength(3);
    },
    { timeout: 60_000, interval: 500 },
  );
  const { output } = await quorlock(["ls"], lock, ...readers);
  const key = "quorlock:rw:{config}:readers";
  const inspected = await quorlock(["inspect", key], ...readers);
  expect(inspected.output).toMatch(/^config: 2 readers\n/);
  await using watching = Child.node(program, ["watch", key, "--json", ...addresses()]);
  await watching.printed(/"held"(.*\n)+.*"held"/);
  for (const reader of readers) await reader.release();
  await watching.printed(/"free"(.*\n)+.*"free"/);
  expect(watching.output).not.toMatch(/no-quorum|long/);
  expect(seen[0]).toMatchObject({ resource: "long", owner: { name: hostile }, masters: 3 });
  expect(seen[0]!.since).toBeLessThanOrEqual(Date.now() - 10_000);
  for (const [index, name] of [hostile, "report-2"].entries())
    expect(seen[index + 1]).toMatchObject({
      resource: "quorlock:rw:{config}:readers",
      owner: { name },
      masters: 3,
      others: [],
    });
  expect(output).toMatch(
    /^RESOURCE +OWNER +HELD FOR +EXPIRES IN +MASTERS +WAITING\nlong +billing.* {2}3\/3 +0\n/,
  );
  expect(output).toMatch(/(\nquorlock:rw:\{config\}:readers .* {2}3\/3 +0){2}\n2 owners\n$/);
  expect(await admins[0]!.info("commandstats")).not.toContain("cmdstat_scan");
}, 120_000);

describe("quorlock ls --scan", () => {
  test("finds young locks, revoked ones and those of redlock 5, and nothing else", async () => {
    await using lock = await billing.acquire("young", 60_000);
    await billing.acquire("revoked", 60_000);
    await quorlock(["release", "revoked"]);
    for (const admin of admins) {
      await admin.set("of redlock 5", "0123456789abcdef0123456789abcdef", "PX", 60_000);
      await admin.set("a secret", "correct horse battery staple 123");
      await admin.hset("a hash", "field", "0123456789abcdef0123456789abcdef");
    }
    const { locks, scanned } = (await viewOf(["ls", "--scan"])) as Overview;
    expect(locks.map(({ resource }) => resource)).toEqual(["of redlock 5", "revoked", "young"]);
    expect(scanned!.map(({ looked, of }) => of - looked)).toEqual([0, 0, 0]);
    await using reading = await new ReadWriteLock(report, "page").read(60_000);
    const writes = new ReadWriteLock(billing, "page").write(60_000, { waitTimeout: 20_000 });
    const read = async () =>
      ((await viewOf(["ls", "--scan"])) as Overview).locks.filter(({ resource }) =>
        resource.includes("page"),
      );
    await vi.waitFor(async () => expect((await read())[0]?.waiting).toBe(1), 10_000);
    expect(await read()).toMatchObject([{ state: "held", owner: { name: "report-2" }, masters: 3 }]);
    await reading.release();
    await (await writes).release();
    const { output } = await quorlock(["ls", "--scan"], lock);
    expect(output).toMatch(/\n127\.0\.0\.1:\d+: looked at (\d+) of \1 keys\n/);
    expect(output).not.toContain("correct");
  });

  test("shows what the other masters have if one refuses the search", async () => {
    await using lock = await billing.acquire("young", 60_000);
    await admins[0]!.acl("SETUSER", "default", "-dbsize");
    try {
      const { output, code } = await quorlock(["ls", "--scan"], lock);
      expect({ code, isFound: output.includes("\nyoung ") }).toEqual({ code: 0, isFound: true });
    } finally {
      await admins[0]!.acl("SETUSER", "default", "+dbsize");
    }
  });

  test("looks at no more keys than its limit, and says so", async () => {
    for (const admin of admins)
      await admin.mset(Array.from({ length: 6000 }, (_, index) => [`x:${index}`, "1"]).flat());
    const { scanned } = (await viewOf(["ls", "--scan", "--limit", "1000"])) as Overview;
    for (const { looked, of } of scanned!) {
      expect(of).toBeGreaterThan(6000);
      expect(looked).toBeGreaterThanOrEqual(1000);
      expect(looked).toBeLessThan(1100);
    }
    const { output } = await quorlock(["ls", "--scan", "--limit", "1000"]);
    expect(output).toMatch(/looked at 10\d\d of 60\d\d keys: more with --limit or --timeout\n/);
  });
});

test("quorlock watch prints a line for each change, also when a master dies and comes back", async () => {
  await using child = Child.node(program, ["watch", "r", "--json", "--interval", "100ms", ...addresses()]);
  await child.printed(/"change": "free"/);
  const lock = await billing.acquire("r", 60_000);
  await child.printed(/"change": "held"/);
  await masters.list[2]!.kill();
  await child.printed(/"change": "unreachable", "master": "127/);
  await masters.list[2]!.restart();
  await child.printed(/"change": "reachable"/);
  await lock.release();
  await child.printed(/"held"(.*\n)+.*"change": "free"/);
  child.process.kill("SIGINT");
  const { code, output } = await child.ended;
  expect(code).toBe(130);
  const changes = output
    .trim()
    .split("\n")
    .map((line) => (JSON.parse(line) as { change: string }).change);
  expect(changes).toEqual(["free", "held", "unreachable", "reachable", "free"]);
});

test("quorlock watch says that it is unknown who holds a lock, and never that a lock is free because nobody answers", async () => {
  await using child = Child.node(program, ["watch", "r", "--json", "--interval", "100ms", ...addresses()]);
  await child.printed(/"change": "free"/);
  const lock = await billing.acquire("r", 60_000);
  await child.printed(/"change": "held"/);
  await masters.list[1]!.kill();
  await masters.list[2]!.kill();
  await child.printed(/"change": "unknown", "resource": "r"/);
  await masters.list[0]!.kill();
  await child.printed(/("unreachable"(.*\n)+.*){3}/);
  for (const master of masters.list) await master.restart();
  // Now they have forgotten it.
  await child.printed(/("reachable"(.*\n)+.*){3}/);
  await child.printed(/("free"(.*\n)+.*){2}/);
  child.process.kill("SIGINT");
  const { output } = await child.ended;
  const changes = output
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { change: string });
  const names = changes.map(({ change }) => change);
  expect(names.slice(0, 2)).toEqual(["free", "held"]);
  // When all were gone it was not free; a quorum of empty masters says that it is.
  expect(names.lastIndexOf("unreachable")).toBeLessThan(names.lastIndexOf("free"));
  expect(names.filter((name) => name === "free")).toHaveLength(2);
  await lock.release().catch(() => {});
});

test("quorlock watch says that a master that hangs is unreachable", async () => {
  const args = ["watch", "r", "--json", "--interval", "100ms", "--timeout", "300", ...addresses()];
  await using child = Child.node(program, args);
  await child.printed(/"change": "free"/);
  await masters.list[0]!.hang();
  await child.printed(/"change": "unreachable"/);
  await masters.list[0]!.resume();
  await child.printed(/"change": "reachable"/);
});
