import { ServerResponse } from "node:http";
import {
  handed,
  headersOfContent,
  type Key,
  type LockedOptions,
  LockedRoute,
  type Problem,
} from "@quorlock/http";
import type { Lock, Redlock } from "@quorlock/redlock";
import type { NextFunction, Request, Response } from "express";

export type { Key, LockedOptions } from "@quorlock/http";

/**
 * Answers a request while its lock is held. Its promise releases the lock when it settles, whether the client is still
 * there or not. `signal` aborts if the lock is lost or the client hangs up.
 */
export type LockedHandler<Req extends Request = Request> = (
  request: Req,
  response: Response,
  signal: AbortSignal,
  lock: Lock,
) => Promise<unknown>;

/**
 * Returns a handler of a route, which runs `handler` under the lock that `key` names. `ttl`: ms; the lock is kept
 * extended while the handler runs, and is free after this time if the process dies.
 * @throws InvalidArgumentError for a handler that is no function, or another `status` than 409 and 423.
 */
export type Locked = <Req extends Request = Request>(
  key: Key<Req>,
  ttl: number,
  handler: LockedHandler<Req>,
  options?: LockedOptions,
) => (request: Req, response: Response, next: NextFunction) => void;

/**
 * Returns `locked` for the routes that take their locks from `redlock`.
 * @example
 * ```ts
 * const locked = lockedWith(redlock);
 * app.post("/invoices/:id/payment", locked((request) => `invoice:${request.params.id}`, 10_000, pay));
 * ```
 */
export function lockedWith(redlock: Redlock): Locked {
  return (key, ttl, handler, options) => {
    const route = new LockedRoute(redlock, ttl, handler, options);
    return (request, response, next) => {
      let isAnswered = false;
      const hasEnded = endOf(response);
      const answer = (problem: Problem): boolean => {
        // Middleware may delay the end, as stores of sessions do: the handler's answer stands.
        isAnswered = (hasEnded() && !response.headersSent) || send(response, problem);
        return isAnswered;
      };
      // (A handler may answer from a callback, where nothing catches an error.)
      const ofHandler = handed(response, answering, ServerResponse.prototype, () => isAnswered);
      const run = async (): Promise<void> => {
        const resources = typeof key === "function" ? await key(request) : key;
        await route.run(resources, {
          response,
          answer,
          handle: (signal, lock) => handler(request, ofHandler, signal, lock),
        });
      };
      // Express ends the connection of an error that comes after the answer.
      run().catch((error: unknown) => void (isAnswered || next(error)));
    };
  };
}

/** The methods and properties of a response that change the answer. */
const answering: ReadonlySet<string | symbol> = new Set(
  [
    "addTrailers append appendHeader attachment clearCookie contentType cookie download end flushHeaders format header json",
    "jsonp links location redirect removeHeader render send sendFile sendStatus set setHeader setHeaders status statusCode",
    "statusMessage type vary write writeEarlyHints writeHead",
  ].flatMap((names) => names.split(" ")),
);

/** Returns a function that tells whether `end` was called. */
function endOf(response: Response): () => boolean {
  const end = response.end.bind(response);
  let isCalled = false;
  response.end = ((...parameters: Parameters<typeof end>) => {
    isCalled = true;
    return end(...parameters);
  }) as typeof end;
  return () => isCalled;
}

function send(response: Response, { status, headers, body }: Problem): boolean {
  if (response.headersSent) return false;
  for (const name of headersOfContent) response.removeHeader(name);
  response.status(status).set(headers).send(body);
  return true;
}
