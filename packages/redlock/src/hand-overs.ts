import type { LockNode } from "./node.ts";
import type { Runtime } from "./runtime.ts";
import { newToken } from "./token.ts";

/** Somebody who waits, and is told when a master hands a key over. */
export interface Listener {
  /** Master number `index` has set the keys to `token`. */
  handed(index: number, token: string): void;
  /** It is heard (again): what was handed over meanwhile may have been missed. */
  listening(): void;
}

/** What the masters hand over to those who wait in this process: one channel on each master, from the first wait on. */
export class HandOvers {
  readonly #nodes: readonly LockNode[];
  readonly #channel: string;
  readonly #listeners = new Map<string, Listener>();
  #opened: Promise<void> | undefined;
  /** The largest ticket that was seen anywhere. */
  #latest = 0;

  constructor(nodes: readonly LockNode[], runtime: Runtime) {
    this.#nodes = nodes;
    this.#channel = `quorlock:inbox:${newToken(runtime)}`;
  }

  /** Settles when each master is heard, or it is known that it cannot be. */
  open(): Promise<void> {
    this.#opened ??= this.#listen();
    return this.#opened;
  }

  /** Whether a hand-over by any master is heard at once. */
  get isListening(): boolean {
    return this.#nodes.every((node) => node.queue?.isListening);
  }

  /** `waiter`: what its tokens begin with, before the dot. */
  add(waiter: string, listener: Listener): void {
    this.#listeners.set(waiter, listener);
  }

  remove(waiter: string): void {
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
      this.#nodes.map((node, index) => {
        const hear = (token: string) => this.#listeners.get(waiterOf(token))?.handed(index, token);
        return node.queue?.listen(this.#channel, hear, listening);
      }),
    );
  }
}

function waiterOf(token: string): string {
  return token.slice(0, token.lastIndexOf("."));
}
