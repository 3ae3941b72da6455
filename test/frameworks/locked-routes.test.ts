import { once } from "node:events";
import { type ClientRequest, request as httpRequest } from "node:http";
import { connect } from "node:net";
import { type Lock, LockLostError, Redlock, type RedlockOptions } from "@quorlock/redlock";
import { type Masters, startMasters } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { frameworks, type Route } from "./server.ts";

let masters: Masters;
const redlocks: Redlock[] = [];
let counter = 0;
let key: string;

function redlockOn(urls: readonly string[] = masters.urls, options?: RedlockOptions): Redlock {
  const clients = urls.map((url) => new Redis(url).on("error", () => {}));
  const redlock = new Redlock(clients, { nodeTimeout: 900, ...options });
  redlocks.push(redlock);
  return redlock;
}

beforeAll(async () => {
  masters = await startMasters(3, { say: () => {} });
});
afterAll(() => masters.stop());
afterEach(async () => {
  await Promise.all(redlocks.splice(0).map((redlock) => redlock.quit()));
});

/** Much longer than a test takes. */
const ttl = 60_000;

/** A promise, and what settles it. */
class Gate<T = void> {
  open!: (value: T) => void;
  readonly opened: Promise<T> = new Promise((resolve) => {
    this.open = resolve;
  });
}

/** A request whose client can hang up. */
async function clientOf(url: string): Promise<ClientRequest> {
  const client = httpRequest(url).on("error", () => {});
  client.end();
  await once(client, "socket");
  return client;
}

async function route(part: Partial<Route> = {}): Promise<Route> {
  counter += 1;
  key = `route:${counter}`;
  const redlock = part.redlock ?? redlockOn();
  await redlock.ready();
  return { redlock, key, ttl, handle: async () => ({ done: true }), ...part };
}

/** Blocks the process for longer than a second. */
async function blocking(signal: AbortSignal): Promise<unknown> {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_100);
  signal.throwIfAborted();
  return { done: true };
}

describe.each(Object.entries(frameworks))("%s: a locked route", (_, serve) => {
  test("answers as its handler does, which holds the lock until it has settled", async () => {
    const other = redlockOn();
    let held: Lock | undefined;
    const handle: Route["handle"] = async (signal, lock) => {
      held = lock;
      return { aborted: signal.aborted, refused: (await other.tryAcquire(key, ttl)) === null };
    };
    await using server = await serve(await route({ handle }));
    const response = await fetch(server.url);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ aborted: false, refused: true });
    await (await other.acquire(key, ttl, { waitTimeout: ttl })).release();
    expect(held?.state).toBe("released");
  });

  test.each([
    [409, "Conflict", {}],
    [423, "Locked", { status: 423 }],
  ] as const)("answers %d while another holds its lock, with the time that is left", async (...expected) => {
    const [status, title, options] = expected;
    const handle = vi.fn<Route["handle"]>();
    // A Redlock that retries without end does not make a request wait.
    const redlock = redlockOn(masters.urls, { retryCount: -1 });
    await using server = await serve(await route({ redlock, options, handle }));
    const lock = await redlockOn().acquire(key, 20_500);
    const response = await fetch(server.url);
    const left = lock.remaining() / 1000;
    expect(response.status).toBe(status);
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    const seconds = response.headers.get("retry-after");
    expect(seconds).toMatch(/^\d+$/);
    expect(Number(seconds)).toBeGreaterThanOrEqual(Math.ceil(left));
    expect(Number(seconds)).toBeLessThanOrEqual(21);
    const text = await response.text();
    expect(JSON.parse(text)).toEqual({
      type: "about:blank",
      title,
      status,
      detail: "Another request holds the lock.",
    });
    expect(handle).not.toHaveBeenCalled();
  });

  test("answers 503 without a quorum", async () => {
    await using few = await startMasters(3, { say: () => {} });
    await using server = await serve(await route({ redlock: redlockOn(few.urls) }));
    await Promise.all(few.list.slice(1).map((master) => master.kill()));
    const response = await fetch(server.url);
    expect(response.status).toBe(503);
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    expect(response.headers.get("retry-after")).toBe("1");
    expect(await response.json()).toMatchObject({ title: "Service Unavailable", status: 503 });
    expect(server.errors).toEqual([]);
  });

  test("locks what its key makes of the request", async () => {
    const other = redlockOn();
    await using server = await serve(await route({ key: async (path) => `${key}${path}` }));
    await other.acquire(`${key}/1`, ttl);
    const statuses = ["/1", "/2"].map(async (path) => (await fetch(server.url + path)).status);
    expect(await Promise.all(statuses)).toEqual([409, 200]);
  });

  test.each([
    ["its handler rejects", { handle: () => Promise.reject(new Error("no such table")) }, "no such table"],
    [
      "its key throws",
      {
        key: () => {
          throw new Error("no id");
        },
      },
      "no id",
    ],
    ["its key is empty", { key: () => "" }, "INVALID_ARGUMENT"],
  ])("leaves an error to the application, and its lock to others: %s", async (_, part, message) => {
    const other = redlockOn();
    await using server = await serve(await route(part));
    const response = await fetch(server.url);
    expect(response.status).toBe(500);
    expect(await response.json()).toEqual({ message: expect.stringContaining(message) });
    await (await other.acquire(key, ttl, { waitTimeout: ttl })).release();
  });

  test("lets no second handler in when its client hangs up, before the first has settled", async () => {
    const began = new Gate<AbortSignal>();
    const ended = new Gate();
    let running = 0;
    let most = 0;
    const handle: Route["handle"] = async (signal) => {
      running += 1;
      most = Math.max(most, running);
      began.open(signal);
      await ended.opened;
      running -= 1;
      return { done: true };
    };
    const redlock = redlockOn();
    await using server = await serve(await route({ redlock, handle, options: { waitTimeout: ttl } }));
    await using impatient = await serve({ redlock: redlockOn(), key, ttl, handle });
    const client = await clientOf(server.url);
    const signal = await began.opened;
    expect(signal.aborted).toBe(false);
    client.destroy();
    if (!signal.aborted) await once(signal, "abort");
    expect(signal.reason).toMatchObject({ name: "AbortError", message: "The client has hung up" });
    expect((await fetch(impatient.url)).status).toBe(409);
    const second = fetch(server.url);
    await waiters(redlock, 1);
    expect(running).toBe(1);
    ended.open();
    expect((await second).status).toBe(200);
    expect(most).toBe(1);
    expect(server.errors).toEqual([]);
  });

  test("notices a client that hangs up while its answer waits for another one on the connection", async () => {
    const began = new Gate<AbortSignal>();
    const handle: Route["handle"] = async (signal, _lock, path) => {
      if (path === "/second") began.open(signal);
      if (!signal.aborted) await once(signal, "abort");
      throw signal.reason;
    };
    await using server = await serve(await route({ key: (path) => `${key}${path}`, handle }));
    const client = connect(Number(new URL(server.url).port), "127.0.0.1");
    for (const path of ["/first", "/second"]) client.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    const signal = await began.opened;
    client.destroy();
    if (!signal.aborted) await once(signal, "abort");
    expect(signal.reason).toMatchObject({ message: "The client has hung up" });
  });

  test("reports no error for a handler that ends with the reason of its signal", async () => {
    const began = new Gate<AbortSignal>();
    const handle: Route["handle"] = async (signal) => {
      began.open(signal);
      if (!signal.aborted) await once(signal, "abort");
      throw signal.reason;
    };
    const other = redlockOn();
    await using server = await serve(await route({ handle }));
    const client = await clientOf(server.url);
    await began.opened;
    client.destroy();
    await (await other.acquire(key, ttl, { waitTimeout: ttl })).release();
    expect(server.errors).toEqual([]);
  });

  test("waits no longer when its client hangs up, and runs no handler", async () => {
    const handle = vi.fn<Route["handle"]>(async () => ({}));
    const redlock = redlockOn();
    await using server = await serve(await route({ redlock, handle, options: { waitTimeout: ttl } }));
    const lock = await redlock.acquire(key, ttl);
    const client = await clientOf(server.url);
    await waiters(redlock, 1);
    client.destroy();
    await waiters(redlock, 0);
    await lock.release();
    await (await redlock.acquire(key, ttl)).release();
    expect(handle).not.toHaveBeenCalled();
    expect(server.errors).toEqual([]);
  });

  test("answers 503 at once when its lock is lost, and drops the answer of its handler", async () => {
    const ended = new Gate();
    const reasons: unknown[] = [];
    const handle: Route["handle"] = async (signal, lock) => {
      await Promise.all(masters.urls.map(takeKey));
      await lock.extend(ttl).catch(() => {});
      reasons.push(signal.reason);
      await ended.opened;
      return { done: true };
    };
    await using server = await serve(await route({ handle }));
    const response = await fetch(server.url);
    expect(response.status).toBe(503);
    expect(response.headers.get("retry-after")).toBe("1");
    expect(await response.json()).toMatchObject({
      detail: "The lock was lost before the request was done.",
    });
    expect(reasons).toEqual([expect.any(LockLostError)]);
    expect(reasons).toEqual([expect.objectContaining({ reason: "MAJORITY" })]);
    ended.open();
    expect((await fetch(`${server.url}/next`)).status).toBe(409);
    expect(server.errors).toEqual([]);
  });

  test("answers 503 if its handler has blocked the process for longer than the lock lasts", async () => {
    const part = { ttl: 1_000, redlock: redlockOn(masters.urls, { nodeTimeout: 200 }), handle: blocking };
    await using server = await serve(await route(part));
    const response = await fetch(server.url);
    expect(await response.json()).toMatchObject({ status: 503 });
    expect(server.errors).toEqual([]);
  });
});

/** Waits until so many calls wait for the lock, at a quorum: a master that the holder's vote came late to may vote for one of them. */
async function waiters(redlock: Redlock, count: number): Promise<void> {
  await vi.waitFor(
    async () => {
      const lengths = (await redlock.inspect(key)).map(({ queueLength }) => queueLength);
      expect(lengths.filter((length) => length === count).length).toBeGreaterThanOrEqual(2);
    },
    { timeout: 10_000 },
  );
}

/** As a holder would whose servers had forgotten the lock. */
async function takeKey(url: string): Promise<void> {
  const client = new Redis(url);
  await client.set(key, "another", "PX", ttl);
  client.disconnect();
}
