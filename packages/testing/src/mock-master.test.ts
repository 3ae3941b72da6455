import { InvalidArgumentError, Redlock, type RedlockOptions, ResourceLockedError } from "@quorlock/redlock";
import { ReadWriteLock } from "@quorlock/redlock/read-write-lock";
import { Semaphore } from "@quorlock/redlock/semaphore";
import type { RedisOptions } from "ioredis";
import Mock from "ioredis-mock";
import { describe, expect, test } from "vitest";
import { mockMaster } from "./mock-master.ts";

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
  const masters = clients.map(mockMaster);
  return { clients, masters, redlock: new Redlock(masters, { ...patient, ...options }) };
}

function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe("a Redlock over clients of ioredis-mock", () => {
  test("locks, extends and releases", async () => {
    const { clients, masters, redlock } = opened();
    const rival = new Redlock(masters, { ...patient, retryCount: 0 });
    const lock = await redlock.acquire(["a", "b"], 10_000);
    await Promise.all(lock.attempts);
    expect(await Promise.all(clients.map((client) => client.get("b")))).toEqual(
      clients.map(() => lock.value),
    );
    expect(await rejection(rival.acquire(["b"], 10_000))).toBeInstanceOf(ResourceLockedError);
    await lock.extend(60_000);
    await Promise.all(lock.attempts);
    expect(await clients[0]!.pttl("a")).toBeGreaterThan(50_000);
    await Promise.all((await lock.release()).attempts);
    expect(await Promise.all(clients.map((client) => client.get("b")))).toEqual([null, null, null]);
  });

  test("verifies, inspects, waits in this Redlock and for another one", async () => {
    const { masters, redlock } = opened();
    const other = new Redlock(masters, { ...patient, retryDelay: 20 });
    const lock = await redlock.acquire("a", 20_000);
    expect(await lock.verify()).toBe(true);
    expect(await redlock.inspect("a")).toHaveLength(3);
    const waiting = [redlock, other].map((which) => which.acquire("a", 20_000, { waitTimeout: 60_000 }));
    await lock.release();
    const next = await Promise.race(waiting);
    await next.release();
    for (const granted of await Promise.all(waiting)) expect((await granted.release()).outcome).toBeDefined();
  });

  test("asks several masters at one address once, like one server", async () => {
    const [address] = addresses();
    const redlock = new Redlock(clientsAt([address!, address!, address!]).map(mockMaster), {
      ...patient,
      retryCount: 0,
    });
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

  test("is refused without the wrapper, which is named", () => {
    const clients = clientsAt(addresses()) as never;
    expect(() => new Redlock(clients)).toThrow(InvalidArgumentError);
    expect(() => new Redlock(clients)).toThrow(
      "client 0 is a client of ioredis-mock: pass mockMaster(client), of @quorlock/testing",
    );
  });

  test("has one listener on a client, for any number of Redlocks", () => {
    const [client] = clientsAt(addresses());
    const before = client!.listenerCount("ready");
    const master = mockMaster(client!);
    const redlocks = Array.from({ length: 12 }, () => new Redlock([master]));
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
