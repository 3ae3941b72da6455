import {
  handed,
  headersOfContent,
  type Key,
  type LockedOptions,
  LockedRoute,
  type Problem,
} from "@quorlock/http";
import type { Lock, ReadyOptions, Redlock } from "@quorlock/redlock";
import type {
  FastifyInstance,
  FastifyPluginAsync,
  FastifyReply,
  FastifyRequest,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
  RouteGenericInterface,
  RouteHandlerMethod,
} from "fastify";
import fastifyPlugin from "fastify-plugin";

export type { Key, LockedOptions } from "@quorlock/http";

declare module "fastify" {
  interface FastifyInstance {
    /** The Redlock of the plugin. */
    readonly redlock: Redlock;
    readonly locked: Locked;
  }
}

type Handler<Route extends RouteGenericInterface> = RouteHandlerMethod<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  Route
>;

type Reply<Route extends RouteGenericInterface> = FastifyReply<
  Route,
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression
>;

/**
 * A handler as any other of Fastify, which runs while its lock is held. Its promise releases the lock when it settles,
 * whether the client is still there or not. `signal` aborts if the lock is lost or the client hangs up.
 */
export type LockedHandler<Route extends RouteGenericInterface = RouteGenericInterface> = (
  this: FastifyInstance,
  request: FastifyRequest<Route>,
  reply: Reply<Route>,
  signal: AbortSignal,
  lock: Lock,
) => Promise<Awaited<ReturnType<Handler<Route>>>>;

/**
 * Returns a handler of a route, which runs `handler` under the lock that `key` names. `ttl`: ms; the lock is kept
 * extended while the handler runs, and is free after this time if the process dies.
 * @throws InvalidArgumentError for a handler that is no function, or another `status` than 409 and 423.
 */
export type Locked = <Route extends RouteGenericInterface = RouteGenericInterface>(
  key: Key<FastifyRequest<Route>>,
  ttl: number,
  handler: LockedHandler<Route>,
  options?: LockedOptions,
) => Handler<Route>;

export interface QuorlockOptions {
  readonly redlock: Redlock;
  /**
   * The options of `redlock.ready`: the start of the application waits for a quorum of masters, and fails without one.
   * `false`: it does not wait. Default `{ timeout: 5_000 }`.
   */
  readonly ready?: ReadyOptions | false | undefined;
  /**
   * The options of `redlock.quit` when the application is closed, once all requests are answered. Default: the Redlock stays
   * open.
   */
  readonly quit?: { readonly drain?: number; readonly keepClients?: boolean } | undefined;
}

/**
 * Returns `locked` for the routes that take their locks from `redlock`: for an application with several, and without the
 * plugin.
 */
export function lockedWith(redlock: Redlock): Locked {
  return function locked<Route extends RouteGenericInterface>(
    key: Key<FastifyRequest<Route>>,
    ttl: number,
    handler: LockedHandler<Route>,
    options?: LockedOptions,
  ): Handler<Route> {
    const route = new LockedRoute(redlock, ttl, handler, options);
    async function run(this: FastifyInstance, request: FastifyRequest<Route>, reply: Reply<Route>) {
      let isAnswered = false;
      const send = firstOf(reply);
      const answer = (problem: Problem): boolean => {
        isAnswered = send(problem);
        return isAnswered;
      };
      const ofHandler = handed(reply, answering, {}, () => isAnswered);
      const resources = typeof key === "function" ? await key(request) : key;
      try {
        return await route.run(resources, {
          response: reply.raw,
          answer,
          handle: (signal, lock) => handler.call(this, request, ofHandler, signal, lock),
        });
      } finally {
        // Fastify would answer once more before the answer has left, such as while a hook of it runs.
        if (isAnswered) await reply;
      }
    }
    return run as Handler<Route>;
  };
}

/** The methods and properties of a reply that change the answer. Fastify reads the status and the headers once its hooks have let the answer pass. */
const answering: ReadonlySet<string | symbol> = new Set(
  "code header headers redirect removeHeader removeTrailer send serializer status statusCode trailer type writeEarlyHints".split(
    " ",
  ),
);

/**
 * Returns a function that answers with a problem, unless the handler has answered: then it returns false. Fastify knows of an
 * answer only once its hooks have let it pass, and would send both.
 */
function firstOf(reply: FastifyReply): (problem: Problem) => boolean {
  const send = reply.send.bind(reply);
  let isAnswered = false;
  reply.send = (payload) => {
    isAnswered = true;
    return send(payload);
  };
  return ({ status, headers, body }) => {
    if (isAnswered || reply.sent || reply.raw.headersSent) return false;
    for (const name of headersOfContent) reply.removeHeader(name);
    reply.code(status).headers(headers);
    void send(body);
    return true;
  };
}

const plugin: FastifyPluginAsync<QuorlockOptions> = async (fastify, { redlock, ready, quit }) => {
  if (ready !== false) await redlock.ready({ ...ready, timeout: ready?.timeout ?? 5_000 });
  fastify.decorate("redlock", redlock);
  fastify.decorate("locked", lockedWith(redlock));
  if (quit) fastify.addHook("onClose", () => redlock.quit(quit));
};

/**
 * Decorates the instance that it is registered in, and those inside of it, with `redlock` and `locked`.
 * @example
 * ```ts
 * await app.register(quorlock, { redlock, quit: { drain: 20_000 } });
 * app.post("/invoices/:id/payment", app.locked((request) => `invoice:${request.params.id}`, 10_000, pay));
 * ```
 */
export const quorlock: FastifyPluginAsync<QuorlockOptions> = fastifyPlugin(plugin, {
  name: "@quorlock/fastify",
  fastify: "5.x",
});
