import { extend, retryFraction } from "../protocol/extend.ts";
import type { Lease } from "../protocol/lease.ts";
import { pauseBetween } from "../settings/backoff.ts";
import { ttlWithin } from "../settings/lease-limit.ts";
import type { Settings } from "../settings/settings.ts";
import { maxTimerDelay, randomFraction } from "../time/runtime.ts";
import type { TimerHandle, TimerTask } from "../time/timers.ts";
import { Lock } from "./lock.ts";

/** A renewal is due after this part of the ttl: two more attempts fit in before the lock is at risk. */
const renewalFraction = 1 / 3;
/** The minimum delay between renewals, as a part of the ttl, however little time remains. */
const minDelayFraction = 1 / 10;
/** The maximum delay of a renewal, as a part of the remaining time. */
const maxDelayFraction = 1 / 2;
/**
 * Renewals are spread by up to this part of the delay, so that locks acquired together are not all renewed
 * together.
 */
const jitterFraction = 1 / 10;

/** The maximum part of the ttl by which a renewal is advanced to coincide with others. */
const alignmentFraction = 1 / 100;
/** The maximum time by which it is advanced, ms: thousands of locks should not all be renewed in one turn. */
const maxAlignment = 16;

/**
 * The delay until the next renewal, ms (PROTOCOL 4.4). Never after the threshold or close to the deadline, and never so
 * short that renewals form a busy loop, for any ttl and threshold.
 */
export function renewalDelay(ttl: number, remaining: number, threshold: number, random: number): number {
  // A threshold above the remaining time would mean extending without pause.
  const bounded = Math.min(threshold, ttl * (1 - renewalFraction));
  const wanted = Math.min(ttl * renewalFraction, remaining - bounded) * (1 - random * jitterFraction);
  const delay = Math.max(wanted, ttl * minDelayFraction);
  return Math.min(delay, remaining * maxDelayFraction, maxTimerDelay);
}

/**
 * Rounds a due time down, so that renewals due at nearly the same time start, and are sent, together. The
 * steps are powers of two, so locks with different ttls coincide as well.
 */
export function aligned(due: number, ttl: number): number {
  const step = Math.min(2 ** Math.floor(Math.log2(ttl * alignmentFraction)), maxAlignment);
  return Math.floor(due / step) * step;
}

/** Keeps a lock extended until it is stopped, has ended, or reaches its limit. */
export class Renewal implements TimerTask {
  readonly mayWait = true;
  readonly #lock: Lock;
  readonly #ttl: number;
  readonly #settings: Settings;
  #timerHandle: TimerHandle | undefined;
  #stopped = false;
  /** The number of renewals in a row without a quorum. */
  #failures = 0;

  constructor(lock: Lock, ttl: number, settings: Settings) {
    this.#lock = lock;
    this.#ttl = ttl;
    this.#settings = settings;
    this.#lease.renewals += 1;
    this.#schedule();
  }

  get #lease(): Lease {
    return Lock.leaseOf(this.#lock);
  }

  /** Starts no further renewal. */
  stop(): void {
    this.#stopped = true;
    this.#lease.renewals -= 1;
    this.#lease.context.timers.cancel(this.#timerHandle);
  }

  /** After failures the next attempt, until the deadline: `retryCount` only applies to callers that wait for the outcome. */
  #schedule(): void {
    if (this.#stopped || this.#lock.remaining() === 0) return;
    const { runtime, clock, timers } = this.#lease.context;
    const { automaticExtensionThreshold } = this.#settings;
    const remaining = this.#lease.remaining();
    const now = clock.now();
    let due: number;
    if (this.#failures > 0) due = now + Math.min(this.#retryPause(), remaining * retryFraction);
    else {
      const delay = renewalDelay(this.#ttl, remaining, automaticExtensionThreshold, randomFraction(runtime));
      // At least 1 ms from now: near the limit, extensions are skipped and would take no time.
      due = Math.max(aligned(now + delay, this.#ttl), now + 1);
    }
    this.#timerHandle = timers.add(due, this);
  }

  #retryPause(): number {
    try {
      return pauseBetween(this.#settings, this.#lease.context.runtime, this.#failures);
    } catch {
      // The user's backoff threw, and no caller waits for the error.
      return Number.POSITIVE_INFINITY;
    }
  }

  /** @internal */
  onDue(): void {
    void this.#renew(this.#timerHandle!.due);
  }

  async #renew(due: number): Promise<void> {
    const lease = this.#lease;
    if (this.#lock.remaining() === 0) return;
    const { limit } = this.#lock;
    // The lease lasts longer already if the routine has extended it, or if the limit is near.
    const isNeeded = ttlWithin(limit, this.#ttl, lease.context.clock.now()) > lease.remaining();
    const settings = { ...this.#settings, retryCount: 0, limit };
    // If the lease has ended, it has notified its holder.
    const extended = isNeeded ? extend(lease, this.#ttl, settings, due) : Promise.resolve();
    this.#failures = await extended.then(
      () => 0,
      () => this.#failures + 1,
    );
    this.#schedule();
  }
}
