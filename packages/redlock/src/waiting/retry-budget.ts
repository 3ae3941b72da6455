import type { Lateness } from "../load/admission.ts";
import type { Attempt } from "../protocol/attempt.ts";
import { contentionIn } from "../protocol/quorum.ts";
import { pauseBetween, pauseUntilGone } from "../settings/backoff.ts";
import type { Settings } from "../settings/settings.ts";
import { Cancellation } from "../time/cancellation.ts";
import { maxTimerDelay, type Runtime, type Timer } from "../time/runtime.ts";

/** A pause cut short counts for at least this part of a retry, or short locks would be asked for without end. */
const leastRetry = 0.1;
/** Of so many retries the pauses are asked for one by one. */
const mostAsked = 100;

/** Whether a call that is refused waits at all. */
export function mayWait({ retryCount, waitTimeout }: Settings): boolean {
  return waitTimeout === undefined ? retryCount !== 0 : waitTimeout > 0;
}

/** How much longer to acquire: by a count of retries, or by the time that `waitTimeout` allows. */
export class RetryBudget {
  /** Cancelled when the time is over, or the caller has cancelled. */
  readonly ended: Cancellation = new Cancellation();
  /** Where it ended while nothing new was asked for: how late extensions were. */
  lateness: Lateness | undefined;
  readonly #runtime: Runtime;
  readonly #settings: Settings;
  readonly #begun: number;
  #timer: Timer | undefined;
  #attempts = 0;
  #retries = 0;

  /** `begun`: when the call was made, by the monotonic clock. */
  constructor(runtime: Runtime, settings: Settings, cancellation: Cancellation, begun: number) {
    this.#runtime = runtime;
    this.#settings = settings;
    this.#begun = begun;
    cancellation.onCancel(() => this.ended.cancel(cancellation.reason!));
    const { waitTimeout } = settings;
    if (waitTimeout === undefined) return;
    const left = begun + waitTimeout - runtime.monotonic();
    if (left > 0) this.#endAfter(left);
    else this.ended.cancel(timeIsOver());
  }

  /** From here on the turn comes by itself: the retries that are left count as the time that they would take. */
  waitForTurn(): void {
    const { retryCount, waitTimeout } = this.#settings;
    if (this.#timer || waitTimeout !== undefined || retryCount === -1) return;
    const retries = Math.max(0, retryCount - this.#retries);
    // A backoff may grow: it is asked for the first ones, and the others count like the last of these.
    const asked = this.#settings.backoff ? Math.min(Math.ceil(retries), mostAsked) : 0;
    let left = 0;
    let pause = this.#settings.retryDelay;
    for (let retry = 0; retry < asked; retry += 1) {
      this.#attempts += 1;
      pause = pauseBetween(this.#settings, this.#runtime, this.#attempts);
      left += pause;
    }
    this.#endAfter(left + (retries - asked) * pause);
  }

  /** How long to wait before the next attempt, ms; `undefined` when there is to be none. */
  pauseAfter(last: Attempt): number | undefined {
    const { retryCount, waitTimeout } = this.#settings;
    const timed = waitTimeout !== undefined;
    const left = timed ? this.#begun + waitTimeout - this.#runtime.monotonic() : Number.POSITIVE_INFINITY;
    if (left <= 0 || (!timed && retryCount !== -1 && this.#retries >= retryCount)) return undefined;
    this.#attempts += 1;
    const pause = pauseBetween(this.#settings, this.#runtime, this.#attempts);
    // The last attempt begins when the time is over, not before: the lock may be freed until then.
    const shortened = Math.min(pause, this.#freeAfter(last), left);
    this.#retries += pause > 0 ? Math.max(shortened / pause, leastRetry) : 1;
    return shortened;
  }

  end(): void {
    this.#timer?.cancel();
  }

  #endAfter(delay: number): void {
    // (A longer one lasts for ever, as far as a timer can tell.)
    if (delay > maxTimerDelay) return;
    this.#timer = this.#runtime.setTimer(() => this.ended.cancel(timeIsOver()), Math.ceil(delay));
  }

  /** No wait is longer than the lock that is in the way can live. */
  #freeAfter(last: Attempt): number {
    const { freeIn, kind } = contentionIn(last.round.answers);
    if (kind === "unavailable") return Number.POSITIVE_INFINITY;
    return pauseUntilGone(freeIn, this.#runtime);
  }
}

function timeIsOver(): Error {
  return new Error("the time to wait is over");
}
