import { setTimeout as pass } from "node:timers/promises";
import { Lock, Redlock } from "@quorlock/redlock";
import { Child, type Ending, now, runProgram, sourceFlags } from "@quorlock/simulation/processes";
import { type Masters, startMasters } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
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

function addresses(): readonly string[] {
  return masters.list.flatMap(({ url }) => ["--master", url]);
}

function release(...args: readonly string[]): Promise<Ending> {
  return runProgram(program, ["release", ...addresses(), ...args]);
}

/** `release r --now` on a terminal, once it asks; the first line has its process. */
async function asking(...args: readonly string[]): Promise<Child> {
  const line = [process.execPath, program, "release", "r", "--now", ...addresses(), ...args].join(" ");
  const child = new Child("script", ["-qec", `echo $$; exec ${line}`, "/dev/null"]);
  await child.until("its question", () => child.output.includes("Type the resource") || undefined, 60_000);
  return child;
}

/** Holds `r`, and prints each few ms whether it does, with the time; then why it was told. */
function startHolder(ttl: number): Child {
  const program = `
    import { Redlock } from "@quorlock/redlock";
    import { Redis } from "ioredis";
    import { setTimeout as pass } from "node:timers/promises";
        const now = () => Number(process.hrtime.bigint()) / 1e6;
    const redlock = new Redlock(process.env.NODES.split(",").map((url) => new Redis(url)));
    await redlock.using("r", ${ttl}, async (signal, lock) => {
      for (; !signal.aborted; await pass(10)) console.log("holds", lock.remaining() > 0, now());
      console.log("told", signal.reason.message);
    }).catch(() => {});
    process.exit();`;
  const flags = [...sourceFlags, "--input-type=module"];
  return new Child(process.execPath, [...flags, "--eval", program], {
    cwd: import.meta.dirname,
    env: { NODES: masters.urls.join() },
  });
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
      /deleted on 3 of 3 masters\. Two clients may hold it until the first is told, or its lease has ended, in \d\d\.\d s at/,
    );
    await (await redlock.acquire("r", 1000, { waitTimeout: 0 })).release();
  });

  test("--now: a holder that goes on is told at its next renewal, although nobody holds the lock by then", async () => {
    const lock = await redlock.acquire("r", 3000);
    const rival = new Redlock(admins, { owner: false });
    const waiting = rival.acquire("r", 60_000, { waitTimeout: 30_000 });
    await vi.waitFor(async () => expect(await admins[0]!.zcard("quorlock:queue:{r}")).toBe(1), 10_000);
    const { output } = await release("r", "--now", "--yes");
    const [, seconds] = /its lease has ended, in (\d\.\d) s/.exec(output)!;
    expect(Number(seconds)).toBeGreaterThan(0);
    await (await waiting).release();
    await expect(lock.extend(3000)).rejects.toThrow("is lost: a majority");
    await rival.quit({ keepClients: true });
  });

  test.each([
    ["goes on within its lease: it is told at its next renewal", 0, /is lost: a majority/],
    ["goes on later: its lease has ended, and it knows", 1, /lost|expired/],
  ])("--now: a holder that was paused %s", async (_, leases, why) => {
    await using holder = startHolder(4000);
    await holder.printed(/holds true/);
    holder.process.kill("SIGSTOP");
    const { output } = await release("r", "--now", "--yes");
    const end = now() + 1000 * Number(/its lease has ended, in (\d\.\d) s/.exec(output)![1]);
    await using next = await redlock.acquire("r", 60_000, { waitTimeout: 0 });
    expect(next).toBeInstanceOf(Lock);
    await pass(leases * (end - now() + 200));
    holder.process.kill("SIGCONT");
    await holder.printed(/told/);
    expect(holder.output).toMatch(why);
    const held = holder.lines
      .filter((line) => line.startsWith("holds true"))
      .map((line) => line.split(" ")[2]);
    expect(Math.max(...held.map(Number))).toBeLessThan(end);
  });

  test("--now says how long the holder may go on that has extended its lease while it was asked", async () => {
    const lock = await redlock.acquire("r", 3000);
    await using child = await asking();
    await lock.extend(60_000);
    child.process.stdin!.write("r\n");
    expect((await child.ended).output).toMatch(/its lease has ended, in (60\.0|59\.\d) s at the latest/);
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
    expect(output).toContain('"r\\u001b[2J"');
    expect(output).not.toContain(lock.value.slice(0, 12));
  });

  test("takes the lock while one master hangs", async () => {
    await redlock.acquire("r", 60_000);
    await masters.list[0]!.hang();
    try {
      const { code, output } = await release("r", "--timeout", "1000");
      expect(output).toMatch(/: no answer \(TIMEOUT\)\n"r" was held by .*; revoked on 2 of 3 masters\./);
      expect(code).toBe(0);
    } finally {
      await masters.list[0]!.resume();
    }
  });

  test("--now asks, and deletes, while one master hangs", async () => {
    await redlock.acquire("r", 60_000);
    await masters.list[0]!.hang();
    try {
      await using child = await asking("--timeout", "1000");
      child.process.stdin!.write("r\n");
      const { code, output } = await child.ended;
      expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining("deleted on 2 of 3") });
    } finally {
      await masters.list[0]!.resume();
    }
  });

  test.each([
    ["as a key", (child: Child) => child.process.stdin!.write("\u0003")],
    ["as a signal", (child: Child) => process.kill(Number.parseInt(child.output, 10), "SIGINT")],
  ])("--now ends at Ctrl-C while it asks: %s", async (_, interrupt) => {
    await using lock = await redlock.acquire("r", 60_000);
    await using child = await asking();
    interrupt(child);
    await child.until("its end", () => (/nothing was changed/.test(child.output) ? true : undefined), 30_000);
    expect((await child.ended).code).toBe(130);
    expect(await lock.verify()).toBe(true);
  });

  test("changes nothing if a silent master leaves open which of two tokens holds the lock", async () => {
    const tokens = ["0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"];
    for (const [place, token] of tokens.entries()) await admins[place]!.set("r", token, "PX", 60_000);
    const found = masters.list.slice(0, 2).flatMap(({ url }) => ["--master", url]);
    const { code, output } = await runProgram(program, ["release", "r", ...found, "--master", "127.0.0.1:1"]);
    expect(output).toMatch(/\n"r": too few masters answered; changed on 0 of 3 masters\./);
    expect(code).toBe(2);
    expect(await Promise.all(tokens.map((__, place) => admins[place]!.get("r")))).toEqual(tokens);
  });

  test("leaves a text that is no token as it is", async () => {
    for (const admin of admins) await admin.set("r", "my precious data");
    const { code, output } = await release("r");
    expect(output).toMatch(/^(.*\(the key is a string, not a lock\)\n){3}"r": too few masters answered/);
    expect(code).toBe(2);
    for (const admin of admins) expect(await admin.get("r")).toBe("my precious data");
  });

  test("names the operator by number if the machine has no name for the user", async () => {
    await redlock.acquire("r", 60_000);
    const nameless =
      "data:text/javascript,import os from 'node:os';import {syncBuiltinESMExports as sync} from 'node:module';os.userInfo=()=>{throw new Error('ENOENT')};sync()";
    const args = ["release", "r", ...addresses()];
    const { code } = await runProgram(program, args, {
      env: { NODE_OPTIONS: `--import=${encodeURI(nameless)}` },
    });
    expect(code).toBe(0);
    expect(await admins[0]!.get("r")).toMatch(/^revoked:uid \d+@/);
  });
});
