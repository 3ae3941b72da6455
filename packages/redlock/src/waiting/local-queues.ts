import type { LockRequest } from "../protocol/attempt.ts";
import type { Context } from "../protocol/context.ts";
import type { Attempts } from "../protocol/execution-stats.ts";
import { nodeTimeoutFor } from "../settings/settings.ts";
import type { Cancellation } from "../time/cancellation.ts";
import { GrantListener } from "./grant-listener.ts";
import { LocalQueue, type LocalQueueEvents, type WaitResult } from "./local-queue.ts";

/**
 * The time for which a resource counts as contended after a refusal, ms. Calls within it go to the queue
 * without an attempt.
 */
const contendedTime = 1000;
/** The maximum number of contended resources that are remembered. */
const maxContended = 1000;

/** The local queues of one process (PROTOCOL 7.15), one for each list of resources. */
export class LocalQueues implements LocalQueueEvents {
  readonly #context: Context;
  readonly #grantListener: GrantListener;
  readonly #queues = new Map<string, LocalQueue>();
  /** The end of that time by the monotonic clock, ms. */
  readonly #contended = new Map<string, number>();

  constructor(context: Context) {
    this.#context = context;
    this.#grantListener = new GrantListener(context);
  }

  /** Resolves when no hand-off is running, for `quit`. */
  get handedOff(): Promise<unknown> {
    return Promise.all([...this.#queues.values()].map((queue) => queue.handedOff));
  }

  /** Whether an attempt would very likely be refused. Then the first vote is a queue entry. */
  isContended(resources: readonly string[]): boolean {
    if (this.#contended.size === 0) return false;
    const now = this.#context.runtime.monotonic();
    return resources.some((resource) => (this.#contended.get(resource) ?? 0) > now);
  }

  onRefused(resources: readonly string[]): void {
    const until = this.#context.runtime.monotonic() + contendedTime;
    for (const resource of resources) {
      this.#contended.delete(resource);
      this.#contended.set(resource, until);
    }
    while (this.#contended.size > maxContended) {
      this.#contended.delete(this.#contended.keys().next().value!);
    }
  }

  /** Waits until the lock is granted or `ended` is cancelled. */
  wait(request: LockRequest, ended: Cancellation, attempts: Attempts): Promise<WaitResult> {
    const ticket = this.#grantListener.nextTicket(this.#context.runtime.wall());
    return new Promise((resolve) => {
      const waiter = { request, ticket, attempts, resolve };
      // The first wait opens the subscriptions, and gives them the time of one round.
      const subscribed = this.#grantListener.open(nodeTimeoutFor(request.ttl, request.settings));
      void ended.race(subscribed).then(() => this.#queueFor(request).join(waiter, ended));
    });
  }

  #queueFor(request: LockRequest): LocalQueue {
    const key = JSON.stringify([...request.resources].sort());
    let queue = this.#queues.get(key);
    if (!queue) {
      queue = new LocalQueue(this.#context, this.#grantListener, key, this);
      this.#queues.set(key, queue);
    }
    return queue;
  }

  onEmpty(key: string): void {
    this.#queues.delete(key);
  }
}
