import type { LockRequest } from "../protocol/attempt.ts";
import type { Context } from "../protocol/context.ts";
import type { Attempts } from "../protocol/execution-stats.ts";
import { nodeTimeoutFor } from "../settings/settings.ts";
import type { Cancellation } from "../time/cancellation.ts";
import { GrantListener } from "./grant-listener.ts";
import { type LineEvents, LocalQueue, type Turn } from "./local-queue.ts";

/** So long after somebody was refused a resource counts as contended, ms: who wants it goes to the queue at once. */
const contendedFor = 1000;
/** So many are remembered. */
const mostContended = 1000;

/** Where the waiting of one process is done (PROTOCOL 7.15): a line for each list of resources. */
export class WaitingRoom implements LineEvents {
  readonly #context: Context;
  readonly #grantListener: GrantListener;
  readonly #lines = new Map<string, LocalQueue>();
  /** Until when, by the monotonic clock. */
  readonly #contended = new Map<string, number>();

  constructor(context: Context) {
    this.#context = context;
    this.#grantListener = new GrantListener(context);
  }

  /** Settles when no lock is on its way from one to the next, for `quit`. */
  get passed(): Promise<unknown> {
    return Promise.all([...this.#lines.values()].map((line) => line.passed));
  }

  /** Whether a vote would very likely be refused: then the first vote enrols as well. */
  isContended(resources: readonly string[]): boolean {
    if (this.#contended.size === 0) return false;
    const now = this.#context.runtime.monotonic();
    return resources.some((resource) => (this.#contended.get(resource) ?? 0) > now);
  }

  refused(resources: readonly string[]): void {
    const until = this.#context.runtime.monotonic() + contendedFor;
    for (const resource of resources) {
      this.#contended.delete(resource);
      this.#contended.set(resource, until);
    }
    while (this.#contended.size > mostContended) {
      this.#contended.delete(this.#contended.keys().next().value!);
    }
  }

  /** Waits for its turn, until `ended` is cancelled. */
  wait(request: LockRequest, ended: Cancellation, attempts: Attempts): Promise<Turn> {
    const ticket = this.#grantListener.nextTicket(this.#context.runtime.wall());
    return new Promise((resolve) => {
      const place = { request, ticket, attempts, resolve };
      // The first wait of all makes the connections to listen on, and gives them one round's time.
      const opened = this.#grantListener.open(nodeTimeoutFor(request.ttl, request.settings));
      void ended.race(opened).then(() => this.#lineFor(request).join(place, ended));
    });
  }

  #lineFor(request: LockRequest): LocalQueue {
    const key = JSON.stringify([...request.resources].sort());
    let line = this.#lines.get(key);
    if (!line) {
      line = new LocalQueue(this.#context, this.#grantListener, key, this);
      this.#lines.set(key, line);
    }
    return line;
  }

  emptied(key: string): void {
    this.#lines.delete(key);
  }
}
