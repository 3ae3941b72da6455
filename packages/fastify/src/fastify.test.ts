import { once } from "node:events";
import { type ClientHttp2Stream, connect, constants } from "node:http2";
import { setTimeout } from "node:timers/promises";
import { ClosedError, ExecutionError, InvalidArgumentError, type Lock, Redlock } from "@quorlock/redlock";
import { type Masters, startMasters } from "@quorlock/testbed";
import { type FastifyInstance, type FastifyReply, fastify } from "fastify";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { lockedWith, quorlock } from "./index.ts";

const ttl = 60_000;
let masters: Masters;
let redlock: Redlock;
let app: FastifyInstance;
let counter = 0;
let key: string;

beforeAll(async () => {
  masters = await startMasters(3, { say: () => {} });
});
afterAll(() => masters.stop());
beforeEach(() => {
  counter += 1;
  key = `fastify:${counter}`;
  const clients = masters.urls.map((url) => new Redis(url).on("error", () => {}));
  redlock = new Redlock(clients, { nodeTimeout: 900 });
  app = fastify();
});
afterEach(async () => {
  await app.close();
  await redlock.quit();
});

describe("the plugin of Fastify", () => {
  test("decorates the instance that it is registered in, and those inside of it", async () => {
    await app.register(quorlock, { redlock });
    app.register(async (inner) => {
      inner.get(
        "/",
        inner.locked(key, ttl, async () => ({ isSame: inner.redlock === redlock })),
      );
    });
    expect((await app.inject("/")).json()).toEqual({ isSame: true });
    expect(app.redlock).toBe(redlock);
  });

  test("lets the application start once a quorum answers, and not without one", async () => {
    const clients = [1, 2, 3].map((port) => new Redis({ port, lazyConnect: true }).on("error", () => {}));
    const unreachable = new Redlock(clients);
    try {
      app.register(quorlock, { redlock: unreachable, ready: { timeout: 100 } });
      await expect(app.ready()).rejects.toBeInstanceOf(ExecutionError);
      const other = fastify();
      other.register(quorlock, { redlock: unreachable, ready: false });
      await other.ready();
      await other.close();
    } finally {
      await unreachable.quit();
    }
  });

  test("leaves the Redlock open when the application is closed", async () => {
    await app.register(quorlock, { redlock });
    await app.close();
    await (await redlock.acquire(key, ttl)).release();
  });

  test("quits the Redlock if asked for, once all requests are answered", async () => {
    await app.register(quorlock, { redlock, quit: { drain: ttl } });
    let end: (() => void) | undefined;
    const began = new Promise<void>((resolve) => {
      app.get(
        "/",
        app.locked(key, ttl, async (_, __, signal) => {
          resolve();
          await new Promise<void>((settle) => {
            end = settle;
          });
          return { aborted: signal.aborted };
        }),
      );
    });
    const url = await app.listen({ port: 0, host: "127.0.0.1" });
    // A connection that is kept alive would keep the server open.
    const answer = fetch(url, { headers: { connection: "close" } });
    await began;
    const closed = app.close();
    end!();
    expect(await (await answer).json()).toEqual({ aborted: false });
    await closed;
    await expect(redlock.acquire(key, ttl)).rejects.toBeInstanceOf(ClosedError);
  });
});

/** Ends the lock of a handler, and waits until it has. */
async function loseIt(signal: AbortSignal, lock: Lock): Promise<void> {
  const lost = once(signal, "abort");
  lock.expiration = Date.now() + 20;
  await lost;
}

describe("a handler of Fastify under a lock", () => {
  beforeEach(async () => {
    await app.register(quorlock, { redlock });
  });

  test("has the instance, the request and the reply as any other", async () => {
    app.decorate("name", "app");
    app.post<{ Params: { id: string }; Reply: { id: string; name: unknown } }>(
      "/:id",
      app.locked(
        (request) => `${key}:${request.params.id}`,
        ttl,
        async function (request, reply) {
          reply.code(201);
          return { id: request.params.id, name: this.getDecorator("name") };
        },
      ),
    );
    const response = await app.inject({ method: "POST", url: "/7" });
    expect(response.statusCode).toBe(201);
    expect(response.json()).toEqual({ id: "7", name: "app" });
  });

  test("must return a promise", async () => {
    app.get("/", app.locked(key, ttl, (() => ({})) as never));
    const response = await app.inject("/");
    expect(response.statusCode).toBe(500);
    expect(response.json()).toMatchObject({ message: expect.stringContaining("must return a promise") });
    await (await redlock.acquire(key, ttl)).release();
  });

  test("sends no answer that the loss of its lock has overtaken in a blocked process", async () => {
    app.get(
      "/",
      app.locked(
        key,
        1_000,
        async () => {
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_100);
          return { done: true };
        },
        { nodeTimeout: 200 },
      ),
    );
    expect((await app.inject("/")).statusCode).toBe(503);
  });

  test("is refused with one answer, also while a hook of the application delays it", async () => {
    const sent: unknown[] = [];
    app.addHook("onSend", async (_, reply, payload) => {
      sent.push(reply.statusCode);
      await redlock.inspect(key);
      return payload;
    });
    app.get(
      "/",
      app.locked(key, ttl, async () => ({})),
    );
    const lock = await redlock.acquire(key, ttl);
    expect((await app.inject("/")).statusCode).toBe(409);
    expect(sent).toEqual([409]);
    await lock.release();
  });

  test.each([
    ["its answer is delayed", true, 200],
    ["its lock is lost before it answers", false, 503],
  ])("sends one answer while a hook delays it: %s", async (_, answersFirst, status) => {
    const passed: number[] = [];
    const errors: unknown[] = [];
    const onError = (error: unknown): void => void errors.push(error);
    process.on("unhandledRejection", onError);
    process.on("uncaughtException", onError);
    let lost: (() => void) | undefined;
    const isLost = new Promise<void>((resolve) => {
      lost = resolve;
    });
    app.addHook("onSend", async (_request, reply, payload) => {
      passed.push(reply.statusCode);
      await isLost;
      // Until what is sent for the loss has come here as well.
      await redlock.inspect(key);
      return payload;
    });
    app.get(
      "/",
      app.locked(key, ttl, async (_request, reply, signal, lock) => {
        if (answersFirst) void reply.send({ done: true });
        signal.addEventListener("abort", () => lost!());
        lock.expiration = Date.now() + 20;
        await isLost;
        if (!answersFirst) void reply.send({ done: true });
        return reply;
      }),
    );
    expect((await app.inject("/")).statusCode).toBe(status);
    await (await redlock.acquire(key, ttl)).release();
    expect([passed, errors]).toEqual([[status], []]);
    process.off("unhandledRejection", onError);
    process.off("uncaughtException", onError);
  });

  test("cannot change the answer to the loss of its lock while a hook delays it", async () => {
    app.addHook("onSend", async (_request, _reply, payload) => {
      await setTimeout(50);
      return payload;
    });
    app.decorateReply("created", function (this: FastifyReply) {
      return this.code(201).header("location", "/things/1").type("text/plain").send("created");
    });
    app.get(
      "/",
      app.locked(key, ttl, async (_request, reply, signal, lock) => {
        reply.header("content-encoding", "gzip").header("x-own", "kept");
        await loseIt(signal, lock);
        reply.statusCode = 202;
        return reply.getDecorator<() => FastifyReply>("created").call(reply);
      }),
    );
    const { statusCode, headers, json } = await app.inject("/");
    expect(statusCode).toBe(503);
    expect(headers).toMatchObject({ "content-type": "application/problem+json", "x-own": "kept" });
    expect(headers).not.toHaveProperty("content-encoding");
    expect(headers).not.toHaveProperty("location");
    expect(json()).toMatchObject({ status: 503 });
  });

  test("is answered by Fastify if a hook fails while it is refused", async () => {
    app.addHook("onSend", async (_request, reply) => {
      if (reply.statusCode === 409) throw new Error("the store of sessions is down");
    });
    app.get(
      "/",
      app.locked(key, ttl, async () => ({})),
    );
    const lock = await redlock.acquire(key, ttl);
    const response = await app.inject("/");
    expect(response.json()).toMatchObject({ message: "the store of sessions is down" });
    await lock.release();
  });

  test.each([
    ["its stream is reset", (stream: ClientHttp2Stream) => stream.close(constants.NGHTTP2_CANCEL)],
    ["its session is closed", (stream: ClientHttp2Stream) => stream.session!.destroy()],
  ])("notices a client of HTTP/2 that hangs up: %s", async (_, hangUp) => {
    const server = fastify({ http2: true });
    const seen = new Promise<unknown>((resolve) => {
      server.get(
        "/",
        lockedWith(redlock)(key, ttl, async (_request, _reply, signal) => {
          stream.on("error", () => {});
          hangUp(stream);
          if (!signal.aborted) await once(signal, "abort");
          resolve(signal.reason);
        }) as never,
      );
    });
    const session = connect(await server.listen({ port: 0, host: "127.0.0.1" })).on("error", () => {});
    const stream = session.request({ ":path": "/" });
    stream.end();
    expect(await seen).toMatchObject({ message: "The client has hung up" });
    session.destroy();
    await server.close();
  });

  test.each([
    ["no function", [key, ttl, undefined]],
    ["another status", [key, ttl, async () => {}, { status: 200 }]],
  ])("is checked when the route is made: %s", (_, parts) => {
    const locked = app.locked as unknown as (...all: unknown[]) => unknown;
    expect(() => locked(...parts)).toThrow(InvalidArgumentError);
  });
});
