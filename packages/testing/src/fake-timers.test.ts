import { type Client, LockLostError, Redlock } from "@quorlock/redlock";
import { type EmbeddedMasters, startEmbeddedMasters } from "@quorlock/simulation/embedded";
import { Redis } from "ioredis";
import { Redis as Valkey } from "iovalkey";
import { createClient } from "redis";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { advance, timersToFake } from "./fake-timers.ts";

const ttl = 10_000;

describe("advance", () => {
  afterEach(() => void vi.useRealTimers());

  test("needs fake timers, and says how to get them", async () => {
    await expect(advance(1)).rejects.toThrow("vi.useFakeTimers({ toFake: timersToFake })");
  });

  test.each([-1, Number.NaN, Number.POSITIVE_INFINITY])("does not go by %s ms", async (ms) => {
    vi.useFakeTimers({ toFake: timersToFake });
    await expect(advance(ms)).rejects.toThrow(RangeError);
  });

  test("fires timers in their order, those at its end included, and none behind it", async () => {
    vi.useFakeTimers({ toFake: timersToFake });
    const began = Date.now();
    const fired: Array<[string, number]> = [];
    const fire = (name: string) => () => void fired.push([name, Date.now() - began]);
    setTimeout(fire("behind"), 101);
    setTimeout(() => {
      fire("first")();
      setTimeout(fire("at the end"), 40);
    }, 60);
    setInterval(fire("interval"), 50);
    await advance(100);
    expect(fired).toEqual([
      ["interval", 50],
      ["first", 60],
      ["interval", 100],
      ["at the end", 100],
    ]);
    expect(Date.now() - began).toBe(100);
    await advance(0);
    expect(Date.now() - began).toBe(100);
  });
});

test("a lock is extended after a test of the same client that has faked the timers, and did not let them fire", async () => {
  await using masters = await startEmbeddedMasters(3);
  const redlock = new Redlock(masters.urls.map((url) => new Redis(url).on("error", () => {})));
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  await redlock.acquire("before", 300);
  vi.useRealTimers();
  await redlock.using("r", 1200, async (signal) => {
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(signal.aborted).toBe(false);
  });
  await redlock.quit();
});

const libraries: ReadonlyArray<readonly [string, (url: string) => Client]> = [
  ["ioredis", (url) => new Redis(url).on("error", () => {})],
  ["iovalkey", (url) => new Valkey(url).on("error", () => {})],
  ["node-redis", (url) => createClient({ url }).on("error", () => {})],
];

describe.each(libraries)("embedded masters under fake timers, %s", (_, clientOf) => {
  let masters: EmbeddedMasters;
  let redlock: Redlock;
  let other: Redlock;

  function newRedlock(urls: readonly string[] = masters.urls): Redlock {
    return new Redlock(urls.map(clientOf));
  }

  beforeEach(async () => {
    vi.useFakeTimers({ toFake: timersToFake });
    masters = await startEmbeddedMasters(5);
    redlock = newRedlock();
    other = newRedlock();
  });

  afterEach(async () => {
    const ended = Promise.all([redlock.quit(), other.quit()]);
    // Where masters hang, `quit` waits for as long as it may.
    await advance(2_000);
    await ended;
    await masters.stop();
    vi.useRealTimers();
  });

  test("a lock expires when the test says so, on the masters too", async () => {
    const lock = await redlock.acquire("r", ttl);
    await advance(ttl / 2);
    expect([lock.signal.aborted, await other.tryAcquire("r", ttl)]).toEqual([false, null]);
    // Redis keeps a key up to the end of its last millisecond.
    await advance(ttl / 2 + 1);
    expect([lock.signal.aborted, lock.remaining()]).toEqual([true, 0]);
    expect(lock.signal.reason).toBeInstanceOf(LockLostError);
    expect(await other.tryAcquire("r", ttl)).not.toBeNull();
  });

  test("a master whose clock runs fast lets go earlier", async () => {
    await redlock.acquire("r", ttl);
    for (const master of masters.list.slice(0, 3)) master.drift(1_000_000);
    await advance(ttl / 2);
    expect(await other.tryAcquire("r", ttl)).toBeNull();
    await advance(1);
    // A drift beyond the drift factor is outside of what Redlock promises: two hold the lock.
    expect(await other.tryAcquire("r", ttl)).not.toBeNull();
  });
});
