import type { Context, Leftover } from "../protocol/context.ts";
import type { Grant, Push, Timed } from "../protocol/node.ts";
import { quorumOf } from "../protocol/quorum.ts";
import { waiterOf } from "../protocol/token.ts";
import { askMost } from "./ask-most.ts";

/** A waiting acquire, as the receiver of grants. */
export interface GrantHandler {
  /** Master `index` has granted the keys to the token of the push: a vote, if it counts. */
  onGrant(index: number, grant: Grant | Timed<Grant>): void;
  /** Master `index` has reserved for `token` the key that blocked it. */
  onWake(index: number, token: string): void;
  /** The subscription works again: grants may have been missed meanwhile. */
  askAgain(): void;
  /** A client was switched to another database: grants in the previous one do not count. */
  onDatabaseChange(): void;
}

/** The request of an acquire or a lease that has ended. */
type FormerWaiter = Omit<Leftover, "token">;

/** The maximum number that is remembered. Grants to older ones are left to expire. */
const maxFormerWaiters = 1000;
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
  readonly #formerWaiters = new Map<string, FormerWaiter>();

  constructor(context: Context) {
    this.#context = context;
    context.placements.onLeft(() => {
      for (const handler of [...this.#handlers.values()]) handler.onDatabaseChange();
    });
    this.#channel = `quorlock:inbox:${context.tokens.next()}`;
  }

  /** Opens the subscriptions. Resolves when it is known which of them work, except for masters that hang. */
  open(): Promise<void> {
    const { nodes, runtime } = this.#context;
    return askMost(runtime, nodes.length, quorumOf(nodes.length), (index, onAnswer) => {
      const onPush = (push: Push): void => this.#onPush(index, push);
      const onChange = () => {
        for (const listener of this.#handlers.values()) listener.askAgain();
      };
      // Each master has a channel of its own: if two of them are one server, its grant through one is not a
      // vote of the other (PROTOCOL 2.8).
      const listening = async () =>
        nodes[index]!.queue?.listen(`${this.#channel}.${index}`, onPush, onChange);
      // A node that throws or rejects has no subscription.
      void listening().then(onAnswer, onAnswer);
    });
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
  rollBackGrants(waiter: string, former: FormerWaiter): void {
    // Most tokens were never in a queue, so nothing can be granted to them.
    if (!this.#handlers.delete(waiter)) return;
    this.#formerWaiters.set(waiter, former);
    if (this.#formerWaiters.size > maxFormerWaiters)
      this.#formerWaiters.delete(this.#formerWaiters.keys().next().value!);
  }

  /** The lease continues elsewhere: grants belong to it, so nothing is rolled back here (PROTOCOL 5.6). */
  forget(waiter: string): void {
    this.#handlers.delete(waiter);
  }

  #onPush(index: number, push: Push): void {
    const { token } = push.is === "timed" ? push.vote : push;
    const waiter = waiterOf(token);
    const former = this.#formerWaiters.get(waiter);
    const { nodes, deletions } = this.#context;
    const handler = this.#handlers.get(waiter);
    if (push.is === "wake") handler?.onWake(index, token);
    else handler?.onGrant(index, push);
    if (!former) return;
    deletions.deletion({ ...former, token }, [nodes[index]!], rollbackTimeout).ask();
  }
}
