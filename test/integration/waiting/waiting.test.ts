import {
  type Backoff,
  type ExecutionError,
  exponentialBackoff,
  fixedBackoff,
  InvalidArgumentError,
  ResourceLockedError,
  type Runtime,
  systemRuntime,
} from "@quorlock/redlock";
import { describe, expect, it, onTestFinished } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet, fresh, type Opened, type OpenOptions, rejection, timed } from "../fleet/fleet.ts";
import { WireTap } from "../fleet/wire-tap.ts";

const fleet = Fleet.forTests(3);

const ttl = 30_000;

/** Waiters poll, exactly by the retry settings. (With the queue: queue.test.ts.) */
function open(options: OpenOptions = {}): Opened {
  return fleet.open({ queue: false, ...options });
}
const attemptsOf = (error: unknown): number => (error as ExecutionError).attempts.length;

/** The times between the attempts that the first master saw, ms. */
async function attemptTimes(resource: string): Promise<() => Promise<number[]>> {
  const tap = await WireTap.on(fleet.admins[0]!);
  onTestFinished(() => tap[Symbol.asyncDispose]());
  return async () => {
    const sets = (await tap.commands()).filter(({ words }) => words[0] === "SET" && words[1] === resource);
    return sets.slice(1).map((set, index) => (set.at - sets[index]!.at) * 1000);
  };
}

describe("a lock that another client holds", () => {
  it("is granted when it is released", async () => {
    const { redlock } = open();
    const resource = fresh();
    const first = await redlock.acquire(resource, ttl);
    let granted = false;
    const waiting = fleet
      .open({ retryDelay: 10, retryJitter: 5, retryCount: -1 })
      .redlock.acquire(resource, ttl);
    void waiting.then(() => {
      granted = true;
    });
    await until("the other one has asked", async () =>
      (await fleet.admins[0]!.info("commandstats")).includes("set"),
    );
    expect(granted).toBe(false);
    await first.release();
    const second = await waiting;
    expect(second.value).not.toBe(first.value);
    expect(second.remaining()).toBeGreaterThan(ttl * 0.95);
    await second.release();
  });

  it("has its full ttl after the wait", async () => {
    const { redlock } = open({ retryDelay: 20, retryJitter: 0, retryCount: -1 });
    const resource = fresh();
    const { result: lock, took } = await timed(async () => {
      await fleet.occupy(resource, fleet.masters, 700);
      return redlock.acquire(resource, 1000);
    });
    expect(took).toBeGreaterThan(695);
    // Of 1000 ms, drift takes 12: what is missing beyond that is one round trip.
    expect(lock.remaining()).toBeGreaterThan(700);
    await lock.release();
  });
});

describe("retryCount and retryDelay", () => {
  it.each([0, 1, 4])("%i: the number of retries, and the total time", async (retryCount) => {
    const { redlock } = open({ retryCount, retryDelay: 30, retryJitter: 0 });
    const resource = fresh();
    await fleet.occupy(resource);
    const { result: error, took } = await timed(() => rejection(redlock.acquire(resource, ttl)));
    expect(error).toBeInstanceOf(ResourceLockedError);
    expect((error as ResourceLockedError).remaining).toBe(Number.POSITIVE_INFINITY);
    expect(attemptsOf(error)).toBe(retryCount + 1);
    expect(took).toBeGreaterThan(retryCount * 30 - 2);
    await fleet.free(resource);
  });

  it("-1: no limit", async () => {
    const { redlock } = open({ retryCount: -1, retryDelay: 1, retryJitter: 0 });
    const resource = fresh();
    await fleet.occupy(resource);
    const times = await attemptTimes(resource);
    const waiting = redlock.acquire(resource, ttl);
    await until("more attempts than any default", async () => (await times()).length > 40);
    await fleet.free(resource);
    const lock = await waiting;
    // Of many attempts not all are remembered.
    expect(lock.attempts.length).toBeLessThanOrEqual(40);
    await lock.release();
  });

  it.each([
    { what: "taken off", byte: 0x00, retryCount: 10, least: 10 * 5, most: 10 * 95 },
    { what: "added", byte: 0xff, retryCount: 3, least: 3 * 194, most: 5000 },
  ])("retryJitter is $what, as chance will have it", async ({ byte, retryCount, least, most }) => {
    const runtime: Runtime = {
      ...systemRuntime,
      // Tokens are longer than what is drawn for a pause.
      randomBytes: (count) =>
        count > 8 ? systemRuntime.randomBytes(count) : new Uint8Array(count).fill(byte),
    };
    const { redlock } = await fleet.openWarm({
      queue: false,
      retryCount,
      retryDelay: 100,
      retryJitter: 95,
      runtime,
    });
    const resource = fresh();
    await fleet.occupy(resource);
    const { result: error, took, net } = await timed(() => rejection(redlock.acquire(resource, ttl)));
    expect(attemptsOf(error)).toBe(retryCount + 1);
    // A timer may be early by a part of a millisecond.
    expect(took).toBeGreaterThan(least - retryCount);
    expect(net).toBeLessThan(most);
    await fleet.free(resource);
  });

  it("of one call replace those of the constructor, for that call", async () => {
    const { redlock } = open({ retryCount: 50, retryDelay: 5000 });
    const resource = fresh();
    await fleet.occupy(resource);
    expect(
      attemptsOf(
        await rejection(redlock.acquire(resource, ttl, { retryCount: 2, retryDelay: 1, retryJitter: 0 })),
      ),
    ).toBe(3);
    expect(attemptsOf(await rejection(redlock.acquire(resource, ttl, { retryCount: 0 })))).toBe(1);
    expect(await redlock.tryAcquire(resource, ttl, { retryCount: 5 })).toBeNull();
    await fleet.free(resource);
  });
});

describe("waitTimeout", () => {
  it("ends the waiting in time, however many attempts that takes", async () => {
    const { redlock } = open({ waitTimeout: 300, retryCount: 0, retryDelay: 20, retryJitter: 5 });
    const resource = fresh();
    await fleet.occupy(resource);
    const times = await attemptTimes(resource);
    const { result: error, took, net } = await timed(() => rejection(redlock.acquire(resource, ttl)));
    expect(error).toBeInstanceOf(ResourceLockedError);
    expect(took).toBeGreaterThan(298);
    expect(net).toBeLessThan(300 + 500 + 300);
    expect((await times()).length).toBeGreaterThan(3);
    await fleet.free(resource);
  });

  it("starts the last attempt at its end: a lock released until then is granted", async () => {
    const { redlock } = open({ waitTimeout: 400, retryDelay: 60_000, retryJitter: 0 });
    const resource = fresh();
    await fleet.occupy(resource);
    const waiting = redlock.acquire(resource, ttl);
    await fleet.free(resource);
    const { result: lock, net } = await timed(() => waiting);
    expect(net).toBeLessThan(1500);
    await lock.release();
  });

  it("0 is one more attempt, at once", async () => {
    const { redlock } = open({ waitTimeout: 0, retryDelay: 60_000 });
    const resource = fresh();
    await fleet.occupy(resource);
    const { result: error, net } = await timed(() => rejection(redlock.acquire(resource, ttl)));
    expect(error).toBeInstanceOf(ResourceLockedError);
    expect(attemptsOf(error)).toBeLessThanOrEqual(2);
    expect(net).toBeLessThan(1000);
    await fleet.free(resource);
  });

  it("does not affect tryAcquire", async () => {
    const { redlock } = open({ waitTimeout: 60_000 });
    const resource = fresh();
    await fleet.occupy(resource);
    const { result, net } = await timed(() => redlock.tryAcquire(resource, ttl));
    expect(result).toBeNull();
    expect(net).toBeLessThan(1000);
    await fleet.free(resource);
  });

  it("limits one call; Infinity removes the limit", async () => {
    const { redlock } = open({ waitTimeout: 1, retryDelay: 10, retryJitter: 0 });
    const resource = fresh();
    await fleet.occupy(resource, fleet.masters, 400);
    const lock = await redlock.acquire(resource, ttl, { waitTimeout: Number.POSITIVE_INFINITY });
    await lock.release();
  });
});

describe("backoff", () => {
  it("determines the pauses, and gets the number of attempts and a random number", async () => {
    const told: Parameters<Backoff>[0][] = [];
    const backoff = (refusal: Parameters<Backoff>[0]): number => {
      told.push(refusal);
      return 1;
    };
    const { redlock } = open({ backoff, retryCount: 4, retryDelay: 60_000 });
    const resource = fresh();
    await fleet.occupy(resource);
    const { net } = await timed(() => rejection(redlock.acquire(resource, ttl)));
    expect(net).toBeLessThan(2000);
    expect(told.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4]);
    for (const { random } of told) {
      expect(random).toBeGreaterThanOrEqual(0);
      expect(random).toBeLessThan(1);
    }
    expect(new Set(told.map(({ random }) => random)).size).toBe(4);
    await fleet.free(resource);
  });

  it.each([
    ["fixed", fixedBackoff(5, 2)],
    ["exponential", exponentialBackoff({ initial: 2, maximum: 20 })],
  ])("%s", async (_, backoff) => {
    const { redlock } = open({ backoff, retryCount: -1 });
    const resource = fresh();
    await fleet.occupy(resource, fleet.masters, 200);
    const { result: lock, net } = await timed(() => redlock.acquire(resource, ttl));
    expect(net).toBeLessThan(1200);
    await lock.release();
  });

  it("that returns Infinity waits until the limit, and no longer", async () => {
    const { redlock } = open({ backoff: () => Number.POSITIVE_INFINITY, waitTimeout: 200 });
    const resource = fresh();
    await fleet.occupy(resource);
    const { result: error, took, net } = await timed(() => rejection(redlock.acquire(resource, ttl)));
    expect(error).toBeInstanceOf(ResourceLockedError);
    expect(took).toBeGreaterThan(190);
    expect(net).toBeLessThan(200 + 900);
    expect(attemptsOf(error)).toBe(2);
    await fleet.free(resource);
  });

  it.each([Number.NaN, -5, "100", undefined])(
    "that says %s is refused, and nothing is left",
    async (delay) => {
      const { redlock } = open({ backoff: () => delay as number });
      const resource = fresh();
      await fleet.occupy(resource, fleet.masters.slice(0, 2));
      const error = await rejection(redlock.acquire(resource, ttl));
      expect(error).toBeInstanceOf(InvalidArgumentError);
      expect((error as Error).message).toContain(
        `backoff must return milliseconds, 0 or more, but returned ${typeof delay === "string" ? `"${delay}"` : delay}`,
      );
      await fleet.untilGone(resource, fleet.masters.slice(2));
      await fleet.free(resource);
    },
  );

  it("that throws: acquire rejects with this error, and leaves no key", async () => {
    const { redlock } = open({
      backoff: () => {
        throw new RangeError("no idea");
      },
    });
    const resource = fresh();
    await fleet.occupy(resource, fleet.masters.slice(0, 2));
    expect(await rejection(redlock.acquire(resource, ttl))).toMatchObject({ message: "no idea" });
    await fleet.untilGone(resource, fleet.masters.slice(2));
    await fleet.free(resource);
  });
});

describe("a wait", () => {
  it("pauses no longer than the key lives", async () => {
    const { redlock } = open({ retryDelay: 60_000, retryJitter: 0, retryCount: 1 });
    const resource = fresh();
    const {
      result: lock,
      took,
      net,
    } = await timed(async () => {
      await fleet.occupy(resource, fleet.masters, 300);
      return redlock.acquire(resource, ttl);
    });
    expect(took).toBeGreaterThan(295);
    expect(net).toBeLessThan(1300);
    await lock.release();
  });

  it("for several resources ends when the last of them is free", async () => {
    const { redlock } = open({ retryDelay: 10, retryJitter: 5, retryCount: -1 });
    const [one, two] = [fresh(), fresh()];
    const { result: lock, took } = await timed(async () => {
      await fleet.occupy(one, fleet.masters, 200);
      await fleet.occupy(two, fleet.masters, 400);
      return redlock.acquire([one, two], ttl);
    });
    expect(took).toBeGreaterThan(395);
    await lock.release();
  });
});

describe("acquireConcurrency", () => {
  it("bounds the rounds in flight; pauses between attempts do not count", async () => {
    const { redlock } = open({ acquireConcurrency: 1, retryCount: -1, retryDelay: 20, retryJitter: 0 });
    const blocked = fresh();
    await fleet.occupy(blocked);
    const waiting = redlock.acquire(blocked, ttl);
    for (let round = 0; round < 5; round += 1) await (await redlock.acquire(fresh(), ttl)).release();
    await fleet.free(blocked);
    await (await waiting).release();
  });

  it("a hundred at once all get their locks", async () => {
    const { redlock } = open({ acquireConcurrency: 3 });
    const locks = await Promise.all(Array.from({ length: 100 }, () => redlock.acquire(fresh(), ttl)));
    expect(locks.every(({ state }) => state === "held")).toBe(true);
    await Promise.all(locks.map((lock) => lock.release()));
  });
});
