import type { LockSettings } from "../plan/plan.ts";

/**
 * How long each call may take by its own settings, ms: what the client's documentation says, and where that gives
 * a number of attempts, what those can add up to.
 */
export class Bounds {
  protected readonly settings: LockSettings;
  readonly nodeTimeout: number;

  constructor(settings: LockSettings) {
    this.settings = settings;
    const { ttl } = settings;
    // The client's default, as its documentation gives it.
    this.nodeTimeout = settings.nodeTimeout ?? Math.min(Math.max(ttl / 20, 50), 500, Math.max(1, ttl / 4));
  }

  get acquire(): number {
    const { waitTimeout, retryCount, retryDelay, retryJitter } = this.settings;
    if (waitTimeout !== undefined) return waitTimeout + this.#rounds(1) + this.#guard;
    return (retryCount + 1) * (this.tryAcquire + retryDelay + retryJitter);
  }

  /** Before the first vote the restart guard asks all masters. */
  get #guard(): number {
    return this.settings.restartGuard ? (this.settings.nodeTimeout ?? 500) + 2 : 0;
  }

  /** Votes that are split are taken again, up to 8 times. */
  get tryAcquire(): number {
    return 9 * this.#rounds(1) + 8 * Math.max(this.settings.retryDelay, 50) + this.#guard;
  }

  get extend(): number {
    const { retryCount, retryDelay, retryJitter } = this.settings;
    return (retryCount + 1) * (this.#rounds(1) + retryDelay + retryJitter);
  }

  get release(): number {
    return this.#rounds(1);
  }

  /** Whatever is under way rolls back first; then masters are left, which takes one more. */
  get quit(): number {
    return this.#rounds(1) + 2 * Math.max(500, this.nodeTimeout);
  }

  /** A round, one that stores its fencing token, and its roll-back. A busy process gives answers one more turn. */
  #rounds(count: number): number {
    return count * ((this.settings.fencing ? 3 : 2) * this.nodeTimeout + 2);
  }
}
