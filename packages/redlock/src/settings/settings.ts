import { InvalidArgumentError } from "../errors.ts";
import { validityLoss } from "../time/lease-clock.ts";
import type { LeaseLimit } from "./lease-limit.ts";
import { checkNumber, milliseconds, type Range } from "./ranges.ts";

/** Returns the pause before the next attempt after a refusal, ms. */
export type Backoff = (refusal: {
  /** The number of attempts so far, 1 at the first call. */
  readonly attempt: number;
  /** A random number in [0, 1), from the injected source. */
  readonly random: number;
}) => number;

export interface ClockWatchOptions {
  /** A master whose clock differs from the median of all by more than this is reported, ms. Default 1000. */
  readonly maxOffset?: number | undefined;
  /**
   * Whether a vote counts only if the clocks read in its own round show that a majority of all masters agree with
   * that master's clock to within `maxOffset`, and its clock has not stepped within `maxTtl`. Any other master counts
   * as unreachable; a quorum is still a majority of all masters. Default false: such a master is reported, and its
   * vote counts.
   */
  readonly exclude?: boolean | undefined;
  /**
   * The longest ttl that any client of these masters requests, ms: a master whose clock has stepped stays excluded
   * for this time. Default: the `maxTtl` of `restartGuard`; without one, the longest ttl that this client has
   * requested.
   */
  readonly maxTtl?: number | undefined;
}

/**
 * How a lock is acquired and kept. Passed to the constructor, or to one call, which then overrides it: there each may be absent, and
 * one that is `undefined` is.
 */
export interface Settings<Absent = never> {
  /** The maximum difference between the rates of any two machines' clocks. Default 0.01, that is 1 %. */
  readonly driftFactor: number | Absent;
  /**
   * The number of retries of `acquire` and `extend` after the first attempt; -1 or `Infinity`: no limit. A pause that is cut
   * short because the lock expires sooner counts in proportion. Default 10.
   */
  readonly retryCount: number | Absent;
  /** The time between two attempts, ms; shorter if the lock is known to expire sooner. Default 200. */
  readonly retryDelay: number | Absent;
  /** The maximum random deviation from `retryDelay`, ms. Default 100. */
  readonly retryJitter: number | Absent;
  /**
   * `using` extends the lock when this much of its time is left at the latest, ms, and in any case when a third of
   * the ttl has passed; so of a long threshold at most two thirds of the ttl count. Default 500.
   */
  readonly automaticExtensionThreshold: number | Absent;
  /**
   * The time one master has to answer, ms. A slower master does not vote; its late vote is rolled back. Extensions
   * and releases wait longer while a master works off more of them than it is sent at a time. Default: a twentieth of
   * the ttl, at least 50 and at most 500, and never above a quarter of the ttl. Raise it for distant masters. A lock with a ttl below 100 ms needs one: most such times were
   * meant in seconds.
   */
  readonly nodeTimeout?: number | undefined;
  /**
   * The maximum wait of `acquire`, ms, the wait for admission (`acquireConcurrency`) included: no attempt begins
   * later, so it settles within this and one `nodeTimeout` (two with `fencing`). Replaces `retryCount`. Default:
   * none, `retryCount` decides.
   */
  readonly waitTimeout?: number | undefined;
  /** Replaces `retryDelay` and `retryJitter`. */
  readonly backoff?: Backoff | undefined;
  /**
   * `acquire` treats a lock with less than this remaining as a failed attempt, ms. Default 0: any remaining time
   * suffices.
   */
  readonly minimumValidity: number | Absent;
  /**
   * `using` lets the lock expire after this time in total, ms, and aborts the routine's signal. It also limits the
   * extensions that the routine makes. In a nested `using` (`reentrant`) only the inner handle ends, and those nested
   * in it. Default: none.
   */
  readonly maxHoldTime?: number | undefined;
  /** @internal No extension requests more than this has left: the limit of the handle that extends. */
  readonly limit?: LeaseLimit | undefined;
  /** @internal The longest allowed ttl: set by `restartGuard`. */
  readonly maxTtl?: number | undefined;
}

export const defaultSettings: Settings = Object.freeze({
  driftFactor: 0.01,
  retryCount: 10,
  retryDelay: 200,
  retryJitter: 100,
  automaticExtensionThreshold: 500,
  minimumValidity: 0,
});

const fromOne: Range = { ...milliseconds, minimum: 1, what: "milliseconds, 1 or more" };

const ranges: ReadonlyMap<string, Range> = new Map(
  Object.entries({
    driftFactor: { minimum: 0, maximum: 0.5, what: "a number from 0 to 0.5" },
    retryCount: {
      minimum: -1,
      maximum: Number.POSITIVE_INFINITY,
      integer: true,
      what: "a whole number, 0 or more, or -1 or Infinity for no limit",
    },
    retryDelay: milliseconds,
    retryJitter: milliseconds,
    automaticExtensionThreshold: milliseconds,
    nodeTimeout: fromOne,
    waitTimeout: { ...milliseconds, maximum: Number.POSITIVE_INFINITY },
    minimumValidity: milliseconds,
    maxHoldTime: { ...fromOne, maximum: Number.POSITIVE_INFINITY },
  }),
);

/** The options that the constructor and the calls take. */
export const settingNames: readonly string[] = [...ranges.keys(), "backoff"];

/**
 * Returns `base` with the values of `overrides`; an entry that is `undefined` or `null` counts as absent. Checks each
 * number.
 */
export function settingsFrom(base: Settings, overrides: Partial<Settings<undefined>>): Settings {
  const settings: Record<string, unknown> = { ...base };
  for (const [name, value] of Object.entries(overrides)) {
    if (value === undefined || value === null) continue;
    const range = ranges.get(name);
    if (range) checkNumber(name, value, range);
    else if (name !== "backoff") continue;
    settings[name] = name === "retryCount" && value === Number.POSITIVE_INFINITY ? -1 : value;
  }
  return settings as unknown as Settings;
}

const concurrency: Range = { ...milliseconds, minimum: 1, integer: true, what: "a whole number, 1 or more" };

export function checkConcurrency(value: unknown): void {
  checkNumber("acquireConcurrency", value, concurrency);
}

/** The upper bound: Redis adds the ttl to its clock, and JavaScript numbers are exact up to 2^53. */
const ttlRange: Range = {
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  integer: true,
  what: `a whole number of milliseconds from 1 to ${Number.MAX_SAFE_INTEGER}`,
};

export function checkClockWatch({ maxOffset, maxTtl }: ClockWatchOptions): void {
  if (maxOffset !== undefined) checkNumber("clockWatch.maxOffset", maxOffset, milliseconds);
  if (maxTtl !== undefined) checkTtlRange(maxTtl, "clockWatch.maxTtl");
}

/** Checks a ttl apart from the settings. */
export function checkTtlRange(ttl: unknown, name = "ttl"): asserts ttl is number {
  checkNumber(name, ttl, ttlRange);
}

/** Checks the ttl of an extension, and whether the times that it uses are compatible with it. */
export function checkExtension(ttl: unknown, settings: Settings): asserts ttl is number {
  checkTtlRange(ttl);
  const { maxTtl = ttl } = settings;
  if (ttl > maxTtl) {
    throw new InvalidArgumentError(
      `ttl must not be above the maxTtl of restartGuard, but ${ttl} ms is above ${maxTtl} ms`,
    );
  }
  const loss = validityLoss(ttl, settings.driftFactor);
  checkBelow("the allowance for clock drift", loss, "the ttl", ttl, ttl);
  checkBelow("nodeTimeout", nodeTimeoutFor(ttl, settings), "the ttl minus drift", ttl - loss, ttl);
}

/** Checks the ttl of a lock, and whether the times that its acquire uses are compatible with it. */
export function checkTtl(ttl: unknown, settings: Settings): asserts ttl is number {
  checkExtension(ttl, settings);
  checkIsMeant("ttl", ttl, settings);
  const left = ttl - validityLoss(ttl, settings.driftFactor);
  checkBelow("minimumValidity", settings.minimumValidity, "the ttl minus drift", left, ttl);
}

/** A shorter time is nearly always one in seconds: by default a master would have less than 25 ms to answer. ms. */
const shortTtl = 100;

/** Refuses a short time. Whoever says how long a master has to answer has thought of it. */
export function checkIsMeant(name: string, time: number, { nodeTimeout }: Settings): void {
  if (time >= shortTtl || nodeTimeout !== undefined) return;
  throw new InvalidArgumentError(
    `${name} must be ${shortTtl} ms or more, unless nodeTimeout is given, but is ${time} ms${hintFor(time, name)}`,
  );
}

/** A hint for the error message if the ttl is so short that it may have been meant in seconds; otherwise "". */
export function hintFor(ttl: number, name = "ttl"): string {
  if (ttl >= shortTtl) return "";
  return `; ${name} is in milliseconds, and ${ttl} ms is hardly enough to ask the masters: pass ${ttl * 1000} for ${ttl} s, otherwise ${shortTtl} or more`;
}

/** Checks whether a lock of this ttl can be kept extended; checks the threshold only if the call itself gives one. */
export function checkHolding(ttl: number, settings: Settings, threshold: number | undefined): void {
  checkTtl(ttl, settings);
  checkBelow("automaticExtensionThreshold", threshold ?? 0, "the ttl", ttl);
  const { maxHoldTime = Number.POSITIVE_INFINITY } = settings;
  // Equal to the ttl: a lock that is never extended.
  if (maxHoldTime !== ttl) checkBelow("ttl", ttl, "maxHoldTime", maxHoldTime);
}

/** `ttl`: the ttl of the lock, for the hint if it is short. */
function checkBelow(name: string, value: number, limitName: string, limit: number, ttl?: number): void {
  if (value < limit) return;
  const hint = ttl === undefined ? "" : hintFor(ttl);
  const rounded = Math.round(limit * 100) / 100;
  throw new InvalidArgumentError(
    `${name} must be below ${limitName}, but ${value} ms is not below ${rounded} ms${hint}`,
  );
}

/** The time one master has to answer, ms: much shorter than the ttl (PROTOCOL 2.2). See {@link Settings.nodeTimeout}. */
export function nodeTimeoutFor(ttl: number, settings: Settings): number {
  return settings.nodeTimeout ?? Math.min(Math.max(ttl / 20, 50), 500, Math.max(1, ttl / 4));
}

/** The same for one attempt. */
export function withoutWaiting(settings: Settings): Settings {
  return { ...settings, retryCount: 0, waitTimeout: undefined };
}

/** The number of attempts that `acquire` and `extend` may make. */
export function attemptsAllowed(settings: Settings): number {
  return settings.retryCount === -1 ? Number.POSITIVE_INFINITY : settings.retryCount + 1;
}
