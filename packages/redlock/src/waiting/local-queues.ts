import { Paced } from "../load/paced.ts";
import type { Ballot } from "../protocol/ballot.ts";
import type { Context } from "../protocol/context.ts";
import type { LockRequest } from "../protocol/request.ts";
import { nodeTimeoutFor } from "../settings/settings.ts";
import { GrantListener } from "./grant-listener.ts";
import { LocalQueue, type LocalQueueEvents, LocalWaiter } from "./local-queue.ts";
import { SharedWork } from "./shared-work.ts";
import { TicketClock } from "./ticket-clock.ts";
import type { WaitEnd, WaitingRoom, WaitResult } from "./waiting-room.ts";

/**
 * The time for which a resource counts as contended after a refusal, ms. Calls within it go to the queue
 * without an attempt.
 */
const contendedTime = 1000;
/** The number of calls that have left and settle in one turn of the event loop: each makes an error, with a stack. */
const maxSettledPerTurn = 128;
/** The maximum number of contended resources that are remembered. */
const maxContended = 1000;

/** The local queues of one Redlock (PROTOCOL 7.15), one for each list of resources. */
export class LocalQueues implements LocalQueueEvents, WaitingRoom {
  readonly #clock: TicketClock;
  readonly #context: Context;
  readonly #grantListener: GrantListener;
  readonly #queues = new Map<string, LocalQueue>();
  /** The end of that time by the monotonic clock, ms. */
  readonly #contended = new Map<string, number>();
  readonly departures: Paced;
  #opening: Promise<void> | undefined;
  /** Waits need open subscriptions, and the time of the masters. */
  #preparation: SharedWork | undefined;

  constructor(context: Context, driftFactor: number) {
    this.#context = context;
    this.#clock = new TicketClock(context, driftFactor);
    this.#grantListener = new GrantListener(context);
    this.departures = new Paced(maxSettledPerTurn, context.runtime);
  }

  callNow(): number {
    return this.#clock.callNow();
  }

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

  /**
   * Waits until the lock is granted, or until `end`. `call`: the microsecond in which the call began, by the
   * monotonic clock.
   */
  wait(ballot: Ballot, end: WaitEnd, call: number): Promise<WaitResult> {
    const { request } = ballot;
    return new Promise((resolve) => {
      const prepared = this.#prepare().within(nodeTimeoutFor(request.ttl, request.settings));
      void end.ended.race(prepared).then(() => {
        this.#queueFor(request).join(new LocalWaiter(ballot, this.#clock, call, resolve, end));
      });
    });
  }

  #prepare(): SharedWork {
    const clock = this.#clock;
    if (!this.#preparation || clock.mustAsk) {
      this.#opening ??= this.#grantListener.open();
      this.#preparation = new SharedWork(this.#context.runtime, Promise.all([this.#opening, clock.read()]));
    } else if (clock.isOld) void clock.read();
    return this.#preparation;
  }

  #queueFor({ resources }: LockRequest): LocalQueue {
    const key = JSON.stringify([...resources].sort());
    let queue = this.#queues.get(key);
    if (!queue) {
      queue = new LocalQueue(this.#context, this.#grantListener, this.#clock, key, this);
      this.#queues.set(key, queue);
    }
    return queue;
  }

  onEmpty(key: string): void {
    this.#queues.delete(key);
  }
}
