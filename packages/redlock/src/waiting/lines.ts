import { Paced } from "../load/paced.ts";
import type { Ballot } from "../protocol/ballot.ts";
import type { Context } from "../protocol/context.ts";
import { nodeTimeoutFor } from "../settings/settings.ts";
import { Latch } from "../time/cancellation.ts";
import { SharedWork } from "../time/shared-work.ts";
import { GrantListener } from "./grant-listener.ts";
import { Line } from "./line.ts";
import type { Surroundings, WaitEnd, WaitResult } from "./surroundings.ts";
import { TicketClock } from "./ticket-clock.ts";
import { Wait } from "./wait.ts";
import type { WaitingRoom } from "./waiting-room.ts";

/**
 * The time for which a resource counts as contended after a refusal, ms. Calls within it go to the queue
 * without an attempt.
 */
const contendedTime = 1000;
/** The number of calls that have left and settle in one turn of the event loop: each makes an error, with a stack. */
const maxSettledPerTurn = 128;
/** The maximum number of contended resources that are remembered. */
const maxContended = 1000;

/** Where refused calls of a Redlock wait (PROTOCOL 7.15): a line for each list of resources. */
export class Lines implements Surroundings, WaitingRoom {
  readonly context: Context;
  readonly grantListener: GrantListener;
  readonly clock: TicketClock;
  readonly departures: Paced;
  readonly #lines = new Map<string, Line>();
  /** The end of that time by the monotonic clock, ms. */
  readonly #contended = new Map<string, number>();
  /** Waits need open subscriptions, and the time of the masters. */
  #preparation: { readonly opening: Promise<void>; readonly work: SharedWork } | undefined;

  constructor(context: Context, driftFactor: number) {
    this.context = context;
    this.clock = new TicketClock(context, driftFactor);
    this.grantListener = new GrantListener(context);
    this.departures = new Paced(maxSettledPerTurn, context.runtime);
  }

  isContended(resources: readonly string[]): boolean {
    if (this.#contended.size === 0) return false;
    const now = this.context.runtime.monotonic();
    return resources.some((resource) => (this.#contended.get(resource) ?? 0) > now);
  }

  onRefused(resources: readonly string[]): void {
    const until = this.context.runtime.monotonic() + contendedTime;
    for (const resource of resources) {
      this.#contended.delete(resource);
      this.#contended.set(resource, until);
    }
    while (this.#contended.size > maxContended) {
      this.#contended.delete(this.#contended.keys().next().value!);
    }
  }

  wait(ballot: Ballot, end: WaitEnd, call: number): Promise<WaitResult> {
    const { resources, ttl, settings } = ballot.request;
    // A call that ends meanwhile joins as well: it leaves the line at once, with what others there were told.
    const prepared = this.#prepare().within(nodeTimeoutFor(ttl, settings));
    return new Promise((resolve) => {
      void end.ended.race(prepared).then(() => {
        const line = this.#lineFor(resources);
        line.join(new Wait(this, line, call, ballot, { end, resolve }));
      });
    });
  }

  #prepare(): SharedWork {
    const { clock, context } = this;
    if (!this.#preparation || clock.mustAsk) {
      const opening = this.#preparation?.opening ?? this.grantListener.open();
      const done = new Latch();
      void Promise.all([opening, clock.read()]).then(() => done.end());
      const work = new SharedWork(context.runtime, done);
      this.#preparation = { opening, work };
    } else if (clock.isOld) void clock.read();
    return this.#preparation.work;
  }

  #lineFor(resources: readonly string[]): Line {
    const key = JSON.stringify([...resources].sort());
    let line = this.#lines.get(key);
    if (!line) {
      line = new Line(this, () => this.#lines.delete(key));
      this.#lines.set(key, line);
    }
    return line;
  }
}
