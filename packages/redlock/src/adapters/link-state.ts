import type { Timer } from "../time/runtime.ts";
import { systemRuntime } from "../time/system.ts";
import type { Dialer } from "./dialer.ts";
import type { NotSent } from "./link.ts";

/**
 * The state of the current link. The link is used in `current` and `silent`, where a command has waited for a whole period
 * without any reply: then a second link is dialed, and the first one that answers is used. In `doubted` it may lead to
 * another server than the user's client (PROTOCOL 2.18), and what is sent is held until that is known. In `dialing` it is
 * made or identified, and may be silent as well, or there is none until one is needed.
 */
export type LinkState =
  | { readonly is: "current"; second?: undefined }
  | { readonly is: "dialing" | "silent"; second?: Second | undefined }
  | Doubt;

/** A second link, which replaces the current one or is dropped. */
interface Second {
  readonly dialer: Dialer;
  /** How many times it was found ready without having shown anything. */
  unanswered: number;
}

interface Seconded {
  second?: Second | undefined;
}

/** Dials another second link. The state has it before: it may be lost at once. */
export function dialSecond(state: Seconded, dialer: Dialer): void {
  void state.second?.dialer.drop();
  state.second = { dialer, unanswered: 0 };
  dialer.dial();
}

/**
 * Sees to it that a state has a second link. It is given up where it has been ready this many times, `patience`, without an
 * answer: its way may be cut after its greeting, and it would be waited for as long as the first one, which is for ever.
 */
export function nextSecond(state: Seconded, patience: number, newDialer: () => Dialer): void {
  const { second } = state;
  if (second?.dialer.isReady) second.unanswered += 1;
  if (!second || second.unanswered >= patience) dialSecond(state, newDialer());
}

/** The interval at which a doubt is looked at, ms. */
export const doubtInterval = 1000;

/** It is being found out where the current link leads. */
export class Doubt {
  readonly is = "doubted";
  second: Second | undefined;
  /** Whether the user's client is being asked where it leads. */
  isAsking = false;
  /** Each is called with `undefined` to send its command, or with the reason why it never will be sent. */
  readonly #held: Array<(error: NotSent | undefined) => void> = [];
  #timer: Timer | undefined;

  constructor(second: Second | undefined, look: (doubt: Doubt) => void) {
    this.second = second;
    this.#schedule(look);
  }

  hold(settle: (error: NotSent | undefined) => void): void {
    this.#held.push(settle);
  }

  #schedule(look: (doubt: Doubt) => void): void {
    this.#timer = systemRuntime.setTimer(() => {
      this.#schedule(look);
      look(this);
    }, doubtInterval);
    this.#timer.unref();
  }

  /** Work that was begun on the link goes on, or with `error` never will (PROTOCOL 2.16). */
  end(error: NotSent | undefined): void {
    this.#timer?.cancel();
    for (const settle of this.#held) settle(error);
  }
}
