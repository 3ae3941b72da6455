import type { Context } from "../protocol/context.ts";
import type { Push, Timed } from "../protocol/node.ts";
import type { Placement } from "../protocol/placement.ts";
import { newToken, waiterOf } from "../protocol/token.ts";
import { Cancellation } from "../time/cancellation.ts";
import { sleep } from "../time/sleep.ts";

/** Somebody who waits, and is told when a master hands a key over. */
export interface Listener {
  /** Master number `index` has set the keys to the token of the push, which is a vote where it counts. */
  handed(index: number, push: Push | Timed<Push>): void;
  /** Master number `index` has set aside for `token` what was in its way. */
  woken(index: number, token: string): void;
  /** It is heard (again): what was handed over meanwhile may have been missed. */
  listening(): void;
  /** A client was switched to another database: what was handed over in the one before does not count. */
  moved(): void;
}

/** A place in the order of arrival. */
export interface Ticket {
  readonly drawn: number;
  /** Drawn by this client's clock alone. */
  readonly isBlind: boolean;
}

/** What one who has left wanted. */
export interface Departed {
  readonly placement: Placement;
  readonly resources: readonly string[];
  readonly ttl: number;
}

/** So many of them are remembered: what is handed to anyone before them expires. */
const mostDeparted = 1000;
/** What a master has to take a key back, ms. */
const timeout = 500;

/** What the masters hand over to those who wait in this process: a channel on each master, from the first wait on. */
export class GrantListener {
  readonly #context: Context;
  readonly #channel: string;
  readonly #listeners = new Map<string, Listener>();
  readonly #departed = new Map<string, Departed>();
  #opened: Promise<void> | undefined;
  /** The largest ticket that was drawn, or seen anywhere. */
  #latest = 0;
  /** Whether the queue of any resource was seen. */
  #hasSeen = false;
  /** Added to the tickets that were drawn before. */
  #shift = 0;

  constructor(context: Context) {
    this.#context = context;
    context.placements.onLeft(() => {
      for (const listener of [...this.#listeners.values()]) listener.moved();
    });
    this.#channel = `quorlock:inbox:${newToken(context.runtime)}`;
  }

  /** Settles when each master is heard, or it is known that it cannot be; `timeout` ms after the first call at the latest. */
  open(timeout: number): Promise<void> {
    if (!this.#opened) {
      const known = new Cancellation();
      void this.#listen().then(() => known.cancel(new Error("it is known who is heard")));
      this.#opened = sleep(this.#context.runtime, timeout, known);
    }
    return this.#opened;
  }

  /** Whether a hand-over by any master is heard at once. */
  get isListening(): boolean {
    return this.#context.nodes.every((node) => node.queue?.isListening);
  }

  /**
   * `waiter`: what its tokens begin with, before the dot. It is heard until {@link giveBack} or {@link forget}: for as
   * long as it waits, and then for as long as any hold of this process has its token.
   */
  add(waiter: string, listener: Listener): void {
    this.#listeners.set(waiter, listener);
  }

  /** It has left, or its hold has ended: what it is handed from now on is given up again (PROTOCOL 7.10). */
  giveBack(waiter: string, departed: Departed): void {
    // (The tokens of most holds were never in a queue, and nothing can be handed to them.)
    if (!this.#listeners.delete(waiter)) return;
    this.#departed.set(waiter, departed);
    if (this.#departed.size > mostDeparted) this.#departed.delete(this.#departed.keys().next().value!);
  }

  /** Its hold goes on elsewhere: what it is handed is that one's, and nothing is given up here (PROTOCOL 5.6). */
  forget(waiter: string): void {
    this.#listeners.delete(waiter);
  }

  /**
   * The masters' queues were seen from the place of `ticket`: `latest` is the largest ticket there, 0 for none. Returns
   * whether the ticket counts as a larger one from now on.
   */
  saw(ticket: Ticket, latest: number): boolean {
    const isAhead = ticket.isBlind && !this.#hasSeen && latest > this.valueOf(ticket);
    if (isAhead) this.#shift = latest + 1 - ticket.drawn;
    this.#hasSeen = true;
    this.#latest = Math.max(this.#latest, latest);
    return isAhead;
  }

  /**
   * The ticket of one that arrives now: behind all that were seen, or slow clocks would go first (PROTOCOL 7.2). Before
   * any was seen, a clock is all there is: what the first look at a queue shows it to lack is added to all of these.
   */
  nextTicket(wall: number): Ticket {
    const drawn = Math.max(Math.floor(wall), this.#latest + 1);
    this.#latest = drawn;
    return { drawn, isBlind: !this.#hasSeen };
  }

  /** What a ticket counts as in the queues. */
  valueOf({ drawn, isBlind }: Ticket): number {
    return isBlind ? drawn + this.#shift : drawn;
  }

  async #listen(): Promise<void> {
    const listening = () => {
      for (const listener of this.#listeners.values()) listener.listening();
    };
    await Promise.all(
      this.#context.nodes.map(async (node, index) => {
        const hear = (push: Push | Timed<Push>) => this.#hear(index, push);
        // Of its own for each master: where two are one server, what it grants through one is no vote of the other (PROTOCOL 2.8).
        await node.queue?.listen(`${this.#channel}.${index}`, hear, listening);
      }),
    );
  }

  #hear(index: number, push: Push | Timed<Push>): void {
    const { kind, token } = pushIn(push);
    const waiter = waiterOf(token);
    const departed = this.#departed.get(waiter);
    const { rollbacks } = this.#context;
    const listener = this.#listeners.get(waiter);
    if (kind === "wake") listener?.woken(index, token);
    else listener?.handed(index, push);
    if (!departed) return;
    rollbacks.remove({ ...departed, tokens: [token] }, [departed.placement.nodes[index]!], timeout);
  }
}

/** What it says, whether it counts or not. */
export function pushIn(push: Push | Timed<Push>): Push {
  return "reading" in push ? push.vote : push;
}
