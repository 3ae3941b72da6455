import { extend, retryFraction } from "../protocol/extend.ts";
import type { Lease } from "../protocol/lease.ts";
import { pauseBetween } from "../settings/backoff.ts";
import { ttlWithin } from "../settings/lease-limit.ts";
import type { Settings } from "../settings/settings.ts";
import { maxTimerDelay, randomFraction } from "../time/runtime.ts";
import type { TimerHandle, TimerTask } from "../time/timers.ts";
import { Lock } from "./lock.ts";

/** A renewal is due when this part of the ttl has passed: two more can fail before the lock is in danger. */
const renewalFraction = 1 / 3;
/** However short the time left: not more often than after this part of the ttl. */
const leastFraction = 1 / 10;
/** Not later than when this part of what is left has passed. */
const latestFraction = 1 / 2;
/** Many locks that were taken together are renewed a little apart: up to this part earlier. */
const jitterFraction = 1 / 10;

/** To go out with others a renewal comes earlier by less than this part of the ttl. */
const earliestFraction = 1 / 100;
/** And by less than this, ms: thousands of locks should not all be renewed in one turn. */
const longestStep = 16;

/**
 * When the next renewal is due, ms from now (PROTOCOL 4.4). Never later than the threshold demands or when the deadline is
 * near, and never in a hot loop, whatever ttl and threshold are.
 */
export function renewalDelay(ttl: number, remaining: number, threshold: number, random: number): number {
  // A threshold that leaves no time before it would mean to extend without end.
  const bounded = Math.min(threshold, ttl * (1 - renewalFraction));
  const wished = Math.min(ttl * renewalFraction, remaining - bounded) * (1 - random * jitterFraction);
  const delay = Math.max(wished, ttl * leastFraction);
  return Math.min(delay, remaining * latestFraction, maxTimerDelay);
}

/**
 * The same moment for what is due at nearly the same time, a little earlier: extensions that begin together go out
 * together. Powers of two, so that what locks of different ttls have come to is the same as well.
 */
export function together(due: number, ttl: number): number {
  const step = Math.min(2 ** Math.floor(Math.log2(ttl * earliestFraction)), longestStep);
  return Math.floor(due / step) * step;
}

/** Keeps a lock extended until it is stopped, has ended, or was held for as long as it may. */
export class Renewal implements TimerTask {
  readonly mayWait = true;
  readonly #lock: Lock;
  readonly #ttl: number;
  readonly #settings: Settings;
  #next: TimerHandle | undefined;
  #stopped = false;
  /** Renewals in a row that no quorum confirmed. */
  #failures = 0;

  constructor(lock: Lock, ttl: number, settings: Settings) {
    this.#lock = lock;
    this.#ttl = ttl;
    this.#settings = settings;
    this.#timers();
  }

  get #lease(): Lease {
    return Lock.leaseOf(this.#lock);
  }

  /** No further renewal begins. */
  stop(): void {
    this.#stopped = true;
    this.#lease.context.timers.cancel(this.#next);
  }

  #timers(): void {
    if (this.#stopped || this.#lock.remaining() === 0) return;
    const remaining = this.#lease.remaining();
    const { runtime, clock, timers } = this.#lease.context;
    const { automaticExtensionThreshold } = this.#settings;
    const delay = renewalDelay(this.#ttl, remaining, automaticExtensionThreshold, randomFraction(runtime));
    const now = clock.now();
    // (After now in any case: where the time to hold it is nearly over nothing is sent that would take time.)
    const due = Math.max(together(now + delay, this.#ttl), now + 1);
    this.#next = timers.add(due, this);
  }

  /** Until the deadline decides: `retryCount` is for those who wait for the outcome. */
  #scheduleRetry(): void {
    if (this.#stopped || this.#lock.remaining() === 0) return;
    const remaining = this.#lease.remaining();
    this.#failures += 1;
    const { clock, timers } = this.#lease.context;
    this.#next = timers.add(clock.now() + Math.min(this.#pause(), remaining * retryFraction), this);
  }

  #pause(): number {
    try {
      return pauseBetween(this.#settings, this.#lease.context.runtime, this.#failures);
    } catch {
      // The user's backoff has failed, and nobody waits who could be told.
      return Number.POSITIVE_INFINITY;
    }
  }

  /** @internal */
  onDue(): void {
    void this.#renew(this.#next!.due);
  }

  async #renew(due: number): Promise<void> {
    const lease = this.#lease;
    if (this.#lock.remaining() === 0) return;
    const { limit } = this.#lock;
    // It has more where the routine has extended it further itself, or where the time to hold it is nearly over.
    if (ttlWithin(limit, this.#ttl, lease.context.clock.now()) > lease.remaining()) {
      try {
        await extend(lease, this.#ttl, { ...this.#settings, retryCount: 0, limit }, due);
      } catch {
        // Where it has ended the lease has told whoever needs to know.
        this.#scheduleRetry();
        return;
      }
    }
    this.#failures = 0;
    this.#timers();
  }
}
