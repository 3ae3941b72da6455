import { type CallSettings, type LockSettings, pauseLimit } from "../plan/plan.ts";

/** A busy process gives answers one more turn, ms. */
const turn = 2;
/** The client's default for what has no ttl, ms. */
const defaultNodeTimeout = 500;

/**
 * How long each call may take by its own settings, ms: what the client's documentation says, and where that gives
 * a number of attempts, what those can add up to. Nothing that other callers have set is in it.
 */
export class Bounds {
  protected readonly settings: LockSettings & CallSettings;
  readonly nodeTimeout: number;

  constructor(settings: LockSettings & CallSettings) {
    this.settings = settings;
    const { ttl } = settings;
    // The client's default, as its documentation gives it.
    this.nodeTimeout =
      settings.nodeTimeout ?? Math.min(Math.max(ttl / 20, 50), defaultNodeTimeout, Math.max(1, ttl / 4));
  }

  get acquire(): number {
    const { waitTimeout, retryCount } = this.settings;
    if (waitTimeout !== undefined) return waitTimeout + this.attempt + this.round + this.#guard;
    return (retryCount + 1) * this.tryAcquire + this.pauses(retryCount);
  }

  /** Votes that are split are taken again, up to 8 times. */
  get tryAcquire(): number {
    return 9 * this.attempt + this.round + 8 * Math.max(this.settings.retryDelay, 50) + this.#guard;
  }

  get extend(): number {
    const { retryCount } = this.settings;
    return (retryCount + 1) * this.round + this.pauses(retryCount);
  }

  get release(): number {
    return this.round;
  }

  /** Calls in flight roll back first; leaving the masters takes one `nodeTimeout` more. By the settings of the constructor. */
  get quit(): number {
    return 2 * ((this.settings.nodeTimeout ?? defaultNodeTimeout) + turn);
  }

  /** A round, and one that stores its fencing token. */
  protected get attempt(): number {
    return (this.settings.fencing ? 2 : 1) * this.round;
  }

  /** Masters are asked once: to verify a lock, behind what is still on its way to detach it, to leave the queues, to roll back. */
  get round(): number {
    return this.nodeTimeout + turn;
  }

  /** Before the first vote the restart guard asks all masters. */
  get #guard(): number {
    return this.settings.restartGuard ? (this.settings.nodeTimeout ?? defaultNodeTimeout) + turn : 0;
  }

  protected pauses(count: number, jitter: number = this.settings.retryJitter): number {
    const { backoff, retryDelay } = this.settings;
    if (!backoff) return count * (retryDelay + jitter);
    let sum = 0;
    for (let attempt = 1; attempt <= count; attempt += 1) sum += pauseLimit(backoff, attempt);
    return sum;
  }
}
