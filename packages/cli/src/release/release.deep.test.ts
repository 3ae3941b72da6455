import { Lock, Redlock } from "@quorlock/redlock";
import { type Ending, runProgram } from "@quorlock/simulation/processes";
import { type Masters, startMasters } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { program } from "../built.ts";
import { mastersFrom } from "../masters.ts";
import { type Release, releaseByName } from "./release.ts";

let masters: Masters;
let admins: readonly Redis[];
let redlock: Redlock;

beforeAll(async () => {
  masters = await startMasters(3, { source: "local-binary", say: () => {} });
  admins = masters.list.map(({ url }) => new Redis(url));
  redlock = new Redlock(masters.list.map(({ url }) => new Redis(url)));
  await redlock.ready();
});
beforeEach(async () => {
  for (const admin of admins) await admin.flushall();
});
afterAll(async () => {
  await redlock.quit();
  for (const admin of admins) admin.disconnect();
  await masters.stop();
});

function release(...args: readonly string[]): Promise<Ending> {
  const addresses = masters.list.flatMap(({ url }) => ["--master", url]);
  return runProgram(program, ["release", ...addresses, ...args]);
}

async function revoke(resource: string, now = false): Promise<Release | undefined> {
  const ended = new AbortController();
  const options = {
    by: "me@10.0.0.1",
    now,
    confirm: async () => true,
    limit: { timeout: 5000, signal: ended.signal },
  };
  const done = await releaseByName(
    mastersFrom(
      masters.list.map(({ url }) => url),
      {},
      {},
    ),
    resource,
    options,
  );
  ended.abort();
  return done;
}

describe("quorlock release", () => {
  test("revokes: the holder is told at its next renewal, and no other client holds the lock meanwhile", async () => {
    const lock = await redlock.acquire("r", 60_000);
    const { code, output } = await release("r");
    expect(code).toBe(0);
    expect(output).toMatch(
      /^"r" was held by [\da-f]{8}; revoked on 3 of 3 masters\. Its holder is told at its next renewal\. Others can hold it in \d\d\.\d s at the latest\.\n$/,
    );
    await expect(lock.extend(60_000)).rejects.toMatchObject({ name: "LockLostError" });
    await expect(redlock.acquire("r", 1000, { waitTimeout: 0 })).rejects.toThrow("is locked");
  });

  test("revokes: the next client holds the lock once the keys have expired", async () => {
    const lock = await redlock.acquire("r", 5000);
    const end = performance.now() + lock.remaining();
    expect(await revoke("r")).toMatchObject({ outcome: "revoked" });
    await using next = await redlock.acquire("r", 60_000, { waitTimeout: 60_000 });
    expect(next).toBeInstanceOf(Lock);
    expect(performance.now()).toBeGreaterThanOrEqual(end);
  });

  test("does not touch a lock that has another token by then", async () => {
    await using lock = await redlock.acquire("r", 60_000);
    const { value } = lock;
    const ended = new AbortController();
    const all = mastersFrom(
      masters.list.map(({ url }) => url),
      {},
      {},
    );
    const confirm = async () => {
      for (const admin of admins) await admin.set("r", "the next", "PX", 60_000);
      return true;
    };
    const limit = { timeout: 5000, signal: ended.signal };
    const done = await releaseByName(all, "r", { by: "me@h", now: true, confirm, limit });
    ended.abort();
    expect(done).toMatchObject({ outcome: "unchanged", changed: [] });
    expect(await admins[0]!.get("r")).toBe("the next");
    for (const admin of admins) await admin.set("r", value, "PX", 60_000);
  });

  test("writes a token that no waiter has, whatever the name of the host", async () => {
    await redlock.acquire("r", 2000);
    expect(await revoke("r")).toMatchObject({ outcome: "revoked" });
    expect(await admins[0]!.get("r")).toBe("revoked:me@10.0.0.1.");
    expect(await admins[0]!.pttl("r")).toBeGreaterThan(0);
    expect(await admins[0]!.pttl("r")).toBeLessThanOrEqual(2000);
  });

  test("says that a lock was revoked before", async () => {
    await redlock.acquire("r", 60_000);
    await revoke("r");
    expect((await release("r")).output).toMatch(
      /^"r" was revoked by me@10\.0\.0\.1\. before\. Others can hold it in /,
    );
  });

  test("--now deletes the keys, and says for how long two clients may hold the lock", async () => {
    await redlock.acquire("r", 60_000);
    const { code, output } = await release("r", "--now", "--yes");
    expect(code).toBe(0);
    expect(output).toMatch(
      /deleted on 3 of 3 masters\. Two clients may hold it until the first is told, in \d\d\.\d s at/,
    );
    await (await redlock.acquire("r", 1000, { waitTimeout: 0 })).release();
  });

  test("--now without a terminal needs --yes, and changes nothing", async () => {
    await using lock = await redlock.acquire("r", 60_000);
    expect(await release("r", "--now")).toMatchObject({ code: 64, output: "" });
    expect(await lock.verify()).toBe(true);
  });

  test.each([
    ["a free resource", async () => {}, 1, /no client holds it/],
    [
      "a key of another type",
      async () => {
        for (const admin of admins) await admin.rpush("r", "x");
      },
      2,
      /the key is a list, not a lock/,
    ],
    [
      "a minority",
      async () => void (await admins[0]!.set("r", "token", "PX", 9000)),
      1,
      /no client holds it/,
    ],
  ])("leaves %s as it is", async (_, prepare, expected, text) => {
    await prepare();
    const { code, output } = await release("r");
    expect({ code, output }).toEqual({ code: expected, output: expect.stringMatching(text) });
  });

  test("says so if too few masters answer", async () => {
    await redlock.acquire("r", 60_000);
    const args = ["release", "r", "--json", "--master", masters.list[0]!.url];
    const { code, output } = await runProgram(program, [
      ...args,
      "--master",
      "127.0.0.1:1",
      "--master",
      "127.0.0.1:2",
    ]);
    expect(code).toBe(2);
    const silent = ["127.0.0.1:1", "127.0.0.1:2"].map((master) => ({ master, error: "ECONNREFUSED" }));
    expect(JSON.parse(output)).toMatchObject({ outcome: "unknown", changed: [expect.any(String)], silent });
  });

  test("prints no token, and no name that a terminal would obey", async () => {
    const name = "r\u001b[2J";
    const lock = await redlock.acquire(name, 60_000);
    const { output } = await release(name);
    expect(output).toContain('"r\\\\u001b[2J"');
    expect(output).not.toContain(lock.value.slice(0, 12));
  });
});
