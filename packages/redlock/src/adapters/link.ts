import { InvalidArgumentError } from "../errors.ts";
import type { Done, Message } from "../redis/connection.ts";
import { outside } from "../time/async-context.ts";
import { memberOf } from "./members.ts";

/** The connection was lost, as this library tells it: no reply of a server, whose text it may repeat. */
export class Lost extends Error {
  readonly code = "LOST";
}

/** The connection of the command has been replaced or is not ready: nothing was sent. */
export class NotSent extends Lost {
  override name = "NotSent";
}

/**
 * One connection of a client library, with a client of its own. It is dialed once, and once it is lost it is over, with
 * all that was sent on it: nothing is sent again, whatever the library does when it reconnects (PROTOCOL 2.2).
 */
export interface Link {
  /** Whether commands can be sent. */
  readonly isReady: boolean;
  dial(events: LinkEvents): void;
  /** Sends now; only while it is ready. `done` is called once, after this has returned. */
  post(message: Message, done: Done): void;
  /** The addresses of all masters and replicas; missing for a single master. */
  readonly addresses?: readonly string[];
  /**
   * Closes it at once. Undelivered commands are dropped where possible. Resolves when all pending ones are rejected,
   * `because` of this.
   */
  drop(because?: unknown): Promise<void>;
  /** Closes it after what was just sent. */
  end(): void;
}

/** The events of a link, until it is dropped or ended. */
export interface LinkEvents {
  /** The server has accepted the connection: from now on it has its time to greet it. */
  readonly onAccepted: () => void;
  /** The server has answered, and commands can be sent. */
  readonly onReady: () => void;
  /** The connection, or the attempt to make it, has failed. Later calls are ignored. */
  readonly onLost: (error: unknown) => void;
}

/** The base of the links of all libraries: each is lost once, and never used again. */
export abstract class ClientLink implements Pick<Link, "dial"> {
  protected isOver = false;
  #onLost: (error: unknown) => void = () => {};

  protected abstract connect(events: LinkEvents): Promise<unknown>;

  dial(events: LinkEvents): void {
    this.#onLost = events.onLost;
    outside(() => this.connect(events)).catch((error: unknown) => this.lose(error));
  }

  /** Any error of a connection ends it. */
  protected lose(error: unknown): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#onLost(error);
  }
}

export type OnMessage = (channel: string, message: string) => void;

/** A link for subscriptions. */
export interface SubscriberLink extends Pick<Link, "isReady" | "dial" | "drop" | "end"> {
  ping(message: string): Promise<unknown>;
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
}

/**
 * Throws unless a client that its library, or a wrapper of it, has made has the options that were asked for: without them
 * it would send commands again (PROTOCOL 2.2).
 */
export function checkMade(made: unknown, options: unknown, asked: object): void {
  const has = (options ?? {}) as Readonly<Record<string, unknown>>;
  const missing = Object.entries(asked).find(([name, value]) => value !== undefined && has[name] !== value);
  if (!missing) return;
  // (A wrapper may have made a promise of it.)
  Promise.resolve(made)
    .then((client) => (client as { disconnect?(): unknown }).disconnect?.())
    .catch(() => {});
  throw new InvalidArgumentError(
    `its duplicate() drops the option ${missing[0]}, which locks need: pass the client itself, and no wrapper of it`,
  );
}

/** A client like the user's: its `duplicate` gets the options. (A wrapper may return nothing.) */
export function duplicateOf(client: object, ...args: readonly unknown[]): object {
  const duplicate = memberOf(client, "duplicate") as (...args: readonly unknown[]) => unknown;
  return outside(() => Object(Reflect.apply(duplicate, client, args)) as object);
}

/** The outcome of what `post` sends. */
export function promised(post: (done: Done) => void): Promise<unknown> {
  return new Promise((resolve, reject) =>
    post((reply, error) => (error === undefined ? resolve(reply) : reject(error))),
  );
}
