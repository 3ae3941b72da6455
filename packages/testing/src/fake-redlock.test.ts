import {
  ClosedError,
  InvalidArgumentError,
  LockLostError,
  Redlock,
  type RedlockOptions,
} from "@quorlock/redlock";
import { RedisNode } from "@quorlock/redlock/internal";
import { lead } from "@quorlock/redlock/lead";
import { ReadWriteLock } from "@quorlock/redlock/read-write-lock";
import { Semaphore } from "@quorlock/redlock/semaphore";
import { InProcessConnection } from "@quorlock/simulation/embedded";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { fakeRedlock } from "./fake-redlock.ts";
import { advance, timersToFake } from "./fake-timers.ts";

const ttl = 10_000;
const codeOf = ({ code }: { readonly code: string }): string => code;

describe("fakeRedlock", () => {
  test("is a Redlock that excludes, and hands its locks on in order", async () => {
    const redlock = fakeRedlock();
    expect(redlock).toBeInstanceOf(Redlock);
    const lock = await redlock.acquire("r", ttl);
    expect(await redlock.tryAcquire("r", ttl)).toBeNull();
    const order: string[] = [];
    const waiting = ["first", "second"].map((name) =>
      redlock.acquire("r", ttl, { waitTimeout: 60_000 }).then(async (next) => {
        order.push(name);
        await next.release();
      }),
    );
    expect((await lock.release()).outcome).toBe("released");
    await Promise.all(waiting);
    expect(order).toEqual(["first", "second"]);
    expect(await redlock.inspect("r")).toMatchObject([{ owner: undefined, remaining: 0, queueLength: 0 }]);
  });

  test("has its own locks, unless it shares those of another", async () => {
    const one = fakeRedlock();
    const other = fakeRedlock();
    const sharing = fakeRedlock({ sharedWith: one });
    const lock = await one.acquire("r", ttl);
    await (await other.acquire("r", ttl)).release();
    expect(await sharing.tryAcquire("r", ttl)).toBeNull();
    const waiting = sharing.acquire("r", ttl, { waitTimeout: 60_000 });
    await lock.release();
    await (await waiting).release();
  });

  test("has everything else too", async () => {
    const redlock = fakeRedlock({ fencing: true, reentrant: true, clockWatch: true });
    const first = await redlock.acquire(["a", "b"], ttl);
    const { fencingToken } = first;
    await first.extend(2 * ttl);
    expect(first.remaining()).toBeGreaterThan(ttl);
    expect(await first.verify()).toBe(true);
    const detached = await first.detach();
    const resumed = redlock.resume(detached);
    await resumed.extend(ttl);
    await resumed.release();
    const nested = await redlock.using("a", ttl, () => redlock.using("a", ttl, async () => "nested"));
    expect(nested).toBe("nested");
    expect((await redlock.acquire("a", ttl)).fencingToken).toBeGreaterThan(fencingToken!);
    const semaphore = new Semaphore(redlock, "permits", 2);
    await Promise.all([semaphore.acquire(ttl), semaphore.acquire(ttl)]);
    expect(await semaphore.tryAcquire(ttl)).toBeNull();
    const document = new ReadWriteLock(redlock, "document");
    const readers = await Promise.all([document.read(ttl), document.read(ttl)]);
    expect(await document.tryWrite(ttl)).toBeNull();
    await Promise.all(readers.map((reader) => reader.release()));
    await (await document.write(ttl)).release();
    const ended = new AbortController();
    let hasLed = false;
    const onStart = (): void => {
      hasLed = true;
    };
    await lead(redlock, "leader", ttl, () => ended.abort(), { signal: ended.signal, onStart });
    expect(hasLed).toBe(true);
  });

  test("ends with quit: its locks are lost, and the others can have them", async () => {
    const redlock = fakeRedlock();
    const other = fakeRedlock({ sharedWith: redlock });
    const lock = await redlock.acquire("r", ttl);
    const waiting = other.acquire("r", ttl, { waitTimeout: 60_000 });
    await redlock.quit();
    expect(lock.signal.reason).toBeInstanceOf(LockLostError);
    await (await waiting).release();
    await expect(redlock.acquire("r", ttl)).rejects.toThrow(ClosedError);
  });

  test("refuses what a Redlock refuses, and to share the locks of one that is no fake", () => {
    expect(() => fakeRedlock({ retryCount: -2 })).toThrow(InvalidArgumentError);
    expect(() => fakeRedlock({ sharedWith: {} as Redlock })).toThrow("sharedWith must be a Redlock made by");
  });
});

function outcomeOf(make: () => Redlock): unknown {
  try {
    return make().settings.retryCount;
  } catch (error) {
    return error;
  }
}

describe("options of fakeRedlock", () => {
  const thrown = new Error("no such setting");
  const unreadable = {
    get retryCount(): number {
      throw thrown;
    },
  };
  const inherited = Object.create({ retryCount: 0 }) as object;
  const { proxy: revoked, revoke } = Proxy.revocable({}, {});
  revoke();

  test.each<[string, unknown]>([
    ["0", 0],
    ["a number", 5],
    ["a Map", new Map([["queue", false]])],
    ["a revoked Proxy", revoked],
    ["an inherited option", inherited],
    ["an option that cannot be read", unreadable],
    ["a wrong runtime", { runtime: {} }],
    ["undefined", undefined],
    ["null", null],
    ["absent ones", { queue: undefined, retryCount: null }],
  ])("%s: the result is that of new Redlock", (_, options) => {
    const node = new RedisNode(new InProcessConnection());
    const real = outcomeOf(() => new Redlock([node], options as RedlockOptions));
    const fake = outcomeOf(() => fakeRedlock(options as RedlockOptions));
    expect(fake).toEqual(real);
    expect(fake === 10 || fake instanceof InvalidArgumentError).toBe(true);
  });

  test("an unknown option is refused, with those that it takes", () => {
    expect(() => fakeRedlock({ queu: false } as object)).toThrow(/"queu" of .* it takes .*, sharedWith /);
  });
});

describe("fakeRedlock under timers that are faked in part", () => {
  afterEach(() => void vi.useRealTimers());

  const clocks = ["Date", "performance", "setTimeout", "clearTimeout"] as const;
  const parts = Array.from({ length: 2 ** clocks.length - 2 }, (_, index) =>
    clocks.filter((_, bit) => ((index + 1) >> bit) & 1),
  );

  test.each(parts.map((toFake) => [toFake.join(), toFake] as const))(
    "%s: one clear error",
    async (_, toFake) => {
      const before = fakeRedlock();
      const held = await before.acquire("held", ttl);
      vi.useFakeTimers({ toFake: [...toFake] });
      expect(() => fakeRedlock()).toThrow(/^fakeRedlock needs all clocks and timers faked, or none, but /);
      await expect(before.acquire("held", ttl)).rejects.toThrow(
        "fakeRedlock needs all clocks and timers faked",
      );
      await expect(before.tryAcquire("r", ttl)).rejects.toThrow(
        "fakeRedlock needs all clocks and timers faked",
      );
      await expect(before.using("r", ttl, async () => {})).rejects.toThrow(
        "needs all clocks and timers faked",
      );
      await expect(advance(1)).rejects.toThrow(/^advance needs/);
      vi.useRealTimers();
      await held.release();
    },
  );

  test("a Date of the test alone", () => {
    vi.setSystemTime(0);
    expect(() => fakeRedlock()).toThrow(
      "but Date is and performance, setTimeout, clearTimeout are not: vi.useFakeTimers({ toFake: timersToFake })",
    );
  });

  test("others may be real: intervals, immediates and ticks", async () => {
    vi.useFakeTimers({ toFake: [...clocks] });
    const redlock = fakeRedlock();
    const lock = await redlock.acquire("r", ttl);
    await advance(ttl + 1);
    expect(lock.state).toBe("lost");
    expect(await redlock.tryAcquire("r", ttl)).not.toBeNull();
  });
});

// The second line fakes all that can be faked: a fake needs nothing but promises.
describe.each([
  ["the timers to fake", { toFake: timersToFake }],
  ["all timers", undefined],
])("fakeRedlock under fake timers: %s", (_, options) => {
  beforeEach(() => void vi.useFakeTimers(options));
  afterEach(() => void vi.useRealTimers());

  test("a lock expires when the test says so", async () => {
    const redlock = fakeRedlock();
    const lock = await redlock.acquire("r", ttl);
    await advance(ttl / 2);
    expect([lock.signal.aborted, await redlock.tryAcquire("r", ttl)]).toEqual([false, null]);
    // Redis keeps a key up to the end of its last millisecond.
    await advance(ttl / 2 + 1);
    expect([lock.signal.aborted, lock.remaining(), lock.state]).toEqual([true, 0, "lost"]);
    expect((await redlock.tryAcquire("r", ttl))?.remaining()).toBeGreaterThan(0);
  });

  test("a lock that is kept extended stays, until its routine ends", async () => {
    const redlock = fakeRedlock();
    const ended = new AbortController();
    const held = redlock.using("r", ttl, async (signal) => {
      await new Promise((resolve) => {
        ended.signal.addEventListener("abort", resolve);
      });
      return signal.aborted;
    });
    await advance(20 * 60_000);
    expect(await redlock.tryAcquire("r", ttl)).toBeNull();
    ended.abort();
    expect(await held).toBe(false);
    expect(await redlock.tryAcquire("r", ttl)).not.toBeNull();
  });

  test("a release notifies the waiter, and no time passes", async () => {
    const redlock = fakeRedlock();
    const other = fakeRedlock({ sharedWith: redlock });
    const lock = await redlock.acquire("r", ttl);
    const waiting = other.acquire("r", ttl, { waitTimeout: 3 * ttl });
    // So that it waits in the queue.
    await advance(ttl / 2);
    const before = Date.now();
    await lock.release();
    expect((await waiting).remaining()).toBeGreaterThan(0);
    expect(Date.now() - before).toBe(0);
  });

  test("an aborted wait settles at once, though the time of another is nearly over", async () => {
    const redlock = fakeRedlock();
    await redlock.acquire("r", 3 * ttl);
    const controller = new AbortController();
    const aborted = redlock.acquire("r", ttl, { signal: controller.signal, retryCount: -1 }).catch(codeOf);
    await advance(ttl / 2);
    void redlock.acquire("r", ttl, { waitTimeout: 40 }).catch(codeOf);
    await advance(5);
    controller.abort();
    expect(await aborted).toBe("ABORTED");
  });

  test("a wait ends when its time is over", async () => {
    const redlock = fakeRedlock();
    await redlock.acquire("r", 3 * ttl);
    const [one, other, patient] = [ttl, ttl, 2 * ttl].map((waitTimeout) =>
      redlock.acquire("r", ttl, { waitTimeout }).catch(codeOf),
    );
    // Unlike `advance` it calls them one by one.
    await vi.advanceTimersByTimeAsync(ttl);
    expect(await Promise.all([one, other])).toEqual(["RESOURCE_LOCKED", "RESOURCE_LOCKED"]);
    await advance(ttl);
    expect(await patient).toBe("RESOURCE_LOCKED");
  });
});
