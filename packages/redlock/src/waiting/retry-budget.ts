import type { Lateness } from "../load/admission.ts";
import { contentionIn, type Tally } from "../protocol/quorum.ts";
import type { LockRequest } from "../protocol/request.ts";
import { lateTimerThreshold } from "../protocol/round.ts";
import { pauseBetween, pauseUntilGone, timeOfRetries } from "../settings/backoff.ts";
import type { Settings } from "../settings/settings.ts";
import { Latch } from "../time/cancellation.ts";
import { maxTimerDelay, type Runtime, type Timer } from "../time/runtime.ts";

/**
 * The minimum part of a retry that a shortened pause counts for. Without it, short locks would be requested
 * without end.
 */
const minRetryCost = 0.1;

/**
 * The part of a given `nodeTimeout` that the wait for admission may take; the rest is left for the round
 * (PROTOCOL 12.10).
 */
const admissionFraction = 3 / 4;
/**
 * The time that a call without a `nodeTimeout` may wait for admission, ms: the same for every ttl, since the wait depends
 * on the number of calls. It begins again with each round that masters answer: then this process or they are busy, and
 * the line advances. The round that follows has the default `nodeTimeout` besides.
 */
const defaultAdmissionTime = 500;
/** The maximum of that, ms. */
const maxAdmissionTime = 2000;
/**
 * As a part of a wait for admission: an event loop that was blocked for longer took the time in which others could have
 * ended their rounds.
 */
const stalledFraction = 1 / 10;

/** Whether a refused call waits at all. */
export function mayWait({ retryCount, waitTimeout }: Settings): boolean {
  return waitTimeout === undefined ? retryCount !== 0 : waitTimeout > 0;
}

/** The remaining retries of an acquire, or its remaining time if `waitTimeout` is set (PROTOCOL 1.10). */
export class RetryBudget {
  /** Ends when the time is over or the caller cancels. */
  readonly ended: Latch = new Latch();
  /** The lateness of extensions, if the call ended while new locks were held back. */
  lateness: Lateness | undefined;
  readonly #runtime: Runtime;
  readonly #settings: Settings;
  readonly #startedAt: number;
  /** The timer that ends it when its time is over. */
  #end: { readonly timer: Timer; readonly dueAt: number } | undefined;
  #attempts = 0;
  #retries = 0;
  /** Since the beginning of a wait without retries: the time, by the monotonic clock, and the mean time of a retry. */
  #waitingSince = 0;
  #pause = 0;
  /** The time that the call may wait for admission before that counts as retries, ms. */
  #admissionTime: number;
  /** The time by which the masters' answers may still prolong that, ms. */
  #admissionReserve: number;

  /** `startedAt`: the time of the call, by the monotonic clock. */
  constructor(runtime: Runtime, settings: Settings, cancellation: Latch, startedAt: number) {
    this.#runtime = runtime;
    this.#settings = settings;
    this.#startedAt = startedAt;
    const { nodeTimeout } = settings;
    this.#admissionTime = nodeTimeout === undefined ? defaultAdmissionTime : nodeTimeout * admissionFraction;
    this.#admissionReserve = nodeTimeout === undefined ? maxAdmissionTime - defaultAdmissionTime : 0;
    cancellation.onEnd(() => this.ended.end());
    const { waitTimeout } = settings;
    if (waitTimeout === undefined) return;
    const left = startedAt + waitTimeout - runtime.monotonic();
    // PROTOCOL 1.10: a call whose time is over waits no more.
    if (left > 0) this.#endAfter(left);
    else this.ended.end();
  }

  /** From here on the call waits without retrying: the remaining retries count as the time they would take. */
  useTimeLimit(): void {
    this.#limitWait(0);
  }

  /**
   * The call waits for admission: for the rest of its time for that, and for the time that its retries would take. `answeredAt`:
   * when masters have last answered this client, by the monotonic clock.
   */
  startAdmissionWait(answeredAt: () => number): void {
    this.#limitWait(this.#admissionTime, answeredAt);
  }

  /** The call is admitted: what it waited beyond its time for that counts as retries. */
  endAdmissionWait(): void {
    if (!this.#isCounted) return;
    this.#end?.timer.cancel();
    this.#end = undefined;
    const waited = this.#runtime.monotonic() - this.#waitingSince;
    if (this.#pause > 0) this.#retries += Math.max(0, waited - this.#admissionTime) / this.#pause;
    this.#admissionTime = Math.max(0, this.#admissionTime - waited);
  }

  /** New locks are held back because extensions are late: a call that never retries ends. */
  holdBack(): void {
    if (!mayWait(this.#settings)) this.ended.end();
  }

  /**
   * The request of a round that begins now. A call that never retries has a given `nodeTimeout` for admission and
   * round together.
   */
  inTime(request: LockRequest): LockRequest {
    const { settings } = request;
    const { nodeTimeout } = settings;
    if (nodeTimeout === undefined || mayWait(settings)) return request;
    const left = this.#startedAt + nodeTimeout - this.#runtime.monotonic();
    const time = Math.min(nodeTimeout, Math.max(left, nodeTimeout * (1 - admissionFraction)));
    return { ...request, settings: { ...settings, nodeTimeout: time } };
  }

  /** Whether retries limit the call, and not a time or nothing. */
  get #isCounted(): boolean {
    return this.#settings.waitTimeout === undefined && this.#settings.retryCount !== -1;
  }

  #limitWait(admissionTime: number, answeredAt?: () => number): void {
    this.#waitingSince = this.#runtime.monotonic();
    this.#pause = this.#settings.retryDelay;
    if (!this.#isCounted) return;
    const retries = Math.max(0, this.#settings.retryCount - this.#retries);
    const left = timeOfRetries(this.#settings, this.#runtime, retries, this.#attempts);
    this.#pause = left / Math.max(1, retries);
    this.#endAfter(admissionTime + left, admissionTime > 0, answeredAt);
  }

  /** The number of retries that the time since `useTimeLimit` is worth. */
  get retriesWaited(): number {
    const left = Math.ceil(this.#settings.retryCount - this.#retries);
    const limit = this.#isCounted ? left : Number.POSITIVE_INFINITY;
    const waited = this.#runtime.monotonic() - this.#waitingSince;
    return this.#pause > 0 ? Math.min(limit, Math.round(waited / this.#pause)) : limit;
  }

  /** The pause before the next attempt, behind these answers, ms; `undefined` if there are no further attempts. */
  pauseAfter(last: Tally): number | undefined {
    const { retryCount, waitTimeout } = this.#settings;
    const left = this.#startedAt + (waitTimeout ?? Number.POSITIVE_INFINITY) - this.#runtime.monotonic();
    if (left <= 0 || (this.#isCounted && this.#retries >= retryCount)) return undefined;
    this.#attempts += 1;
    const pause = pauseBetween(this.#settings, this.#runtime, this.#attempts);
    const { freeIn, kind } = contentionIn(last);
    // No pause is longer than the remaining time of the lock that is in the way.
    const gone = kind === "unavailable" ? Number.POSITIVE_INFINITY : pauseUntilGone(freeIn, this.#runtime);
    // The last attempt begins when the time is over, not earlier: the lock may be released until then.
    const shortened = Math.min(pause, gone, left);
    this.#retries += pause > 0 ? Math.max(shortened / pause, minRetryCost) : 1;
    return shortened;
  }

  /** When its time is over, as far as that is known now; monotonic, ms. */
  get dueAt(): number {
    return this.#end?.dueAt ?? Number.POSITIVE_INFINITY;
  }

  end(): void {
    this.#end?.timer.cancel();
  }

  /**
   * `mayStall`: a timer that fires late because the event loop was blocked gives the time once more. `answeredAt`: as long
   * as masters answer, the wait for admission takes some of its reserve.
   */
  #endAfter(delay: number, mayStall = false, answeredAt?: () => number): void {
    // Longer than the maximum timer delay: in practice, no limit.
    if (delay > maxTimerDelay) return;
    const dueAt = this.#runtime.monotonic() + delay;
    const timer = this.#runtime.setTimer(() => {
      const now = this.#runtime.monotonic();
      const mayHaveStalled = mayStall && now - dueAt > Math.max(delay * stalledFraction, lateTimerThreshold);
      const sinceAnswer = answeredAt ? now - answeredAt() : Number.POSITIVE_INFINITY;
      const more = Math.min(this.#admissionReserve, defaultAdmissionTime - sinceAnswer);
      if (mayHaveStalled) this.#endAfter(delay, false, answeredAt);
      else if (more > 0) {
        this.#admissionReserve -= more;
        this.#admissionTime += more;
        this.#endAfter(more, false, answeredAt);
      } else this.ended.end();
    }, Math.ceil(delay));
    this.#end = { timer, dueAt };
  }
}
