import { contentionIn, ownersIn, type Tally } from "../protocol/quorum.ts";
import type { LockRequest } from "../protocol/request.ts";
import { isOfWaiter } from "../protocol/token.ts";
import { pauseBetween, pauseUntilGone } from "../settings/backoff.ts";
import { nodeTimeoutFor } from "../settings/settings.ts";
import { maxTimerDelay, type Runtime } from "../time/runtime.ts";

/**
 * The interval between two rounds of a queue entry: this part of the ttl, within the bounds below, ms. A
 * quarter leaves time for a lost round before the granted keys expire; 250 ms bounds the load of short locks,
 * 1 s the delay after a crashed queue head.
 */
const heartbeatFraction = 1 / 4;
const minHeartbeat = 250;
const maxHeartbeat = 1000;
/** The number of heartbeats that an entry lives without renewal: two may be lost. */
const entryTtlInHeartbeats = 3;

/** The time between two rounds of a waiter that nothing wakes, ms (PROTOCOL 7.11). */
export function heartbeatOf({ ttl, minHeartbeat: wanted = 0 }: LockRequest): number {
  return Math.max(wanted, Math.min(maxHeartbeat, Math.max(minHeartbeat, ttl * heartbeatFraction)));
}

/** How long a queue entry lives unless it is renewed, ms. */
export function entryTtlOf(request: LockRequest): number {
  return Math.ceil(
    heartbeatOf(request) * entryTtlInHeartbeats + nodeTimeoutFor(request.ttl, request.settings),
  );
}

/** The time that votes of other masters may take behind the first one, ms. */
export function splitTimeOf(request: LockRequest): number {
  return Math.min(nodeTimeoutFor(request.ttl, request.settings), heartbeatOf(request));
}

/**
 * The pause after these answers, ms. Grants are pushed if all masters are listened to and all owners use the queue; otherwise
 * the masters are asked again.
 */
export function pauseAfter(
  answers: Tally,
  request: LockRequest,
  rounds: number,
  isListening: boolean,
  runtime: Runtime,
): number {
  const heartbeat = heartbeatOf(request);
  const isNotified = isListening && ownersIn(answers).every(isOfWaiter);
  const interval = isNotified ? heartbeat : pauseBetween(request.settings, runtime, rounds);
  const pause = Math.min(heartbeat, interval, pauseUntilGone(contentionIn(answers).freeIn, runtime));
  return Math.max(pause, request.minHeartbeat ?? 0);
}

/** As a timer takes it. */
export function wholeDelay(delay: number): number {
  return Math.min(Math.ceil(delay), maxTimerDelay);
}
