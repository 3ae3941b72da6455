import { type Lock, Redlock, type RedlockOptions } from "@quorlock/redlock";
import { type ClockedMasters, startMastersWithClocks } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { deleteAll, fresh, untilConnected } from "../fleet/fleet.ts";

// PROTOCOL 9.10, 9.11.

const ttl = 6000;
const restartGuard = { maxTtl: ttl };
const hour = 3_600_000;

let masters: ClockedMasters;
let admins: Redis[] = [];
const opened: Redis[][] = [];
beforeAll(async () => {
  masters = await startMastersWithClocks(3, { say: () => {} });
  admins = masters.urls.map((url) => new Redis(url));
  for (const admin of admins) admin.on("error", () => {});
});
afterEach(() => {
  for (const clients of opened.splice(0)) for (const client of clients) client.disconnect();
});
afterAll(async () => {
  for (const admin of admins) admin.disconnect();
  await masters?.stop();
});

function open(options: Partial<RedlockOptions> = {}) {
  const clients = masters.list.map(({ port, host }) => new Redis(port, host));
  for (const client of clients) client.on("error", () => {});
  opened.push(clients);
  const redlock = new Redlock(clients, { nodeTimeout: 900, restartGuard, ...options });
  const reasons: string[] = [];
  redlock.on("error", ({ reason }) => reasons.push(reason));
  return { redlock, reasons };
}

/** All masters are new, and each has answered every client. */
async function openAll(count: number, options?: Partial<RedlockOptions>) {
  await deleteAll(admins);
  const all = Array.from({ length: count }, () => open(options));
  for (const opened of all) await untilConnected(opened);
  await all[0]!.redlock.initialize();
  for (const { redlock } of all) expect(await votesFor(redlock)).toBe(3);
  return all;
}

async function votesFor(redlock: Redlock): Promise<number> {
  const lock = await redlock.acquire(fresh("any"), ttl);
  const { votesFor } = await lock.attempts[0]!;
  await Promise.all((await lock.release()).attempts);
  return votesFor.size;
}

/** Held by the votes of the second and the third alone. */
async function holdByTwo(redlock: Redlock, resource: string): Promise<Lock> {
  await admins[0]!.set(resource, "another client");
  const lock = await redlock.acquire(resource, ttl);
  await Promise.all(lock.attempts);
  await admins[0]!.del(resource);
  return lock;
}

async function restartThird(): Promise<void> {
  await masters.list[2]!.kill();
  await masters.list[2]!.restart();
  await until("it answers", async () => (await admins[2]!.ping().catch(() => "")) === "PONG");
}

describe("a master boots with a slow clock, and is set right by NTP", () => {
  it("its quarantine still lasts, by the clocks of the clients", async () => {
    const [holder, rival] = (await openAll(2)) as [ReturnType<typeof open>, ReturnType<typeof open>];
    const resource = fresh("booted");
    const lock = await holdByTwo(holder.redlock, resource);
    masters.clocks[2]!.step(-hour);
    await restartThird();
    // The rival is connected again then, and has been refused.
    await until("it is in quarantine", async () => {
      await rival.redlock.tryAcquire(fresh("noticed"), ttl).then((other) => other?.release());
      return rival.reasons.includes("QUARANTINE");
    });
    expect(await admins[2]!.exists("quorlock:quarantine")).toBe(1);
    masters.clocks[2]!.step(hour);
    // The key that measures it by its own clock is gone at once.
    expect(await admins[2]!.exists("quorlock:quarantine")).toBe(0);
    expect(await rival.redlock.tryAcquire(resource, ttl)).toBeNull();
    expect(lock.state).toBe("held");
    await until("it is over", async () => (await votesFor(rival.redlock)) === 3, 2 * ttl);
    expect(lock.remaining()).toBe(0);
  });

  it("no client whose clock is far ahead keeps it in quarantine for longer than maxTtl", async () => {
    const wall = Date.now;
    const { systemRuntime } = await import("@quorlock/redlock");
    const ahead = {
      monotonic: () => systemRuntime.monotonic(),
      wall: () => wall() + hour,
      randomBytes: (count: number) => systemRuntime.randomBytes(count),
      setTimer: (callback: () => void, delay: number) => systemRuntime.setTimer(callback, delay),
    };
    const [usual] = (await openAll(1)) as [ReturnType<typeof open>];
    const early = open({ runtime: ahead });
    expect(await votesFor(early.redlock)).toBe(3);
    await admins[2]!.flushall();
    expect(await votesFor(early.redlock)).toBe(2);
    expect(await votesFor(usual.redlock)).toBe(2);
    await until("it is over", async () => (await votesFor(usual.redlock)) === 3, 2 * ttl);
  });
});

it("a master that boots with a fast clock, and is set right by NTP, votes again after maxTtl", async () => {
  const [{ redlock }] = (await openAll(1)) as [ReturnType<typeof open>];
  masters.clocks[2]!.step(hour);
  await restartThird();
  await until("it is in quarantine", async () => {
    await votesFor(redlock);
    return (await admins[2]!.exists("quorlock:quarantine")) === 1;
  });
  masters.clocks[2]!.step(-hour);
  expect(await admins[2]!.pttl("quorlock:quarantine")).toBeGreaterThan(hour - ttl);
  await until("it is over", async () => (await votesFor(redlock)) === 3, 3 * ttl);
});

describe("a master's clock steps while it is watched", () => {
  it("the master remembers it, for clients that have not seen it", async () => {
    const options = { clockWatch: { exclude: true } };
    const [holder, witness] = (await openAll(2, options)) as [
      ReturnType<typeof open>,
      ReturnType<typeof open>,
    ];
    const resource = fresh("stepped");
    const lock = await holdByTwo(holder.redlock, resource);
    masters.clocks[2]!.step(40_000);
    expect(await votesFor(witness.redlock)).toBe(2);
    await until(
      "it is put into quarantine",
      async () => (await admins[2]!.get("quorlock:guard"))?.endsWith(" 2") === true,
    );
    masters.clocks[2]!.step(-40_000);
    const newcomer = open(options);
    expect(await newcomer.redlock.tryAcquire(resource, ttl)).toBeNull();
    expect(newcomer.reasons).toContain("QUARANTINE");
    expect(lock.state).toBe("held");
  });
});
