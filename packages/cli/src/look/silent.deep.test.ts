import { ownerKey, ownersKey } from "@quorlock/redlock/internal";
import { Child, type Ending, runProgram } from "@quorlock/simulation/processes";
import { type Masters, startMasters, startProxy } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { program } from "../built.ts";
import { mastersFrom } from "../masters.ts";
import { Looker, type State } from "../serve/looker.ts";
import type { LockView, Overview } from "./look.ts";

// Masters that are silent, slow, or refuse: what a look then says of a lock that is held.

const token = "0123456789abcdef0123456789abcdef";
const tag = token.slice(0, 8);
let masters: Masters;
let admins: readonly Redis[];
let proxies: ReadonlyArray<Awaited<ReturnType<typeof startProxy>>>;

beforeAll(async () => {
  masters = await startMasters(3, { source: "local-binary", say: () => {} });
  admins = masters.list.map(({ url }) => new Redis(url));
  proxies = await Promise.all(masters.list.map(({ host, port }) => startProxy({ host, port })));
});
beforeEach(async () => {
  for (const proxy of proxies) await proxy.heal();
  for (const admin of admins) await admin.flushall();
  await hold(["held"]);
});
afterAll(async () => {
  for (const proxy of proxies) await proxy.stop();
  for (const admin of admins) admin.disconnect();
  await masters.stop();
});

/** As an owner holds them, with the record that it writes. */
async function hold(resources: readonly string[]): Promise<void> {
  const locks = resources.map((resource) => ({ resources: [resource], since: Date.now() - 15_000 }));
  const owner = { name: "billing-7", host: "a", pid: 31, version: "0.1.0" };
  const record = { ...owner, writes: 1, ttl: 600_000, masters: [], locks };
  for (const admin of admins) {
    for (const resource of resources) await admin.set(resource, token, "PX", 600_000);
    await admin.set(ownerKey(tag, false), JSON.stringify(record), "PX", 600_000);
    await admin.zadd(ownersKey(false), Date.now() + 600_000, tag);
  }
}

function addressesOf(list: readonly { readonly url: string }[]): readonly string[] {
  return list.flatMap(({ url }) => ["--master", url]);
}

function quorlock(...args: readonly string[]): Promise<Ending> {
  return runProgram(program, [...args, ...addressesOf(masters.list)]);
}

/** While all these masters are stopped. */
async function whileHung(places: readonly number[], act: () => Promise<void>): Promise<void> {
  for (const place of places) await masters.list[place]!.hang();
  try {
    await act();
  } finally {
    for (const place of places) await masters.list[place]!.resume();
  }
}

function isScan(bytes: Buffer): boolean {
  return bytes.includes("SCAN");
}

function changesIn(output: string): readonly string[] {
  const lines = output.split("\n").filter((line) => line !== "");
  return lines.map((line) => (JSON.parse(line) as { readonly change: string }).change);
}

describe("one master that hangs", () => {
  test.each([[[]], [["--scan"]]])("does not hide a lock from ls %j", async (flags) => {
    await whileHung([0], async () => {
      const { code, output } = await quorlock("ls", ...flags, "--json", "--timeout", "1000");
      const { locks, silent } = JSON.parse(output) as Overview;
      expect(locks).toMatchObject([{ resource: "held", owner: { name: "billing-7" }, masters: 2, of: 3 }]);
      expect({ code, silent: silent.map(({ error }) => error) }).toEqual({ code: 0, silent: ["TIMEOUT"] });
    });
  });

  test("does not hide the holder from inspect, even if it hangs once it is connected", async () => {
    await whileHung([0], async () => {
      const { code, output } = await quorlock("inspect", "held", "--timeout", "1000");
      expect(output).toMatch(/^held: held by billing-7 .*\n.*\n.*\n.*2 of 3 masters\n.* says TIMEOUT\n$/);
      expect(code).toBe(0);
    });
    const [proxy] = proxies;
    const isHeld = proxy!.nextRequest((bytes) => {
      const isRecord = bytes.includes("quorlock:owner:");
      if (isRecord) proxy!.hold("requests");
      return isRecord;
    });
    const args = ["inspect", "held", "--timeout", "1000", ...addressesOf(proxies)];
    const { code, output } = await runProgram(program, args);
    await isHeld;
    expect({ code, output }).toEqual({ code: 0, output: expect.stringMatching(/^held: held by billing-7 /) });
  });

  test("does not outlast --timeout when the garbage collector runs", async () => {
    const flags = ["--expose-gc", "--import", "data:text/javascript,setInterval(gc,20)"];
    await whileHung([0], async () => {
      const args = ["inspect", "held", "--timeout", "3000", ...addressesOf(masters.list)];
      await using child = Child.node(program, args, { flags });
      // Without a limit that fires it would never come.
      expect(await child.until("an answer", () => child.lines[0], 60_000)).toMatch(/^held: held by /);
    });
  });
});

describe("no quorum of answers", () => {
  test("is not called free, and ends with 2: all masters hang", async () => {
    await whileHung([0, 1, 2], async () => {
      const { code, output } = await quorlock("inspect", "held", "--timeout", "500");
      expect(output).toMatch(/^held: unknown: 0 of 3 masters answered\n(.* says TIMEOUT\n){3}$/);
      expect(code).toBe(2);
    });
  });

  test("is not called free, and ends with 2: a password is missing", async () => {
    for (const admin of admins) await admin.config("SET", "requirepass", "hunter2");
    try {
      const one = await quorlock("inspect", "held");
      expect(one.output).toMatch(/^held: unknown: 0 of 3 masters answered\n(.* says NOAUTH\n){3}$/);
      const writer = await quorlock("inspect", "held", "--read-write");
      expect(writer.output).toMatch(/^held: unknown: 0 of 3 masters answered\n(.* says NOAUTH\n){3}$/);
      const permits = await quorlock("inspect", "held", "--semaphore", "2");
      expect(permits.output).toMatch(/(.*: no answer \(NOAUTH\)\n){3}unknown: 0 of 3 masters answered\n$/);
      const all = await quorlock("ls", "--json");
      expect((JSON.parse(all.output) as Overview).silent.map(({ error }) => error)).toEqual(
        Array.from({ length: 3 }, () => "NOAUTH"),
      );
      expect([one, writer, permits, all].map(({ code }) => code)).toEqual([2, 2, 2, 2]);
    } finally {
      for (const admin of admins) await admin.config("SET", "requirepass", "");
    }
  });

  test.each([
    ["all", "-eval"],
    ["two", "-eval"],
  ])("is not called free: %s masters refuse the script", async (which, rule) => {
    const refusing = which === "all" ? admins : admins.slice(1);
    for (const admin of refusing) await admin.acl("SETUSER", "default", rule);
    try {
      const { code, output } = await quorlock("inspect", "other");
      const count = 3 - refusing.length;
      expect(output).toMatch(new RegExp(`^other: unknown: ${count} of 3 masters answered\n`));
      expect(code).toBe(2);
      const args = ["watch", "other", "--json", "--interval", "100ms", ...addressesOf(masters.list)];
      await using child = Child.node(program, args);
      await child.printed(/"unreachable"(.*\n)+.*"unreachable"(.*\n)/);
      child.process.kill("SIGINT");
      expect(new Set(changesIn((await child.ended).output))).toEqual(new Set(["unreachable", "unknown"]));
    } finally {
      for (const admin of refusing) await admin.acl("SETUSER", "default", "+eval");
    }
  });
});

describe("one master whose replies take 600 ms, of 1000 ms", () => {
  test("does not make a held lock free for watch", async () => {
    proxies[0]!.delay(600, "replies");
    const args = ["watch", "--json", "--interval", "100ms", "--timeout", "1000", ...addressesOf(proxies)];
    await using child = Child.node(program, args);
    await child.printed(/"change": "held"/);
    // Two more looks.
    const looks = proxies[1]!.counters.requests.chunks;
    await proxies[1]!.when(({ requests }) => requests.chunks > looks + 8);
    child.process.kill("SIGINT");
    const { output } = await child.ended;
    expect(changesIn(output)).not.toContain("free");
    expect(changesIn(output).filter((change) => change === "held")).toHaveLength(1);
  });

  test("does not hide a held lock from the page", async () => {
    proxies[0]!.delay(600, "replies");
    const list = mastersFrom(
      proxies.map(({ url }) => url),
      {},
      {},
    );
    const looker = new Looker(list, { interval: 100, timeout: 1000, linger: 0 });
    const states = await new Promise<readonly State[]>((resolve) => {
      const seen: State[] = [];
      const leave = looker.watch((state) => {
        seen.push(state);
        if (seen.length < 3) return;
        leave();
        resolve(seen);
      });
    });
    looker.stop();
    for (const { locks, hasQuorum } of states) {
      expect(hasQuorum).toBe(true);
      expect(locks[0]?.masters).toBeGreaterThanOrEqual(2);
    }
  });
});

test("quorlock watch prints no change when Ctrl-C comes during a look", async () => {
  const args = ["watch", "held", "--json", "--interval", "100ms", ...addressesOf(proxies)];
  await using child = Child.node(program, args);
  await child.printed(/"change": "held"/);
  proxies[0]!.hold("replies");
  await proxies[0]!.nextRequest();
  child.process.kill("SIGINT");
  const { code, output } = await child.ended;
  expect({ code, changes: changesIn(output) }).toEqual({ code: 130, changes: ["held"] });
});

test("quorlock ls --scan searches all masters at once", async () => {
  const first = proxies[0]!.nextRequest((bytes) => {
    if (isScan(bytes)) proxies[0]!.hold("requests");
    return isScan(bytes);
  });
  const others = proxies.slice(1).map((proxy) => proxy.nextRequest(isScan));
  const args = ["ls", "--scan", "--timeout", "9999999", ...addressesOf(proxies)];
  await using child = Child.node(program, args);
  await Promise.all([first, ...others]);
  proxies[0]!.release();
  expect(await child.ended).toMatchObject({ code: 0, output: expect.stringContaining("\nheld ") });
}, 30_000);

test("quorlock ls finds names of any length, and says that a record is full", async () => {
  const names = Array.from({ length: 50 }, (_, index) => `${"n".repeat(300)}${index}`);
  await hold(names);
  const { output } = await quorlock("ls", "--json");
  const found = (JSON.parse(output) as Overview).locks.map(({ resource }: LockView) => resource);
  expect(found).toEqual([...names].sort());
  expect((await quorlock("ls")).output).toContain(
    "\nbilling-7 (pid 31, host a) may hold more: its record has its 50 oldest\n",
  );
});

test("what the others have decided does not wait for the time-out of a master that hangs", async () => {
  await whileHung([1], async () => {
    for (const [args, answer] of [
      [["inspect", "held"], /^held: held by billing-7 /],
      [["inspect", "free"], /^free: free\n/],
      [["release", "held"], /was held by .*; revoked on 2 of 3 masters/],
    ] as const) {
      const begun = performance.now();
      const { output } = await quorlock(...args, "--timeout", "60000");
      expect(output).toMatch(answer);
      expect(performance.now() - begun).toBeLessThan(20_000);
    }
  });
});

test("a master that hangs is waited for if the others disagree", async () => {
  await admins[0]!.del("held");
  await masters.list[1]!.hang();
  const looking = quorlock("inspect", "held", "--timeout", "20000");
  // Later than a master is waited for that is not needed.
  setTimeout(() => void masters.list[1]!.resume(), 3000);
  expect((await looking).output).toMatch(/^held: held by billing-7 (.*\n)+.*2 of 3 masters/);
});

test("a holder whose record is old is gone, and its lock is not free", async () => {
  for (const admin of admins) await admin.pexpire(ownerKey(tag, false), 565_000);
  expect((await quorlock("inspect", "held")).output).toMatch(/^held: held by billing-7 .*, owner gone\n/);
  expect((await quorlock("ls")).output).toMatch(/\nheld +billing-7 .*, owner gone /);
  const args = ["watch", "--json", "--interval", "100ms", ...addressesOf(masters.list)];
  await using child = Child.node(program, args);
  await child.printed(/"owner-gone"/);
  // Its record goes, and its key stays.
  for (const admin of admins) await admin.del(ownerKey(tag, false), ownersKey(false));
  await child.printed(/"change": "held"/);
  for (const admin of admins) await admin.del("held");
  await child.printed(/"change": "free"/);
  child.process.kill("SIGINT");
  expect(changesIn((await child.ended).output)).toEqual(["owner-gone", "held", "free"]);
});

test("an observer that is cut off from two of three masters does not know", async () => {
  for (const proxy of proxies.slice(1)) proxy.hold("requests");
  const options = ["--timeout", "500", ...addressesOf(proxies)];
  const one = await runProgram(program, ["inspect", "held", ...options]);
  const all = await runProgram(program, ["ls", ...options]);
  expect([one.code, one.output]).toEqual([2, expect.stringMatching(/^held: unknown: 1 of 3 masters/)]);
  expect([all.code, all.output]).toEqual([2, expect.stringMatching(/\nheld +unknown: 1 of 3 masters/)]);
  expect(one.output + all.output).not.toMatch(/no.quorum/);
});

test("a search that masters refuse is no search, and ends with 2", async () => {
  for (const admin of admins) await admin.acl("SETUSER", "default", "-scan");
  try {
    const { code, output } = await quorlock("ls", "--scan");
    expect(output).toMatch(/(.*: not searched \(NOPERM\)\n){3}/);
    expect(code).toBe(2);
  } finally {
    for (const admin of admins) await admin.acl("SETUSER", "default", "+scan");
  }
});
