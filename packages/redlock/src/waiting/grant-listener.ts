import type { Context } from "../protocol/context.ts";
import type { Push, Timed } from "../protocol/node.ts";
import type { Placement } from "../protocol/placement.ts";
import { newToken, waiterOf } from "../protocol/token.ts";
import { Cancellation } from "../time/cancellation.ts";
import { sleep } from "../time/sleep.ts";

/** A waiting acquire, as the receiver of grants. */
export interface GrantHandler {
  /** Master `index` has granted the keys to the token of the push: a vote, if it counts. */
  onGrant(index: number, push: Push | Timed<Push>): void;
  /** Master `index` has reserved for `token` the key that blocked it. */
  onWake(index: number, token: string): void;
  /** The subscription works again: grants may have been missed meanwhile. */
  onListening(): void;
  /** A client was switched to another database: grants in the previous one do not count. */
  onDatabaseChange(): void;
}

/** A position in the order of arrival. */
export interface Ticket {
  readonly drawn: number;
  /** Drawn by this client's clock alone, before any queue was seen. */
  readonly isProvisional: boolean;
}

/** The request of an acquire or a lease that has ended. */
export interface Departed {
  readonly placement: Placement;
  readonly resources: readonly string[];
  readonly ttl: number;
}

/** The maximum number that is remembered. Grants to older ones are left to expire. */
const maxDeparted = 1000;
/** The time a master has to answer a rollback, ms. */
const rollbackTimeout = 500;

/**
 * Receives the grants for all waiting acquires of a client: one channel on each master, from the first wait
 * on.
 */
export class GrantListener {
  readonly #context: Context;
  readonly #channel: string;
  readonly #handlers = new Map<string, GrantHandler>();
  readonly #departed = new Map<string, Departed>();
  #opened: Promise<void> | undefined;
  /** The largest ticket drawn or seen so far. */
  #latestTicket = 0;
  /** Whether the queue of any resource has been seen. */
  #hasSeenQueue = false;
  /** Added to provisional tickets. */
  #provisionalOffset = 0;

  constructor(context: Context) {
    this.#context = context;
    context.placements.onLeft(() => {
      for (const listener of [...this.#handlers.values()]) listener.onDatabaseChange();
    });
    this.#channel = `quorlock:inbox:${newToken(context.runtime)}`;
  }

  /**
   * Resolves when it is known for each master whether the subscription works, at the latest `timeout` ms
   * after the first call.
   */
  open(timeout: number): Promise<void> {
    if (!this.#opened) {
      const known = new Cancellation();
      void this.#listen().then(() => known.cancel(new Error("it is known who is heard")));
      this.#opened = sleep(this.#context.runtime, timeout, known);
    }
    return this.#opened;
  }

  /** Whether the subscriptions to all masters work. */
  get isListening(): boolean {
    return this.#context.nodes.every((node) => node.queue?.isListening);
  }

  /**
   * `waiter`: the part of its tokens before the dot. Its grants are delivered until {@link rollBackGrants} or
   * {@link forget}: while it waits, and then as long as a lease of this process has its token
   * (PROTOCOL 7.18).
   */
  add(waiter: string, handler: GrantHandler): void {
    this.#handlers.set(waiter, handler);
  }

  /** The acquire or its lease has ended: later grants are rolled back (PROTOCOL 7.10). */
  rollBackGrants(waiter: string, departed: Departed): void {
    // Most tokens were never in a queue, so nothing can be granted to them.
    if (!this.#handlers.delete(waiter)) return;
    this.#departed.set(waiter, departed);
    if (this.#departed.size > maxDeparted) this.#departed.delete(this.#departed.keys().next().value!);
  }

  /** The lease continues elsewhere: grants belong to it, so nothing is rolled back here (PROTOCOL 5.6). */
  forget(waiter: string): void {
    this.#handlers.delete(waiter);
  }

  /**
   * Records the largest ticket in the queues as seen by the owner of `ticket`, 0 for none. Returns whether
   * `ticket` counts as a larger one from now on.
   */
  observe(ticket: Ticket, latest: number): boolean {
    const isAhead = ticket.isProvisional && !this.#hasSeenQueue && latest > this.valueOf(ticket);
    if (isAhead) this.#provisionalOffset = latest + 1 - ticket.drawn;
    this.#hasSeenQueue = true;
    this.#latestTicket = Math.max(this.#latestTicket, latest);
    return isAhead;
  }

  /**
   * The ticket of an acquire that starts now: above all tickets seen, or clients with slow clocks would go
   * first (PROTOCOL 7.2). Before any queue was seen, it comes from the clock alone; the first look at a queue
   * corrects all such tickets.
   */
  nextTicket(wall: number): Ticket {
    const drawn = Math.max(Math.floor(wall), this.#latestTicket + 1);
    this.#latestTicket = drawn;
    return { drawn, isProvisional: !this.#hasSeenQueue };
  }

  /** The value of a ticket in the queues. */
  valueOf({ drawn, isProvisional }: Ticket): number {
    return isProvisional ? drawn + this.#provisionalOffset : drawn;
  }

  async #listen(): Promise<void> {
    const onChange = () => {
      for (const listener of this.#handlers.values()) listener.onListening();
    };
    await Promise.all(
      this.#context.nodes.map(async (node, index) => {
        const onPush = (push: Push | Timed<Push>) => this.#onPush(index, push);
        // Each master has a channel of its own: if two of them are one server, its grant through one is not a
        // vote of the other (PROTOCOL 2.8).
        await node.queue?.listen(`${this.#channel}.${index}`, onPush, onChange);
      }),
    );
  }

  #onPush(index: number, push: Push | Timed<Push>): void {
    const { kind, token } = pushIn(push);
    const waiter = waiterOf(token);
    const departed = this.#departed.get(waiter);
    const { rollbacks } = this.#context;
    const handler = this.#handlers.get(waiter);
    if (kind === "wake") handler?.onWake(index, token);
    else handler?.onGrant(index, push);
    if (!departed) return;
    rollbacks.remove({ ...departed, tokens: [token] }, [departed.placement.nodes[index]!], rollbackTimeout);
  }
}

/** The message of a push, whether it counts or not. */
export function pushIn(push: Push | Timed<Push>): Push {
  return "reading" in push ? push.vote : push;
}
