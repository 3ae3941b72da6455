import type { Paced } from "../load/paced.ts";
import type { Context } from "../protocol/context.ts";
import type { Lease } from "../protocol/lease.ts";
import type { Contention } from "../protocol/quorum.ts";
import type { Latch } from "../time/cancellation.ts";
import type { GrantListener } from "./grant-listener.ts";
import type { TicketClock } from "./ticket-clock.ts";

/**
 * The result of waiting. Without a lease: the masters' latest answers, if any, or the error of the user's
 * backoff.
 */
export interface WaitResult {
  readonly lease?: Lease | undefined;
  readonly contention?: Contention | undefined;
  readonly error?: unknown;
}

/** The end of a call's wait. `dueAt`: when its time is over, by the monotonic clock. */
export interface WaitEnd {
  readonly ended: Latch;
  readonly dueAt: number;
}

/** The calls that wait. */
export interface Caller {
  readonly end: WaitEnd;
  readonly resolve: (result: WaitResult) => void;
}

/** Shared by all lines of a Redlock. */
export interface Surroundings {
  readonly context: Context;
  readonly grantListener: GrantListener;
  readonly clock: TicketClock;
  /** Settles calls that have left: thousands may leave in one turn. */
  readonly departures: Paced;
  /** Others hold one of the resources. */
  onRefused(resources: readonly string[]): void;
}
