import { setTimeout as delay } from "node:timers/promises";
import { InvalidArgumentError, Redlock, type RedlockOptions } from "@quorlock/redlock";
import { ReadWriteLock } from "@quorlock/redlock/read-write-lock";
import { Semaphore } from "@quorlock/redlock/semaphore";
import { withoutScripts } from "@quorlock/redlock/without-scripts";
import type { RedisOptions } from "ioredis";
import Mock from "ioredis-mock";
import { describe, expect, test } from "vitest";
import { rejection } from "../integration/fleet/fleet.ts";
import { libraries } from "./bench.ts";

// Clients of ioredis-mock, which run commands and scripts in this process.

let port = 7000;

/** Three masters that no other test knows. */
function addresses(): readonly RedisOptions[] {
  port += 3;
  return [0, 1, 2].map((index) => ({ host: "localhost", port: port + index }));
}

function clientsAt(at: readonly RedisOptions[], options: RedisOptions = {}): InstanceType<typeof Mock>[] {
  return at.map((address) => new Mock({ ...address, ...options }));
}

/** Scripts take long there. */
const patient = { nodeTimeout: 1000 };

function opened(options: RedlockOptions = {}, clientOptions: RedisOptions = {}) {
  const clients = clientsAt(addresses(), clientOptions);
  return { clients, redlock: new Redlock(clients, { ...patient, ...options }) };
}

test.each(Object.entries(libraries))("%s locks, extends and releases", async (_, { default: Library }) => {
  const clients = clientsAt(addresses());
  const redlock = new Library(clients, patient);
  const rival = new Library(clients, { ...patient, retryCount: 0 });
  let lock = await redlock.acquire(["a", "b"], 10_000);
  await Promise.all(lock.attempts);
  expect(await Promise.all(clients.map((client) => client.get("b")))).toEqual(clients.map(() => lock.value));
  expect(await rejection(rival.acquire(["b"], 10_000))).toHaveProperty("attempts.length", 1);
  lock = await lock.extend(60_000);
  await Promise.all(lock.attempts);
  expect(await clients[0]!.pttl("a")).toBeGreaterThan(50_000);
  await Promise.all((await lock.release()).attempts);
  expect(await Promise.all(clients.map((client) => client.get("b")))).toEqual([null, null, null]);
});

describe("quorlock with ioredis-mock", () => {
  test("verifies, inspects, waits in this Redlock and for another one", async () => {
    const { clients, redlock } = opened();
    const other = new Redlock(clients, { ...patient, retryDelay: 20 });
    const lock = await redlock.acquire("a", 20_000);
    expect(await lock.verify()).toBe(true);
    expect(await redlock.inspect("a")).toHaveLength(3);
    const waiting = [redlock, other].map((which) => which.acquire("a", 20_000, { waitTimeout: 60_000 }));
    await lock.release();
    const next = await Promise.race(waiting);
    await next.release();
    for (const granted of await Promise.all(waiting)) expect((await granted.release()).outcome).toBeDefined();
  });

  test("extends in using", async () => {
    const { clients, redlock } = opened();
    const ttl = 3000;
    const extended = await redlock.using("a", ttl, async (signal) => {
      const since = performance.now();
      let left = ttl;
      for (let isExtended = false; !isExtended && performance.now() < since + ttl; ) {
        const now = await clients[0]!.pttl("a");
        isExtended = now > left;
        left = now;
        await delay(20);
      }
      return !signal.aborted && left > ttl - (performance.now() - since);
    });
    expect(extended).toBe(true);
  });

  test("asks several masters at one address once, like one server", async () => {
    const [address] = addresses();
    const redlock = new Redlock(clientsAt([address!, address!, address!]), { ...patient, retryCount: 0 });
    const errors: string[] = [];
    redlock.on("error", ({ reason }) => errors.push(reason));
    await rejection(redlock.acquire("a", 10_000));
    expect(errors).toContain("SAME_SERVER");
  });

  test.each([true, false])(
    "connects no client that was disconnected, with lazyConnect %s",
    async (lazyConnect) => {
      const { clients, redlock } = opened({ retryCount: 0 }, { lazyConnect });
      const lock = await redlock.acquire("a", 10_000);
      await lock.release();
      for (const client of clients) client.disconnect();
      const error = (await rejection(redlock.acquire("a", 10_000))) as Error;
      expect(error.message).toContain("UNREACHABLE");
    },
  );

  test("uses the client's keyPrefix", async () => {
    const { clients, redlock } = opened({}, { keyPrefix: "app:" });
    const lock = await redlock.acquire(["a", "b"], 10_000);
    await lock.extend(20_000);
    const { host, port: at } = clients[0]!.options as { host: string; port: number };
    expect(await new Mock({ host, port: at }).get("app:a")).toBe(lock.value);
    await lock.release();
    expect(await new Mock({ host, port: at }).get("app:a")).toBeNull();
  });

  test("keeps off its own keys, with the client's keyPrefix", async () => {
    const { redlock } = opened({}, { keyPrefix: "quor" });
    expect(await rejection(redlock.acquire("lock:a", 10_000))).toBeInstanceOf(InvalidArgumentError);
  });

  test("has fencing tokens, semaphores and readers-writer locks", async () => {
    const { redlock } = opened({ fencing: true });
    const first = await redlock.acquire("a", 10_000);
    await first.release();
    const second = await redlock.acquire("a", 10_000);
    expect(second.fencingToken).toBeGreaterThan(first.fencingToken!);
    const plain = opened().redlock;
    const semaphore = new Semaphore(plain, "s", 1);
    const permit = await semaphore.acquire(10_000);
    expect(await semaphore.tryAcquire(10_000)).toBeNull();
    await permit.release();
    const rw = new ReadWriteLock(plain, "rw");
    const readers = [await rw.read(10_000), await rw.read(10_000)];
    expect(await rw.tryWrite(10_000)).toBeNull();
    for (const reader of readers) await reader.release();
    await (await rw.write(10_000)).release();
  });

  test("locks many resources at a time", async () => {
    const { redlock } = opened({ nodeTimeout: 5000 });
    const names = Array.from({ length: 20 }, (_, index) => `many-${index}`);
    const locks = await Promise.all(names.map((name) => redlock.acquire(name, 30_000)));
    await Promise.all(locks.map((lock) => lock.extend(40_000)));
    const outcomes = await Promise.all(locks.map(async (lock) => (await lock.release()).outcome));
    expect(new Set(outcomes)).toEqual(new Set(["released"]));
  });

  test.each([{ restartGuard: { maxTtl: 10_000 } }, { clockWatch: true }])("is refused with %j", (options) => {
    expect(() => opened(options)).toThrow("ioredis-mock does not run their scripts");
  });

  test("is refused without scripts", () => {
    expect(() => withoutScripts(opened().clients)).toThrow(
      "ioredis-mock runs scripts: pass its client itself",
    );
  });

  test("has one listener on a client, for any number of Redlocks", () => {
    const [client] = clientsAt(addresses());
    const before = client!.listenerCount("ready");
    const redlocks = Array.from({ length: 12 }, () => new Redlock([client!]));
    expect(redlocks).toHaveLength(12);
    expect(client!.listenerCount("ready")).toBe(before + 1);
  });

  test("ends with its clients at quit", async () => {
    const { clients, redlock } = opened();
    const lock = await redlock.acquire("a", 10_000);
    const quits: unknown[] = [];
    for (const client of clients) {
      const quit = client.quit.bind(client);
      client.quit = () => {
        quits.push(client);
        return quit();
      };
    }
    await redlock.quit();
    expect(lock.state).toBe("lost");
    expect(quits).toEqual(clients);
    expect(await clientsAt([clients[0]!.options])[0]!.get("a")).toBeNull();
  });
});
