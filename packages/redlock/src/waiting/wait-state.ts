import type { Latch } from "../time/cancellation.ts";
import type { Timer } from "../time/runtime.ts";

/**
 * The next step of a waiting ballot. Times are by the monotonic clock, ms.
 *
 * - `behind`: others of its line are in the queues.
 * - `asking`: a round is under way that no quorum has answered. The next one begins then, and not before `again`.
 * - `heard`: a quorum has answered. The next round begins at `again`.
 * - `away`: it has left the queues, and enters them again when the timer fires, which is set once they are left.
 * - `fencing`: a quorum has voted, and stores the fencing token. No other round begins.
 * - `over`: granted, or given up.
 */
export type WaitState =
  | { readonly is: "behind" }
  | { readonly is: "asking"; again: number }
  | { readonly is: "heard"; readonly again: number; readonly timer: Timer }
  | { readonly is: "away"; timer: Timer | undefined }
  | { readonly is: "fencing"; readonly ended: Latch }
  | { readonly is: "over" };

export const wheneverWoken: number = Number.POSITIVE_INFINITY;
export const atOnce: number = Number.NEGATIVE_INFINITY;
