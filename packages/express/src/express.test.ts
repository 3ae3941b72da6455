import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request as httpRequest, type Server } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Redlock } from "@quorlock/redlock";
import { type Masters, startMasters } from "@quorlock/testbed";
import express, { type Express } from "express";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Locked, lockedWith } from "./index.ts";

const ttl = 60_000;
const express4 = createRequire(import.meta.url)("express-4") as typeof express;
let masters: Masters;
let redlock: Redlock;
let locked: Locked;
let counter = 0;
let key: string;

const folder = mkdtempSync(join(tmpdir(), "quorlock-express-"));
writeFileSync(join(folder, "express.html"), "page");
afterAll(() => rmSync(folder, { recursive: true }));

beforeAll(async () => {
  masters = await startMasters(3, { say: () => {} });
  const clients = masters.urls.map((url) => new Redis(url).on("error", () => {}));
  redlock = new Redlock(clients, { nodeTimeout: 900 });
  await redlock.ready();
  locked = lockedWith(redlock);
});
afterAll(async () => {
  await redlock.quit();
  await masters.stop();
});
beforeEach(() => {
  counter += 1;
  key = `express:${counter}`;
});

describe.each([
  ["5", express],
  ["4", express4],
])("a handler of Express %s under a lock", (_, make) => {
  let app: Express;
  let server: Server;
  let errors: unknown[];

  beforeEach(() => {
    app = make();
    errors = [];
  });
  afterEach(async () => {
    server.closeAllConnections();
    await once(server.close(), "close");
  });

  async function started(): Promise<string> {
    app.use(((error, _request, response, next) => {
      errors.push(error);
      if (response.headersSent) next(error);
      else response.status(500).end();
    }) satisfies express.ErrorRequestHandler);
    server = createServer(app);
    await once(server.listen(0, "127.0.0.1"), "listening");
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  test("has a signal that outlives the end of the answer: only a client without its answer has hung up", async () => {
    const aborted = new Promise<boolean>((resolve) => {
      app.get(
        "/",
        locked(key, ttl, async (_request, response, signal) => {
          response.end();
          await once(response, "close");
          resolve(signal.aborted);
        }),
      );
    });
    await fetch(await started());
    expect(await aborted).toBe(false);
  });

  test("does not run for a client that has hung up before the lock is asked for", async () => {
    const runs: string[] = [];
    let ask!: () => void;
    const asked = new Promise<void>((resolve) => {
      ask = resolve;
    });
    const closed = new Promise<void>((resolve) => {
      const keyOf = async ({ socket }: express.Request): Promise<string> => {
        ask();
        await once(socket, "close");
        resolve();
        return key;
      };
      app.get(
        "/",
        locked(keyOf, ttl, async () => runs.push("run"), { waitTimeout: ttl }),
      );
    });
    const client = httpRequest(await started()).on("error", () => {});
    client.end();
    await asked;
    client.destroy();
    await closed;
    // The handler would have had its turn before the second of these.
    for (let turn = 0; turn < 2; turn += 1)
      await (await redlock.acquire(key, ttl, { waitTimeout: ttl })).release();
    expect([runs, errors]).toEqual([[], []]);
  });

  test("fails as in Express if its lock is lost after its answer has begun: the connection ends", async () => {
    app.get(
      "/",
      locked(key, ttl, async (_request, response, signal, lock) => {
        response.write("a");
        lock.expiration = 0;
        signal.throwIfAborted();
      }),
    );
    const client = httpRequest(await started()).end();
    const [response] = (await once(client, "response")) as [NodeJS.ReadableStream];
    const [error] = (await once(response.resume(), "error")) as [Error];
    expect(error).toMatchObject({ code: "ECONNRESET" });
    expect(errors).toMatchObject([{ code: "LOCK_LOST" }]);
  });

  test("may fail after the loss of its lock was answered, and leaves the connection open", async () => {
    app.get(
      "/",
      locked(key, ttl, async (_request, _response, signal, lock) => {
        lock.expiration = 0;
        if (!signal.aborted) await once(signal, "abort");
        throw new Error("too late");
      }),
    );
    app.get("/next", (_request, response) => void response.end("next"));
    const url = await started();
    const response = await fetch(url);
    expect(response.status).toBe(503);
    await response.text();
    expect(await (await fetch(`${url}/next`)).text()).toBe("next");
    expect(errors).toEqual([]);
  });

  test("keeps its answer if its lock is lost while middleware delays the end, as stores of sessions do", async () => {
    let save!: () => void;
    const saved = new Promise<void>((resolve) => {
      save = resolve;
    });
    app.use((_request, response, next) => {
      const end = response.end.bind(response) as (...parameters: unknown[]) => unknown;
      let isEnding = false;
      response.end = ((...parameters: unknown[]) => {
        if (!isEnding) void saved.then(() => end(...parameters));
        isEnding = true;
        return response;
      }) as typeof response.end;
      next();
    });
    app.get(
      "/",
      locked(key, ttl, async (_request, response, signal, lock) => {
        response.status(201).end("made");
        lock.expiration = 0;
        if (!signal.aborted) await once(signal, "abort");
        setImmediate(save);
      }),
    );
    const response = await fetch(await started());
    expect([response.status, await response.text()]).toEqual([201, "made"]);
    expect(errors).toEqual([]);
  });

  test("cannot change the answer to the loss of its lock, nor fail by trying to, in a callback either", async () => {
    const uncaught: unknown[] = [];
    const onUncaught = (error: unknown): void => void uncaught.push(error);
    process.on("uncaughtException", onUncaught);
    app.set("views", folder).engine("html", (_path, _options, done) => setImmediate(done, null, "page"));
    app.get(
      "/",
      locked(key, ttl, async (_request, response, signal, lock) => {
        response.set({ "content-encoding": "gzip", "cache-control": "public", "x-own": "kept" });
        response.attachment("report.csv");
        const late = new Promise((resolve) => response.render("express.html", undefined, resolve));
        response.render("express.html");
        lock.expiration = 0;
        if (!signal.aborted) await once(signal, "abort");
        await late;
        await new Promise<void>((resolve) => {
          setImmediate(() => {
            response.statusCode = 201;
            response.cookie("a", "b").location("/").status(201).json({ done: true });
            response.sendFile(join(folder, "express.html"));
            response.write("more");
            response.end();
            resolve();
          });
        });
      }),
    );
    const response = await fetch(await started());
    expect(response.status).toBe(503);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "application/problem+json",
      "x-own": "kept",
    });
    for (const name of ["cache-control", "content-disposition", "content-encoding", "location", "set-cookie"])
      expect(response.headers.get(name)).toBeNull();
    expect(await response.json()).toMatchObject({ status: 503 });
    await (await redlock.acquire(key, ttl)).release();
    process.off("uncaughtException", onUncaught);
    expect([uncaught, errors]).toEqual([[], []]);
  });

  test.each<[string, (response: express.Response, done: (error?: unknown) => void) => unknown]>([
    ["end", (response, done) => response.end("page", done)],
    ["write", (response, done) => response.write("page", done)],
    ["sendFile", (response, done) => response.sendFile(join(folder, "express.html"), done)],
    ["download", (response, done) => response.download(join(folder, "express.html"), done)],
  ])(
    "whose lock is lost does not wait for ever for the callback of %s, which gets an error",
    async (_, send) => {
      const settled = new Promise<unknown>((resolve) => {
        app.get(
          "/",
          locked(key, ttl, async (_request, response, signal, lock) => {
            lock.expiration = 0;
            if (!signal.aborted) await once(signal, "abort");
            await new Promise((done) => send(response, done)).then(resolve);
          }),
        );
      });
      expect((await fetch(await started())).status).toBe(503);
      expect(await settled).toBeInstanceOf(Error);
    },
  );

  test.each<[string, (response: express.Response) => unknown]>([
    ["a file", (response) => response.sendFile(join(folder, "express.html"))],
    ["a page", (response) => response.render("express.html")],
    ["a stream", (response) => Readable.from(["pa", "ge"]).pipe(response)],
    ["a pipeline", (response) => pipeline(Readable.from(["pa", "ge"]), response)],
    ["a chain", (response) => response.status(200).type("text/html").write("pa") && response.end("ge")],
  ])("may answer by %s", async (_, answer) => {
    app.set("views", folder).engine("html", (_path, _options, done) => done(null, "page"));
    app.get(
      "/",
      locked(key, ttl, async (_request, response) => {
        const finished = once(response, "finish");
        await answer(response);
        await finished;
      }),
    );
    const response = await fetch(await started());
    expect([response.status, await response.text()]).toEqual([200, "page"]);
    expect(errors).toEqual([]);
  });
});
