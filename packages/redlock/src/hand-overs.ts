import { Cancellation } from "./cancellation.ts";
import type { Coordinator } from "./coordinator.ts";
import type { Push } from "./node.ts";
import { sleep } from "./sleep.ts";
import { newToken, waiterOf } from "./token.ts";

/** Somebody who waits, and is told when a master hands a key over. */
export interface Listener {
  /** Master number `index` has set the keys to `token`; `counter` is as in a yes. */
  handed(index: number, token: string, counter: number | undefined): void;
  /** Master number `index` has set aside for `token` what was in its way. */
  woken(index: number, token: string): void;
  /** It is heard (again): what was handed over meanwhile may have been missed. */
  listening(): void;
}

/** What one who has left wanted. */
export interface Departed {
  readonly resources: readonly string[];
  readonly ttl: number;
}

/** So many of them are remembered: what is handed to anyone before them expires. */
const mostDeparted = 1000;
/** What a master has to take a key back, ms. */
const timeout = 500;

/** What the masters hand over to those who wait in this process: one channel on each master, from the first wait on. */
export class HandOvers {
  readonly #coordinator: Coordinator;
  readonly #channel: string;
  readonly #listeners = new Map<string, Listener>();
  readonly #departed = new Map<string, Departed>();
  #opened: Promise<void> | undefined;
  /** The largest ticket that was seen anywhere. */
  #latest = 0;

  constructor(coordinator: Coordinator) {
    this.#coordinator = coordinator;
    this.#channel = `quorlock:inbox:${newToken(coordinator.runtime)}`;
  }

  /** Settles when each master is heard, or it is known that it cannot be; `timeout` ms after the first call at the latest. */
  open(timeout: number): Promise<void> {
    if (!this.#opened) {
      const known = new Cancellation();
      void this.#listen().then(() => known.cancel(new Error("it is known who is heard")));
      this.#opened = sleep(this.#coordinator.runtime, timeout, known);
    }
    return this.#opened;
  }

  /** Whether a hand-over by any master is heard at once. */
  get isListening(): boolean {
    return this.#coordinator.nodes.every((node) => node.queue?.isListening);
  }

  /**
   * `waiter`: what its tokens begin with, before the dot. It is heard until {@link giveBack} or {@link forget}: for as
   * long as it waits, and then for as long as any hold of this process has its token.
   */
  add(waiter: string, listener: Listener): void {
    this.#listeners.set(waiter, listener);
  }

  /** It has left, or its hold has ended: what it is handed from now on is given up again (PROTOCOL 7). */
  giveBack(waiter: string, departed: Departed): void {
    // (The tokens of most holds were never in a queue, and nothing can be handed to them.)
    if (!this.#listeners.delete(waiter)) return;
    this.#departed.set(waiter, departed);
    if (this.#departed.size > mostDeparted) this.#departed.delete(this.#departed.keys().next().value!);
  }

  /** Its hold goes on elsewhere: what it is handed is that one's, and nothing is given up here (PROTOCOL 14.14). */
  forget(waiter: string): void {
    this.#listeners.delete(waiter);
  }

  saw(ticket: number): void {
    this.#latest = Math.max(this.#latest, ticket);
  }

  /** The ticket of one who arrives now: behind all that were seen, or slow clocks would go first (PROTOCOL 14.15). */
  nextTicket(wall: number): number {
    const ticket = Math.max(Math.floor(wall), this.#latest + 1);
    this.saw(ticket);
    return ticket;
  }

  async #listen(): Promise<void> {
    const listening = () => {
      for (const listener of this.#listeners.values()) listener.listening();
    };
    await Promise.all(
      this.#coordinator.nodes.map(async (node, index) => {
        const hear = (push: Push) => this.#hear(index, push);
        await node.queue?.listen(this.#channel, hear, listening);
      }),
    );
  }

  #hear(index: number, { kind, token, counter }: Push): void {
    const waiter = waiterOf(token);
    const departed = this.#departed.get(waiter);
    const { nodes, cleanUps } = this.#coordinator;
    const listener = this.#listeners.get(waiter);
    if (kind === "wake") listener?.woken(index, token);
    else listener?.handed(index, token, counter);
    if (departed) cleanUps.remove({ ...departed, tokens: [token] }, [nodes[index]!], timeout);
  }
}
