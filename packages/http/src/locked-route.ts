import {
  AbortError,
  type AcquireOptions,
  InvalidArgumentError,
  type Lock,
  type Redlock,
} from "@quorlock/redlock";
import { type ContendedStatus, type Problem, problemFor } from "./problem.ts";

type Resources = string | readonly string[];

/** The resources that a route locks, or a function of the request that returns them. */
export type Key<Request> = Resources | ((request: Request) => Resources | Promise<Resources>);

/**
 * How a route acquires its lock: the options of `acquire`, but `retryCount` is 0 by default, so that a request without
 * the lock is answered at once. A `waitTimeout`, here or of the Redlock, makes it wait.
 */
export interface LockedOptions extends Omit<AcquireOptions, "parent" | "signal"> {
  /** The status of the answer while another request holds the lock: 409 or 423. Default 409. */
  readonly status?: 409 | 423 | undefined;
}

/** The events of a response, of HTTP/1 as of HTTP/2, that tell a client that hung up from one that has its answer. */
export interface ResponseEvents {
  readonly destroyed?: boolean;
  /** False at a `finish` of HTTP/2 that is a hang-up. */
  readonly writableEnded?: boolean;
  /** Of HTTP/2, whose response has no `destroyed`. */
  readonly stream?: { readonly destroyed: boolean } | undefined;
  readonly req?: { readonly socket: Omit<ResponseEvents, "stream"> } | undefined;
  once(event: "close" | "finish", listener: () => void): unknown;
  off(event: "close" | "finish", listener: () => void): unknown;
}

/** One request, as a framework has it. */
export interface Exchange<T> {
  readonly response: ResponseEvents;
  /** Sends the problem, unless an answer has begun: then it returns false. */
  answer(problem: Problem): boolean;
  /** Runs the user's handler. */
  handle(signal: AbortSignal, lock: Lock): Promise<T>;
}

/** A route under a lock, without its framework. */
export class LockedRoute {
  readonly #redlock: Redlock;
  readonly #ttl: number;
  readonly #settings: AcquireOptions;
  readonly #status: ContendedStatus;

  constructor(redlock: Redlock, ttl: number, handler: unknown, options: LockedOptions | null | undefined) {
    if (typeof handler !== "function") {
      throw new InvalidArgumentError("locked needs a key, a ttl in milliseconds and a handler");
    }
    const { status, ...settings } = options ?? {};
    if (![409, 423, undefined, null].includes(status)) {
      throw new InvalidArgumentError(`status must be 409 or 423, but is ${String(status)}`);
    }
    this.#redlock = redlock;
    this.#ttl = ttl;
    this.#status = status ?? 409;
    this.#settings = { ...settings, retryCount: settings.retryCount ?? 0 };
  }

  /**
   * Runs the handler while the lock is kept extended, and releases it when the handler has settled. Resolves to the
   * value of the handler; to `undefined` if there is none to send, because the lock or the client is gone.
   */
  async run<T>(resources: Resources, exchange: Exchange<T>): Promise<T | undefined> {
    const client = new Presence(exchange.response);
    let held: Lock | undefined;
    let isAnswered = false;
    const answer = (error: unknown): boolean => {
      const problem = problemFor(error, this.#status);
      if (problem && !isAnswered) isAnswered = exchange.answer(problem);
      return isAnswered;
    };
    try {
      const settings = { ...this.#settings, signal: client.signal };
      const value = await this.#redlock.using(resources, this.#ttl, settings, async (signal, lock) => {
        held = lock;
        return await handled(() => exchange.handle(signal, lock), lock, answer);
      });
      return isAnswered ? undefined : value;
    } catch (error) {
      // A handler may throw the reason of its signal: then a client is gone, or has been answered.
      const isDealtWith = held
        ? error === client.signal.reason || (isAnswered && error === held.signal.reason)
        : error instanceof AbortError || answer(error);
      if (!isDealtWith) throw error;
      return undefined;
    } finally {
      client.forget();
    }
  }
}

/** The value of a handler. The loss of its lock is answered at once: the handler may not notice it for long. */
async function handled<T>(
  handle: () => Promise<T>,
  { signal }: Lock,
  answer: (error: unknown) => unknown,
): Promise<T> {
  const answerLoss = (): unknown => answer(signal.reason);
  signal.addEventListener("abort", answerLoss);
  try {
    const handling = handle();
    if (typeof handling?.then === "function") return await handling;
    throw new TypeError("the handler of a locked route must return a promise: its end releases the lock");
  } finally {
    // To read it finds a loss that a blocked event loop has hidden.
    void signal.aborted;
    signal.removeEventListener("abort", answerLoss);
  }
}

/** Notices that the client hangs up before it has its answer. */
class Presence {
  readonly #response: ResponseEvents;
  /** A response of HTTP/1 that waits for another one does not close with its connection. */
  readonly #closing: readonly ResponseEvents[];
  readonly #controller = new AbortController();
  readonly #onClose = (): void => {
    this.#controller.abort(new DOMException("The client has hung up", "AbortError"));
  };
  readonly forget = (): void => {
    for (const one of this.#closing) one.off("close", this.#onClose);
    this.#response.off("finish", this.#onFinish);
  };
  readonly #onFinish = (): void => {
    if (this.#response.writableEnded !== false) this.forget();
  };

  constructor(response: ResponseEvents) {
    this.#response = response;
    const { req, stream } = response;
    // (An adapter of a serverless platform has a socket without events.)
    this.#closing = req?.socket.once && !stream ? [response, req.socket] : [response];
    for (const one of this.#closing) {
      if (one.destroyed ?? stream?.destroyed) this.#onClose();
      one.once("close", this.#onClose);
    }
    // A response that is finished is closed as well.
    response.once("finish", this.#onFinish);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }
}
