import type { Context } from "../protocol/context.ts";
import { Attempts } from "../protocol/execution-stats.ts";
import type { LockRequest } from "../protocol/request.ts";
import type { Cancellation } from "../time/cancellation.ts";
import { mayWait, RetryBudget } from "./retry-budget.ts";
import type { WaitingRoom } from "./waiting-room.ts";

/**
 * The maximum number of resources in a queue entry. An entry for 1000 takes a master about 13 ms without
 * interruption; locks of more resources wait by retrying instead.
 */
const maxQueuedResources = 1000;

/** The parameters of one acquire. */
export interface Acquisition {
  readonly context: Context;
  readonly request: LockRequest;
  /** Cancelled by the caller's signal or by `quit`. */
  readonly cancellation: Cancellation;
  /** The queues to wait in; `undefined` if waiting means retrying. */
  readonly queues: WaitingRoom | undefined;
  /** Precedes the first vote; it gets the time that the call has for it, ms. */
  readonly prepare?: (limit: number) => Promise<void>;
}

/** One call of `acquire`: what its attempts and its wait have in common. */
export class Call {
  readonly context: Acquisition["context"];
  request: LockRequest;
  readonly cancellation: Cancellation;
  /** The queues that it waits in; `undefined` if it retries, or never waits. */
  readonly queues: WaitingRoom | undefined;
  readonly attempts: Attempts;
  /** By the monotonic clock, ms. */
  readonly startedAt: number;
  /** From there to the microsecond that its ticket is drawn of. (A small number takes no memory.) */
  readonly #sinceStart: number = 0;
  #budget: RetryBudget | undefined;

  constructor({ context, request, cancellation, queues }: Acquisition) {
    const { settings, resources } = request;
    this.context = context;
    this.request = request;
    this.cancellation = cancellation;
    this.queues = mayWait(settings) && resources.length <= maxQueuedResources ? queues : undefined;
    this.attempts = new Attempts(context.nodes);
    this.startedAt = context.runtime.monotonic();
    // PROTOCOL 7.2: the ticket belongs to the call from here on.
    if (this.queues) this.#sinceStart = this.queues.clock.callNow() - Math.floor(this.startedAt * 1000);
  }

  /** The microsecond in which it began, by the monotonic clock. */
  get calledAt(): number {
    return Math.floor(this.startedAt * 1000) + this.#sinceStart;
  }

  /** Made by the first refusal, or if it has to wait before: most calls need none. */
  get budget(): RetryBudget {
    if (!this.#budget) {
      const { context, request, cancellation, startedAt } = this;
      // Others see in which place it waits, and who it is.
      if (mayWait(request.settings)) context.owners?.begin();
      this.#budget = new RetryBudget(context.runtime, request.settings, cancellation, startedAt);
    }
    return this.#budget;
  }

  /** Whether an attempt would very likely be refused: then the first vote is a queue entry. */
  get isContended(): boolean {
    return this.queues?.isContended(this.request.resources) ?? false;
  }

  end(): void {
    this.request.mark?.remove();
    this.#budget?.end();
  }
}
