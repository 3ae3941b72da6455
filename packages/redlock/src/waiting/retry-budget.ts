import type { Lateness } from "../load/admission.ts";
import type { Attempt } from "../protocol/attempt.ts";
import { contentionIn } from "../protocol/quorum.ts";
import { pauseBetween, pauseUntilGone } from "../settings/backoff.ts";
import type { Settings } from "../settings/settings.ts";
import { Cancellation } from "../time/cancellation.ts";
import { maxTimerDelay, type Runtime, type Timer } from "../time/runtime.ts";

/**
 * The minimum part of a retry that a shortened pause counts for. Without it, short locks would be requested
 * without end.
 */
const minRetryCost = 0.1;
/** The maximum number of retries for which the backoff function is called in advance. */
const maxBackoffCalls = 100;

/** Whether a refused call waits at all. */
export function mayWait({ retryCount, waitTimeout }: Settings): boolean {
  return waitTimeout === undefined ? retryCount !== 0 : waitTimeout > 0;
}

/** The remaining retries of an acquire, or its remaining time if `waitTimeout` is set (PROTOCOL 1.10). */
export class RetryBudget {
  /** Cancelled when the time is over or the caller cancels. */
  readonly ended: Cancellation = new Cancellation();
  /** The lateness of extensions, if the call ended while new locks were held back. */
  lateness: Lateness | undefined;
  readonly #runtime: Runtime;
  readonly #settings: Settings;
  readonly #startedAt: number;
  #timer: Timer | undefined;
  #attempts = 0;
  #retries = 0;
  /** Since `useTimeLimit`: the start, by the monotonic clock, and the mean time of a retry. */
  #waitingSince = 0;
  #pause = 0;

  /** `startedAt`: the time of the call, by the monotonic clock. */
  constructor(runtime: Runtime, settings: Settings, cancellation: Cancellation, startedAt: number) {
    this.#runtime = runtime;
    this.#settings = settings;
    this.#startedAt = startedAt;
    cancellation.onCancel(() => this.ended.cancel(cancellation.reason!));
    const { waitTimeout } = settings;
    if (waitTimeout === undefined) return;
    const left = startedAt + waitTimeout - runtime.monotonic();
    if (left > 0) this.#endAfter(left);
    else this.ended.cancel(timeIsOver());
  }

  /**
   * From here on the call waits without retrying: the remaining retries count as the time they would take.
   */
  useTimeLimit(): void {
    const { retryCount, waitTimeout, retryDelay } = this.#settings;
    this.#waitingSince = this.#runtime.monotonic();
    this.#pause = retryDelay;
    if (this.#timer || waitTimeout !== undefined || retryCount === -1) return;
    const retries = Math.max(0, retryCount - this.#retries);
    // A backoff may grow: it is called for the first retries, and the others count like the last of these.
    const asked = this.#settings.backoff ? Math.min(Math.ceil(retries), maxBackoffCalls) : 0;
    let left = 0;
    let pause = retryDelay;
    for (let retry = 0; retry < asked; retry += 1) {
      this.#attempts += 1;
      pause = pauseBetween(this.#settings, this.#runtime, this.#attempts);
      left += pause;
    }
    left += (retries - asked) * pause;
    this.#pause = left / Math.max(1, retries);
    this.#endAfter(left);
  }

  /** The number of retries that the time since `useTimeLimit` is worth. */
  get retriesWaited(): number {
    const { retryCount, waitTimeout } = this.#settings;
    const isLimited = waitTimeout === undefined && retryCount !== -1;
    const limit = isLimited ? Math.ceil(retryCount - this.#retries) : Number.POSITIVE_INFINITY;
    const waited = this.#runtime.monotonic() - this.#waitingSince;
    return this.#pause > 0 ? Math.min(limit, Math.round(waited / this.#pause)) : limit;
  }

  /** The pause before the next attempt, ms; `undefined` if there are no further attempts. */
  pauseAfter(last: Attempt): number | undefined {
    const { retryCount, waitTimeout } = this.#settings;
    const timed = waitTimeout !== undefined;
    const left = timed ? this.#startedAt + waitTimeout - this.#runtime.monotonic() : Number.POSITIVE_INFINITY;
    if (left <= 0 || (!timed && retryCount !== -1 && this.#retries >= retryCount)) return undefined;
    this.#attempts += 1;
    const pause = pauseBetween(this.#settings, this.#runtime, this.#attempts);
    // The last attempt begins when the time is over, not earlier: the lock may be released until then.
    const shortened = Math.min(pause, this.#freeAfter(last), left);
    this.#retries += pause > 0 ? Math.max(shortened / pause, minRetryCost) : 1;
    return shortened;
  }

  end(): void {
    this.#timer?.cancel();
  }

  #endAfter(delay: number): void {
    // Longer than the maximum timer delay: in practice, no limit.
    if (delay > maxTimerDelay) return;
    this.#timer = this.#runtime.setTimer(() => this.ended.cancel(timeIsOver()), Math.ceil(delay));
  }

  /** No pause is longer than the remaining time of the lock that is in the way. */
  #freeAfter(last: Attempt): number {
    const { freeIn, kind } = contentionIn(last.round.answers);
    if (kind === "unavailable") return Number.POSITIVE_INFINITY;
    return pauseUntilGone(freeIn, this.#runtime);
  }
}

function timeIsOver(): Error {
  return new Error("the time to wait is over");
}
