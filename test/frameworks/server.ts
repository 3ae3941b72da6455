import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { lockedWith as lockedByExpress } from "@quorlock/express";
import { lockedWith as lockedByFastify } from "@quorlock/fastify";
import type { Lock, Redlock } from "@quorlock/redlock";
import express from "express";
import { type FastifyInstance, fastify } from "fastify";

/** A handler without its framework: its value is the answer, as JSON. */
export type Handle = (signal: AbortSignal, lock: Lock, path: string) => Promise<unknown>;

/** A route as a test names it, in each of the frameworks. */
export interface Route {
  readonly redlock: Redlock;
  readonly key: string | ((path: string) => string | Promise<string>);
  readonly ttl: number;
  readonly options?: Parameters<ReturnType<typeof lockedByExpress>>[3];
  readonly handle: Handle;
}

export interface Server extends AsyncDisposable {
  readonly url: string;
  /** The errors that have reached the error handler of the application. */
  readonly errors: readonly unknown[];
}

export type Framework = (route: Route) => Promise<Server>;

async function listening(listener: RequestListener, errors: readonly unknown[]): Promise<Server> {
  const server = createServer(listener);
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    errors,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await once(server.close(), "close");
    },
  };
}

function expressBy(make: typeof express): Framework {
  return ({ redlock, key, ttl, options, handle }) => {
    const errors: unknown[] = [];
    const app = make();
    const locked = lockedByExpress(redlock);
    const keyOf = typeof key === "function" ? (request: express.Request) => key(request.path) : key;
    const handler = async (
      request: express.Request,
      response: express.Response,
      signal: AbortSignal,
      lock: Lock,
    ): Promise<void> => {
      response.json(await handle(signal, lock, request.path));
    };
    app.all(/.*/, locked(keyOf, ttl, handler, options));
    app.use(((error, _, response, next) => {
      errors.push(error);
      if (response.headersSent) next(error);
      else response.status(500).json({ message: (error as Error).message });
    }) satisfies express.ErrorRequestHandler);
    return listening(app, errors);
  };
}

async function byFastify({ redlock, key, ttl, options, handle }: Route): Promise<Server> {
  const errors: unknown[] = [];
  const app: FastifyInstance = fastify();
  app.setErrorHandler((error, _, reply) => {
    errors.push(error);
    return reply.code(500).send({ message: (error as Error).message });
  });
  const keyOf = typeof key === "function" ? (request: { url: string }) => key(request.url) : key;
  const handler = (request: { url: string }, _: unknown, signal: AbortSignal, lock: Lock) =>
    handle(signal, lock, request.url);
  app.all("/*", lockedByFastify(redlock)(keyOf, ttl, handler, options));
  await app.ready();
  return listening((...exchange) => app.routing(...exchange), errors);
}

const express4 = createRequire(import.meta.url)("express-4") as typeof express;

export const frameworks: Readonly<Record<string, Framework>> = {
  "Fastify 5": byFastify,
  "Express 5": expressBy(express),
  "Express 4": expressBy(express4),
};
