import type { Args, Done, Message } from "../redis/connection.ts";
import { outside } from "../time/async-context.ts";
import { maxTimerDelay, type Timer } from "../time/runtime.ts";
import { afterTurn, systemRuntime } from "../time/system.ts";
import type { OwnClient, OwnEvents, UserClient } from "./own-client.ts";
import { Lost, NotSent } from "./session.ts";

/** One connection of a client library: made, used, and discarded when it is lost. */
export interface SingleConnection {
  connect(): Promise<unknown>;
  send(command: string, args: Args): Promise<unknown>;
  /** Closes it immediately. Pending commands are rejected, and nothing is sent any more. */
  destroy(): void;
}

export interface SingleConnectionEvents {
  /** Called when the server has accepted the connection, if the library reports that. */
  readonly onAccepted: () => void;
  /** Called when the server has answered, and commands can be sent. */
  readonly onReady: () => void;
  /** Called when the connection, or the attempt to make it, has failed. Later calls are ignored. */
  readonly onLost: (error: unknown) => void;
}

/** A connection that lived shorter than this counts as a failed attempt, ms: the next one waits. */
const minLifetime = 1000;
/** The time that a server has to accept a connection, and then to greet it, ms, if the user's client sets none. */
export const defaultConnectTimeout = 10_000;

/** The minimum delay before another attempt to connect, ms, whatever the user's client does. */
export const minDelay = 50;

/** The delay that a function of the user has returned, without a storm of connections. */
export function boundedDelay(delay: number): number {
  // (The comparison is false for NaN.)
  return delay > minDelay ? Math.min(delay, maxTimerDelay) : minDelay;
}

/**
 * Clients for one connection each, one after the other, for as long as the user's client lives. No command of one
 * can be sent by another, whatever the library does when it reconnects (PROTOCOL 2.2).
 */
export abstract class ReconnectingClient<Single extends SingleConnection> implements OwnClient {
  status = "wait";
  readonly client: this = this;
  readonly #user: Pick<UserClient, "status" | "isErrorReply">;
  readonly #events: Partial<OwnEvents>;
  /** The current connection. */
  protected current: Single | undefined;
  #lostBecause: unknown;
  /** The timer for the greeting of the server, or for the next attempt to connect. */
  #timer: Timer | undefined;
  #failures = 0;
  #readyAt = 0;

  constructor(user: Pick<UserClient, "status" | "isErrorReply">, events: Partial<OwnEvents>) {
    this.#user = user;
    this.#events = events;
  }

  /** Makes a client for one connection. */
  protected abstract open(events: SingleConnectionEvents): Single;

  /** The time that a server has to accept a connection, and then to greet it, ms. */
  protected get connectTimeout(): number {
    return defaultConnectTimeout;
  }

  /** The delay of the user's client after this number of failures in a row, ms; `undefined` if it would give up. */
  protected abstract delayAfter(retries: number, cause: Error): number | undefined;

  connect(): Promise<void> {
    this.#connect();
    return Promise.resolve();
  }

  send(command: string, args: Args): Promise<unknown> {
    const single = this.current;
    // Its connection may have been lost since its last answer.
    if (!single) {
      const { message } = this.#lostBecause instanceof Error ? this.#lostBecause : new Error("it is closed");
      return Promise.reject(new NotSent(message));
    }
    return single.send(command, args).catch((error: unknown) => {
      throw this.#reasonOf(error, single);
    });
  }

  deliver({ command, args }: Message, done: Done): void {
    const single = this.current!;
    single.send(command, args).then(done, (error: unknown) => done(undefined, this.#reasonOf(error, single)));
  }

  cut(): void {
    if (this.current) this.#onLost(this.current, new Lost("the connection was replaced"));
  }

  drop(): void {
    this.#leave()();
  }

  /** Libraries write the commands of a turn at its end, or one turn later. */
  end(): void {
    if (this.status === "end") return;
    const close = this.#leave();
    afterTurn(() => afterTurn(close));
  }

  /** Nothing is sent any more. Returns what closes the connection. */
  #leave(): () => void {
    const { current } = this;
    this.status = "end";
    this.current = undefined;
    this.#timer?.cancel();
    return () => {
      if (current) outside(() => current.destroy());
      this.#events.onClose?.();
      this.#events.onEnd?.();
    };
  }

  #connect(): void {
    this.status = "connecting";
    this.#events.onDial?.();
    const { connectTimeout } = this;
    let single: Single | undefined;
    const onLost = (error: unknown): void => this.#onLost(single, error);
    try {
      single = this.open({
        onAccepted: () => this.#awaitGreeting(single, connectTimeout),
        onReady: () => this.#onReady(single),
        onLost,
      });
    } catch (error) {
      // The library, or a subclass of its client, refuses the user's options of this moment.
      onLost(error);
      return;
    }
    const made = single;
    this.current = made;
    this.#awaitGreeting(made, connectTimeout);
    outside(() => made.connect()).catch(onLost);
  }

  /** A server may accept connections and still hang: the time-outs of libraries cover only TCP. */
  #awaitGreeting(single: Single | undefined, connectTimeout: number): void {
    if (single !== this.current) return;
    const late = `the server has not greeted the connection for ${connectTimeout} ms`;
    this.#timer?.cancel();
    const delay = Math.min(connectTimeout, maxTimerDelay);
    this.#timer = systemRuntime.setTimer(() => this.#onLost(single, new Lost(late)), delay);
    this.#timer.unref();
  }

  #onReady(single: Single | undefined): void {
    if (single !== this.current) return;
    this.#timer?.cancel();
    this.status = "ready";
    this.#readyAt = systemRuntime.monotonic();
    this.#events.onReady?.();
  }

  /** Any error of a connection ends it. */
  #onLost(single: Single | undefined, error: unknown): void {
    if (single !== this.current) return;
    const wasReady = this.status === "ready";
    const lived = wasReady && systemRuntime.monotonic() - this.#readyAt >= minLifetime;
    this.#timer?.cancel();
    this.current = undefined;
    this.status = "reconnecting";
    this.#lostBecause = error;
    if (single) outside(() => single.destroy());
    this.#events.onFailure?.(error);
    this.#events.onClose?.();
    this.#failures = lived ? 0 : this.#failures + 1;
    const delay = this.#delayAfter(error);
    if (delay === undefined) {
      this.status = "end";
      this.#events.onEnd?.();
    } else this.#timer = systemRuntime.setTimer(() => this.#connect(), delay);
  }

  /** `undefined` if the user's client is closed, or would give up. */
  #delayAfter(error: unknown): number | undefined {
    if (this.#user.status === "end") return undefined;
    if (this.#failures === 0) return 0;
    const cause = error instanceof Error ? error : new Error(String(error));
    return this.delayAfter(this.#failures - 1, cause);
  }

  /** The error of a command. Those of a lost connection get the reason of the loss. */
  #reasonOf(error: unknown, single: Single): unknown {
    return single === this.current || this.#user.isErrorReply(error) ? error : (this.#lostBecause ?? error);
  }
}
