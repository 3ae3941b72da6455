import { setTimeout } from "node:timers/promises";
import {
  type ClockEvent,
  type ClockWatchOptions,
  InvalidArgumentError,
  type Lock,
  Redlock,
} from "@quorlock/redlock";
import { ReadWriteLock } from "@quorlock/redlock/read-write-lock";
import { Semaphore } from "@quorlock/redlock/semaphore";
import { withoutScripts } from "@quorlock/redlock/without-scripts";
import { type ClockedMasters, startMastersWithClocks } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { fresh } from "../fleet/fleet.ts";

// PROTOCOL 1.3, 11.1, 11.3, 11.4.

const ttl = 8000;
const nodeTimeout = 900;

let masters: ClockedMasters;
const opened: Redis[][] = [];
beforeAll(async () => {
  masters = await startMastersWithClocks(3, { say: () => {} });
});
afterEach(() => {
  for (const clients of opened.splice(0)) for (const client of clients) client.disconnect();
});
afterAll(() => masters?.stop());

function open(clockWatch: boolean | ClockWatchOptions, options = {}) {
  const clients = masters.list.map(({ port, host }) => new Redis(port, host));
  opened.push(clients);
  const redlock = new Redlock(clients, { nodeTimeout, clockWatch, ...options });
  const events: ClockEvent[] = [];
  const reasons = new Set<string>();
  redlock.on("clock", (event) => events.push(event));
  redlock.on("error", ({ reason }) => reasons.add(reason));
  return { redlock, events, reasons, clients };
}

const nameOf = (index: number): string => `127.0.0.1:${masters.list[index]!.port}`;

async function lockOnce(redlock: Redlock): Promise<number> {
  const lock = await redlock.acquire(fresh("watched"), ttl);
  const { votesFor } = await lock.attempts[0]!;
  await Promise.all((await lock.release()).attempts);
  return votesFor.size;
}

/** How often TIME was run, by INFO. */
function timesIn(commandStats: string): string | undefined {
  return /cmdstat_time:calls=(\d+)/.exec(commandStats)?.[1];
}

/** Each of some clients that have just been made, one after the other. */
async function takenByNewClients(acquire: (redlock: Redlock) => Promise<Lock | null>): Promise<number> {
  let taken = 0;
  for (let count = 0; count < 10; count += 1) {
    const { redlock } = open({ exclude: true });
    const lock = await acquire(redlock).catch(() => null);
    if (lock) taken += 1;
  }
  return taken;
}

describe("a master's clock is set", () => {
  let stepped = 0;
  beforeEach(() => {
    stepped = 0;
  });
  afterEach(() => masters.clocks[2]!.step(-stepped));
  const step = (by: number): void => {
    masters.clocks[2]!.step(by);
    stepped += by;
  };

  it.each([20_000, -20_000])("by %i ms: it is reported with its size, and the master counts", async (by) => {
    const { redlock, events } = open(true);
    for (let round = 0; round < 3; round += 1) expect(await lockOnce(redlock)).toBe(3);
    expect(events).toEqual([]);
    step(by);
    expect(await lockOnce(redlock)).toBe(3);
    await until("it is told", () => events.some(({ kind }) => kind === "skewed"));
    const [first, second] = events as [ClockEvent, ClockEvent];
    expect(first).toMatchObject({ kind: "stepped", node: nameOf(2) });
    expect(Math.abs(first.offset - by)).toBeLessThanOrEqual(first.uncertainty + 5);
    expect(second).toMatchObject({ kind: "skewed", node: nameOf(2) });
    expect(events).toHaveLength(2);
  });

  it("is excluded with `exclude`, until its clock is right and a ttl has passed", async () => {
    const { redlock, events, reasons } = open({ exclude: true });
    expect(await lockOnce(redlock)).toBe(3);
    step(20_000);
    expect(await lockOnce(redlock)).toBe(2);
    expect(reasons).toEqual(new Set(["CLOCK"]));
    step(-20_000);
    expect(await lockOnce(redlock)).toBe(2);
    await until("it is in line", () => events.some(({ kind }) => kind === "synced"));
    await until("it counts again", async () => (await lockOnce(redlock)) === 3, 2 * ttl);
  });

  it("a lock that it forgets so is not given to a second one", async () => {
    const { redlock } = open({ exclude: true });
    const rival = open({ exclude: true });
    await lockOnce(rival.redlock);
    const resource = fresh("forgotten");
    // Held by the votes of the second and the third alone.
    const first = new Redis(masters.urls[0]!);
    await first.set(resource, "another client");
    const lock = await redlock.acquire(resource, ttl);
    await Promise.all(lock.attempts);
    await first.del(resource);
    first.disconnect();
    step(20_000);
    expect(await rival.redlock.tryAcquire(resource, ttl).catch(() => null)).toBeNull();
    expect(lock.state).toBe("held");
  });

  /** Held by the votes of the second and the third master alone; then the third one's clock is set 40 s forward. */
  async function heldAndForgotten(key: string, acquire: (redlock: Redlock) => Promise<Lock | null>) {
    const first = new Redis(masters.urls[0]!);
    await first.set(key, "another client");
    const { redlock } = open({ exclude: true });
    const lock = (await acquire(redlock))!;
    expect(lock.state).toBe("held");
    // The first one has refused: a vote on its way would find the key free.
    await Promise.all(lock.attempts);
    await first.del(key);
    first.disconnect();
    step(40_000);
    // Redis deletes an expired key when it is read: one that was not read is there again after a step back.
    const third = new Redis(masters.urls[2]!);
    await until("it forgets the key", async () => (await third.exists(key)) === 0);
    third.disconnect();
    return lock;
  }

  it("not noticed: it is set forth and back between two readings of a client, and two hold the lock", async () => {
    const resource = fresh("unnoticed");
    const rival = open({ exclude: true });
    expect(await lockOnce(rival.redlock)).toBe(3);
    const lock = await heldAndForgotten(resource, (redlock) => redlock.tryAcquire(resource, ttl));
    step(-40_000);
    expect(await rival.redlock.tryAcquire(resource, ttl)).not.toBeNull();
    expect(rival.events).toEqual([]);
    expect(lock.state).toBe("held");
  });

  it("no client counts it in its first round for a writer, or for a reader beside one", async () => {
    const name = fresh("written");
    // A busy machine may need some seconds for twenty clients. It is less than the clock is set by.
    const long = 30_000;
    const write = (redlock: Redlock) => new ReadWriteLock(redlock, name).tryWrite(long);
    const lock = await heldAndForgotten(`quorlock:rw:{${name}}:write`, write);
    expect(await takenByNewClients(write)).toBe(0);
    const read = (redlock: Redlock) => new ReadWriteLock(redlock, name).tryRead(long);
    expect(await takenByNewClients(read)).toBe(0);
    expect(lock.state).toBe("held");
  });

  it("no client counts it in its first round for a permit", async () => {
    const name = fresh("permits");
    const permit = (redlock: Redlock) => new Semaphore(redlock, name, 1).tryAcquire(ttl);
    const lock = await heldAndForgotten(`{${name}}:slot:0`, permit);
    expect(await takenByNewClients(permit)).toBe(0);
    expect(lock.state).toBe("held");
  });

  it("with two masters left, the wrong clock cannot be told from the right one: neither counts", async () => {
    step(40_000);
    const clients = masters.list.slice(1).map(({ port, host }) => new Redis(port, host));
    opened.push(clients);
    const redlock = new Redlock(
      [...clients, new Redis(1, { lazyConnect: true, retryStrategy: () => null })],
      {
        nodeTimeout,
        clockWatch: { exclude: true },
      },
    );
    const reasons: string[] = [];
    redlock.on("error", ({ reason, node }) => reasons.push(`${node} ${reason}`));
    await expect(redlock.tryAcquire(fresh("two"), ttl)).rejects.toThrow("No quorum");
    expect(reasons.filter((reason) => reason.endsWith("CLOCK")).length).toBe(2);
  });

  // Time limits: 1.2 s pass between the steps and the last attempts, of 30 s that the lock lasts. A machine that needs
  // the other 28 s for a dozen locks fails the test.
  it("a step excludes for the longest ttl of any client, if `maxTtl` is set", async () => {
    const resource = fresh("remembered");
    const long = 30_000;
    const short = 1000;
    const rival = open({ exclude: true, maxTtl: long });
    const forgetting = open({ exclude: true });
    const lockShortly = async ({ redlock }: ReturnType<typeof open>): Promise<void> => {
      const lock = await redlock.acquire(fresh("short"), short, { nodeTimeout: short / 2 });
      await Promise.all((await lock.release()).attempts);
    };
    for (const one of [rival, forgetting]) await lockShortly(one);
    const acquire = (redlock: Redlock) => redlock.tryAcquire(resource, short, { nodeTimeout: short / 2 });
    const lock = await heldAndForgotten(resource, (redlock) => redlock.tryAcquire(resource, long));
    for (const one of [rival, forgetting]) await lockShortly(one);
    step(-40_000);
    for (const one of [rival, forgetting]) await lockShortly(one);
    // The time of its own longest ttl has passed.
    await setTimeout(1.2 * short);
    expect(await acquire(rival.redlock).catch(() => null)).toBeNull();
    expect(lock.state).toBe("held");
    // That is why it has to be told. An attempt fails where a reply is late: it is made again until the lock ends.
    const refusals: string[] = [];
    forgetting.redlock.on("error", ({ message }) => refusals.push(message));
    let second: Lock | null = null;
    while (second === null && lock.state === "held")
      second = await acquire(forgetting.redlock).catch(() => null);
    expect(second, `refused ${refusals.length} times: ${refusals.at(-1)}`).not.toBeNull();
  });

  it("without `clockWatch` nothing is reported, and no TIME is sent", async () => {
    const { redlock, events, clients } = open(false);
    await lockOnce(redlock);
    const calls = await clients[2]!.info("commandstats");
    step(20_000);
    await lockOnce(redlock);
    expect(events).toEqual([]);
    expect(timesIn(await clients[2]!.info("commandstats"))).toBe(timesIn(calls));
  });
});

it.each([{}, { groupCommit: false }, { queue: false }])("no further round trip: %j", async (options) => {
  const { redlock, clients } = open(true, options);
  await lockOnce(redlock);
  const count = async (): Promise<number> => {
    const text = await clients[0]!.info("commandstats");
    return Number(/cmdstat_evalsha:calls=(\d+)/.exec(text)?.[1]);
  };
  const before = await count();
  await lockOnce(redlock);
  // The vote with the time, and the release. (Where nothing is sent together the vote is a SET, behind the question.)
  expect((await count()) - before).toBe(2);
});

it("a clock watch is refused if the masters have no scripts, or its limits are no durations", () => {
  const client = new Redis({ lazyConnect: true });
  expect(() => new Redlock(withoutScripts([client]), { clockWatch: true })).toThrow(InvalidArgumentError);
  expect(() => new Redlock([client], { clockWatch: { maxOffset: -1 } })).toThrow("clockWatch.maxOffset");
  expect(() => new Redlock([client], { clockWatch: { maxTtl: 0 } })).toThrow("clockWatch.maxTtl");
  client.disconnect();
});
