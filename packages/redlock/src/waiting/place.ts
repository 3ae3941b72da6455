import { quorumOf, type Tally } from "../protocol/quorum.ts";
import type { TicketClock } from "./ticket-clock.ts";

/** A call's place in the order of all calls: drawn when it began, and kept through every round and turn (PROTOCOL 7.2). */
export class Place {
  ticket: number;
  /** The microsecond in which it began, by the monotonic clock; later if it demanded more than a lease has (2.5). */
  call: number;
  /** Whether no queue has been seen since the ticket was drawn: if our time is behind, it goes behind those that are there. */
  isProvisional = true;
  /** Whether the ticket is by our own clock: it is drawn again once the masters have told their time. */
  #isOwnTime: boolean;
  readonly #clock: TicketClock;

  constructor(clock: TicketClock, call: number) {
    this.call = call;
    this.ticket = clock.ticketOf(call);
    this.#isOwnTime = clock.isAlone;
    this.#clock = clock;
  }

  /** Draws the ticket again if the masters have told their time since. Returns whether it has. */
  drawAgain(): boolean {
    if (this.#clock.isOld) void this.#clock.read();
    if (!this.#isOwnTime || this.#clock.isAlone) return false;
    this.#isOwnTime = false;
    this.isProvisional = false;
    this.ticket = this.#clock.ticketOf(this.call);
    return true;
  }

  /** Goes behind all that began before now. */
  callAgain(): void {
    this.call = this.#clock.callNow();
    this.ticket = this.#clock.ticketOf(this.call);
  }

  /**
   * Observes a ticket only if a quorum of masters reports it. A ticket that fewer report may belong to no
   * waiter, and all later tickets would be drawn above it. Returns whether its own has become a larger one.
   */
  observe(answers: Tally): boolean {
    const tickets = answers.flatMap((answer) => (answer?.is === "no" ? [answer.latestTicket ?? 0] : []));
    const latest = tickets.sort((a, b) => b - a)[quorumOf(answers.length) - 1];
    if (latest === undefined) return false;
    const wasBehind = this.#clock.observe(latest);
    if (!this.isProvisional || !(this.#isOwnTime || wasBehind) || latest < this.ticket) return false;
    this.ticket = latest + 1;
    return true;
  }
}
