import { outside } from "../time/async-context.ts";
import { maxTimerDelay, type Timer } from "../time/runtime.ts";
import { systemRuntime } from "../time/system.ts";
import type { Driver } from "./driver.ts";
import { type Link, Lost } from "./link.ts";

/** A connection that lived shorter than this counts as a failed attempt, ms: the next one waits. */
const minLifetime = 1000;

/** The minimum delay before another attempt to connect, ms, whatever the user's client does. */
export const minDelay = 50;

/** The delay that a function of the user has returned, without a storm of connections. */
export function boundedDelay(delay: number): number {
  // (The comparison is false for NaN.)
  return delay > minDelay ? Math.min(delay, maxTimerDelay) : minDelay;
}

export interface DialerEvents {
  readonly onReady: () => void;
  /**
   * A link, or the attempt to make one, is lost; the next one is dialed later, unless the state is "over": the user's
   * client is closed, or would give up.
   */
  readonly onLost: (error: unknown) => void;
}

type DialerDriver = Pick<Driver, "status" | "dials" | "greetingTime" | "dialTime" | "delayAfter">;
type AnyLink = Pick<Link, "isReady" | "dial" | "drop" | "end">;

/** Makes links one after the other, with the delays of the user's client, for as long as that lives. */
export class Dialer<L extends AnyLink = Link> {
  /** "wait" before the first dial, "over" once no further link is made. */
  state: "wait" | "dialing" | "ready" | "away" | "over" = "wait";
  /** The current link. */
  link: L | undefined;
  /** The dials of the user's client when the current link was dialed (PROTOCOL 2.18). */
  dialedAfter: number = Number.POSITIVE_INFINITY;
  /** When it was dialed and became ready, by the monotonic clock. */
  dialedAt = 0;
  readyAt = 0;
  readonly #driver: DialerDriver;
  readonly #open: () => L;
  readonly #events: DialerEvents;
  /** For the greeting of the server, or for the next dial. */
  #timer: Timer | undefined;
  #failures = 0;

  constructor(driver: DialerDriver, open: () => L, events: DialerEvents) {
    this.#driver = driver;
    this.#open = open;
    this.#events = events;
  }

  /** Whether the connection of the user's client was dialed after this one (PROTOCOL 2.18). */
  get isBehind(): boolean {
    return this.dialedAfter < this.#driver.dials.connected;
  }

  get isReady(): boolean {
    return this.state === "ready" && this.link!.isReady;
  }

  dial(): void {
    this.state = "dialing";
    this.dialedAt = systemRuntime.monotonic();
    this.dialedAfter = this.#driver.dials.begun;
    const isCurrent = (): boolean => link !== undefined && link === this.link;
    let link: L | undefined;
    try {
      link = this.#open();
      this.link = link;
      const { dialTime, greetingTime } = this.#driver;
      if (dialTime !== undefined) this.#await(dialTime);
      link.dial({
        onAccepted: () => isCurrent() && this.#await(greetingTime),
        onReady: () => isCurrent() && this.#onReady(),
        onLost: (error) => isCurrent() && this.#onLost(error),
      });
    } catch (error) {
      // The library, or a subclass of its client, refuses the user's options of this moment.
      this.#onLost(error);
    }
  }

  /** Ends the link; the next one is dialed later, after `least` ms or more. */
  cut(because: unknown = new Lost("the connection was replaced"), least = 0): void {
    if (this.link) this.#onLost(because, least);
  }

  /** Dials another link now, and drops the one that is being made. */
  redial(): void {
    void this.drop();
    this.dial();
  }

  /** Ends it at once. Resolves when what was sent is rejected. */
  drop(): Promise<void> {
    const link = this.#stop();
    return outside(async () => link?.drop());
  }

  /** Ends it after what was just sent. */
  end(): void {
    const link = this.#stop();
    outside(() => link?.end());
  }

  #stop(): L | undefined {
    const { link } = this;
    this.state = "over";
    this.link = undefined;
    this.#timer?.cancel();
    return link;
  }

  /** A server may accept connections and still hang: the time-outs of libraries cover only TCP. */
  #await(time: number): void {
    this.#timer?.cancel();
    const late = `the server has not greeted the connection for ${time} ms`;
    this.#timer = systemRuntime.setTimer(() => this.#onLost(new Lost(late)), Math.min(time, maxTimerDelay));
    this.#timer.unref();
  }

  #onReady(): void {
    this.#timer?.cancel();
    this.state = "ready";
    this.readyAt = systemRuntime.monotonic();
    this.#events.onReady();
  }

  /** Any error of a connection ends it. */
  #onLost(error: unknown, least = 0): void {
    const { link } = this;
    const hasServed = this.state === "ready" && systemRuntime.monotonic() - this.readyAt >= minLifetime;
    this.#timer?.cancel();
    this.link = undefined;
    this.state = "away";
    this.#failures = hasServed ? 0 : this.#failures + 1;
    if (link) void outside(() => link.drop(error));
    const delay = this.#delayAfter(error);
    if (delay === undefined) this.state = "over";
    else this.#timer = systemRuntime.setTimer(() => this.#dialAgain(), Math.max(delay, least));
    this.#events.onLost(error);
  }

  #dialAgain(): void {
    if (this.#driver.status !== "end") {
      this.dial();
      return;
    }
    this.state = "over";
    this.#events.onLost(new Lost("its client has ended"));
  }

  /** `undefined` if the user's client is closed, or would give up. */
  #delayAfter(error: unknown): number | undefined {
    if (this.#driver.status === "end") return undefined;
    const cause = error instanceof Error ? error : new Error(String(error));
    return this.#driver.delayAfter(this.#failures, cause);
  }
}
