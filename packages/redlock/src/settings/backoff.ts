import { InvalidArgumentError } from "../errors.ts";
import { outside } from "../time/async-context.ts";
import { type Runtime, randomFraction } from "../time/runtime.ts";
import { checkOptions } from "./options.ts";
import { checkNumber, milliseconds, shown } from "./ranges.ts";
import type { Backoff, Settings } from "./settings.ts";

/** The maximum number of retries for which the backoff function is called in advance. */
const maxBackoffCalls = 100;

/** A key is gone only when its time is *over*; and waiters for the same key should not all ask at the same moment. */
const expiryMargin = 1;
const expiryJitter = 5;

const growth = { minimum: 1, maximum: Number.MAX_SAFE_INTEGER, what: "a number, 1 or more" };

/**
 * A constant backoff of `delay` ms, plus or minus up to `jitter` ms: `retryDelay` and `retryJitter` of redlock 5.
 * @throws InvalidArgumentError immediately, if they are not milliseconds.
 * @example
 * ```ts
 * new Redlock(clients, { backoff: fixedBackoff(100, 20) }); // 80 to 120 ms
 * ```
 */
export function fixedBackoff(delay: number, jitter = 0): Backoff {
  checkNumber("delay", delay, milliseconds);
  checkNumber("jitter", jitter, milliseconds);
  return ({ random }) => Math.max(0, delay + (random * 2 - 1) * jitter);
}

export interface ExponentialBackoffOptions {
  /** Upper bound of the first wait, ms. Default 10. */
  readonly initial?: number | undefined;
  /** Upper bound of every wait, ms. Default 1000. */
  readonly maximum?: number | undefined;
  /** The factor by which the bound grows with each attempt, 1 or more. Default 2. */
  readonly factor?: number | undefined;
}

/**
 * Waits a random time below a bound that grows with each attempt ("full jitter").
 * @throws InvalidArgumentError immediately, if an option is unknown or out of range.
 * @example
 * ```ts
 * new Redlock(clients, { backoff: exponentialBackoff({ initial: 20, maximum: 2_000 }) });
 * ```
 */
export function exponentialBackoff(options?: ExponentialBackoffOptions): Backoff {
  checkOptions(options, "exponentialBackoff");
  const { initial = 10, maximum = 1000, factor = 2 } = options ?? {};
  checkNumber("initial", initial, milliseconds);
  checkNumber("maximum", maximum, milliseconds);
  checkNumber("factor", factor, growth);
  // The power may be infinite, and 0 times that is no number.
  return ({ attempt, random }) =>
    initial === 0 ? 0 : random * Math.min(maximum, initial * factor ** (attempt - 1));
}

/** The pause after attempt number `attempt`, by the settings: always finite, since pauses are multiplied and divided. */
export function pauseBetween(settings: Settings, runtime: Runtime, attempt: number): number {
  const backoff = settings.backoff ?? fixedBackoff(settings.retryDelay, settings.retryJitter);
  const pause = outside(() => backoff({ attempt, random: randomFraction(runtime) }));
  if (typeof pause === "number" && pause >= 0) return Math.min(pause, milliseconds.maximum);
  throw new InvalidArgumentError(`backoff must return milliseconds, 0 or more, but returned ${shown(pause)}`);
}

/** The time that `retries` retries take after the first `attempts`, ms. */
export function timeOfRetries(
  settings: Settings,
  runtime: Runtime,
  retries: number,
  attempts: number,
): number {
  const { backoff, retryDelay } = settings;
  // A backoff may grow: it is called for the first retries, and the others count like the last of these.
  const asked = backoff ? Math.min(Math.ceil(retries), maxBackoffCalls) : 0;
  let time = 0;
  let pause = retryDelay;
  for (let retry = 1; retry <= asked; retry += 1) {
    pause = pauseBetween(settings, runtime, attempts + retry);
    time += pause;
  }
  return time + (retries - asked) * pause;
}

/** The maximum time that a call may wait without retrying, ms: its retries count as the time that they would take. */
export function maxWaitOf(settings: Settings, runtime: Runtime): number {
  const { waitTimeout, retryCount } = settings;
  if (waitTimeout !== undefined) return waitTimeout;
  return retryCount === -1 ? Number.POSITIVE_INFINITY : timeOfRetries(settings, runtime, retryCount, 0);
}

/** The pause until a key with `freeIn` ms left has expired, unless it is extended. */
export function pauseUntilGone(freeIn: number, runtime: Runtime): number {
  return freeIn + expiryMargin + randomFraction(runtime) * expiryJitter;
}
