import type { Coordinator } from "./coordinator.ts";
import { extend } from "./extend.ts";
import type { Lease } from "./lease.ts";
import { longestTimer, randomFraction, type Timer } from "./runtime.ts";
import type { Settings } from "./settings.ts";

/** A renewal is due when this part of the ttl has passed: two more can fail before the lock is in danger. */
const renewalFraction = 1 / 3;
/** However short the time left: not more often than after this part of the ttl. */
const leastFraction = 1 / 10;
/** Many locks that were taken together are renewed a little apart: up to this part earlier. */
const jitterFraction = 1 / 10;

/**
 * When the next renewal is due, ms from now. Never later than the threshold demands, and never in a hot loop,
 * whatever ttl and threshold are.
 */
export function renewalDelay(ttl: number, remaining: number, threshold: number, random: number): number {
  const wished = Math.min(ttl * renewalFraction, remaining - threshold) * (1 - random * jitterFraction);
  return Math.min(Math.max(wished, ttl * leastFraction), longestTimer);
}

/** Keeps a lease extended until it is stopped, lost, or held for as long as it may. */
export class Renewal {
  readonly #coordinator: Coordinator;
  readonly #lease: Lease;
  readonly #ttl: number;
  readonly #settings: Settings;
  readonly #holdUntil: number;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(coordinator: Coordinator, lease: Lease, ttl: number, settings: Settings) {
    this.#coordinator = coordinator;
    this.#lease = lease;
    this.#ttl = ttl;
    // Tried again until the deadline decides: `retryCount` is for those who wait for the outcome.
    this.#settings = { ...settings, retryCount: -1 };
    const longest = settings.maxHoldTime ?? Number.POSITIVE_INFINITY;
    this.#holdUntil = coordinator.clock.now() + longest;
    this.#schedule();
  }

  /** No further renewal begins. */
  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  #schedule(): void {
    const remaining = this.#lease.remaining();
    if (this.#stopped || remaining === 0) return;
    const random = randomFraction(this.#coordinator.runtime);
    // A threshold that leaves no time before it would mean to extend without end.
    const threshold = Math.min(this.#settings.automaticExtensionThreshold, this.#ttl * (1 - renewalFraction));
    const delay = renewalDelay(this.#ttl, remaining, threshold, random);
    this.#timer = this.#coordinator.runtime.setTimer(() => void this.#renew(), delay);
    this.#timer.unref();
  }

  async #renew(): Promise<void> {
    // The masters count from when the command arrives: with the whole of what is left of the holding time as
    // ttl the keys could outlive it by the way there. The lease ends in time all the same, by its own count.
    const rest = Math.floor(this.#holdUntil - this.#coordinator.clock.now());
    const ttl = Math.min(this.#ttl, rest);
    if (rest < this.#ttl) this.#lease.limit = `it was held for maxHoldTime, ${this.#settings.maxHoldTime} ms`;
    if (ttl <= this.#lease.remaining()) return;
    try {
      await extend(this.#coordinator, this.#lease, ttl, this.#settings);
    } catch {
      // Lost or released: the lease has told whoever needs to know.
      return;
    }
    this.#schedule();
  }
}
