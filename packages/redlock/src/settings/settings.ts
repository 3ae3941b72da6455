import { InvalidArgumentError } from "../errors.ts";
import { validityLoss } from "../time/validity.ts";
import type { HoldLimit } from "./hold-limit.ts";
import { checkFunction, checkNumber, milliseconds, type Range } from "./ranges.ts";

/** How long to wait before a lock that was refused is asked for again. */
export type Backoff = (refusal: Refusal) => number;

export interface Refusal {
  /** Attempts made so far, 1 at the first call. */
  readonly attempt: number;
  /** A random number in [0, 1), from the injected source. */
  readonly random: number;
}

export interface ClockWatchOptions {
  /** A master whose clock is further than this from the median of all is reported, ms. Default 1000. */
  readonly maxOffset?: number;
  /**
   * Whether a vote counts only where the clocks that were read in its own round show that a majority of all masters
   * agree with that master's to within `maxOffset`, and its clock has not stepped within `maxTtl`. Any other master
   * counts as unreachable; a quorum is still one of all masters. Default false: it is reported, and counts.
   */
  readonly exclude?: boolean;
  /**
   * The longest ttl that any client of these masters asks for, ms: a master that has stepped stays excluded for as
   * long. Default: the `maxTtl` of `restartGuard`; without one the longest ttl that this client has asked for.
   */
  readonly maxTtl?: number | undefined;
}

/** How a lock is asked for and kept. Given to the constructor, or to one call, which then overrides it. */
export interface Settings {
  /** By how much the rates of any two machines' clocks may differ. Default 0.01, that is 1 %. */
  readonly driftFactor: number;
  /**
   * How often `acquire` and `extend` try again after the first time; -1 is without end. A pause that is cut short
   * because the lock expires sooner counts for the part of it that was waited. Default 10.
   */
  readonly retryCount: number;
  /** The time between two attempts, ms; shorter where it is known that the lock expires sooner. Default 200. */
  readonly retryDelay: number;
  /** What is randomly added to or taken off `retryDelay`, ms. Default 100. */
  readonly retryJitter: number;
  /**
   * `using` extends when this much is left at the latest, ms, and in any case when a third of the ttl has passed;
   * so of a long threshold no more than two thirds of the ttl count. Default 500.
   */
  readonly automaticExtensionThreshold: number;
  /**
   * The time one master has to answer, ms. A master that takes longer does not vote; its late answer is undone.
   * Extensions and releases wait for longer, where a master works off more of them than it is sent at a time.
   * Default: a twentieth of the ttl, at least 50 and at most 500, and never above a quarter of the ttl. Raise
   * it for distant masters.
   */
  readonly nodeTimeout?: number | undefined;
  /**
   * How long `acquire` may wait for its turn, ms, a place for its rounds included: no attempt begins later, so it
   * settles within this and one `nodeTimeout` (two with `fencing`). Replaces `retryCount`. Default: none, `retryCount` decides.
   */
  readonly waitTimeout?: number | undefined;
  /** Replaces `retryDelay` and `retryJitter`. */
  readonly backoff?: Backoff | undefined;
  /** `acquire` counts a lock that comes with less than this left as failed, ms. Default 0: any time at all. */
  readonly minimumValidity: number;
  /**
   * `using` lets the lock run out after this time in all, ms, and aborts the routine's signal. It bounds the extensions
   * of the routine as well. Of a nested `using` (`reentrant`) only the inner handle ends, and those inside of it.
   * Default: none.
   */
  readonly maxHoldTime?: number | undefined;
  /** @internal A vote counts only where this key is free: somebody waits who comes first. Set by `Semaphore`. */
  readonly behind?: string;
  /** @internal No extension asks for more than this has left: the limit of the handle that extends. */
  readonly limit?: HoldLimit | undefined;
  /** @internal No ttl is longer: set by `restartGuard`. */
  readonly maxTtl?: number;
}

export const defaultSettings: Settings = Object.freeze({
  driftFactor: 0.01,
  retryCount: 10,
  retryDelay: 200,
  retryJitter: 100,
  automaticExtensionThreshold: 500,
  minimumValidity: 0,
});

const ranges: ReadonlyMap<string, Range> = new Map(
  Object.entries({
    driftFactor: { minimum: 0, maximum: 0.5, what: "a number from 0 to 0.5" },
    retryCount: {
      minimum: -1,
      maximum: Number.MAX_SAFE_INTEGER,
      integer: true,
      what: "a whole number, 0 or more, or -1 for no limit",
    },
    retryDelay: milliseconds,
    retryJitter: milliseconds,
    automaticExtensionThreshold: milliseconds,
    nodeTimeout: { ...milliseconds, minimum: 1, what: "milliseconds, 1 or more" },
    waitTimeout: { ...milliseconds, maximum: Number.POSITIVE_INFINITY },
    minimumValidity: milliseconds,
    maxHoldTime: {
      ...milliseconds,
      minimum: 1,
      maximum: Number.POSITIVE_INFINITY,
      what: "milliseconds, 1 or more",
    },
  }),
);

/** What may be given to the constructor and to calls alike. */
export const settingNames: readonly string[] = [...ranges.keys(), "backoff"];

/** `base` with what `overrides` gives; an entry that is `undefined` is not given. Each value is checked. */
export function settingsFrom(base: Settings, overrides: Partial<Settings>): Settings {
  const settings: Record<string, unknown> = { ...base };
  for (const [name, value] of Object.entries(overrides)) {
    if (value === undefined) continue;
    const range = ranges.get(name);
    if (range) checkNumber(name, value, range);
    else if (name === "backoff") checkFunction(name, value);
    else continue;
    settings[name] = value;
  }
  return settings as unknown as Settings;
}

const concurrency: Range = { ...milliseconds, minimum: 1, integer: true, what: "a whole number, 1 or more" };

export function checkConcurrency(value: unknown): void {
  checkNumber("acquireConcurrency", value, concurrency);
}

/** The longest: Redis adds it to its clock, and JavaScript keeps whole numbers, up to 2^53. */
const ttlRange: Range = {
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  integer: true,
  what: `a whole number of milliseconds from 1 to ${Number.MAX_SAFE_INTEGER}`,
};

export function checkClockWatch({ maxOffset, maxTtl }: ClockWatchOptions): void {
  if (maxOffset !== undefined) checkNumber("clockWatch.maxOffset", maxOffset, milliseconds);
  if (maxTtl !== undefined) checkNumber("clockWatch.maxTtl", maxTtl, ttlRange);
}

export function checkMaxTtl(value: unknown): asserts value is number {
  checkNumber("restartGuard.maxTtl", value, ttlRange);
}

/** Checks a ttl, and whether the other times can hold with it. */
export function checkTtl(ttl: unknown, settings: Settings): asserts ttl is number {
  checkNumber("ttl", ttl, ttlRange);
  const { maxTtl = ttl } = settings;
  if (ttl > maxTtl) {
    throw new InvalidArgumentError(
      `ttl must not be above the maxTtl of restartGuard, but ${ttl} ms is above ${maxTtl} ms`,
    );
  }
  const loss = validityLoss(ttl, settings.driftFactor);
  checkBelow("what drift takes off the ttl", loss, "the ttl", ttl, ttl);
  checkBelow("nodeTimeout", nodeTimeoutFor(ttl, settings), "the ttl less drift", ttl - loss, ttl);
  checkBelow("minimumValidity", settings.minimumValidity, "the ttl less drift", ttl - loss, ttl);
}

/** A master has less than the least that it otherwise has to answer where the ttl is below this, ms. */
const shortTtl = 200;

/** For the message of what has failed with so short a ttl that it may have been meant in seconds; "" for a longer one. */
export function hintFor(ttl: number): string {
  if (ttl >= shortTtl) return "";
  const meant = `for ${ttl} s pass ${ttl * 1000}`;
  return `; ttl is in milliseconds: with ${ttl} ms there is hardly time to ask the masters (${meant}, else ${shortTtl} or more)`;
}

/** Checks whether a hold of this ttl can be kept extended; the threshold only where the call itself gives one. */
export function checkHolding(ttl: number, settings: Settings, threshold: number | undefined): void {
  checkTtl(ttl, settings);
  checkBelow("automaticExtensionThreshold", threshold ?? 0, "the ttl", ttl);
  const { maxHoldTime = Number.POSITIVE_INFINITY } = settings;
  // As long as one ttl: a hold that is never extended.
  if (maxHoldTime !== ttl) checkBelow("ttl", ttl, "maxHoldTime", maxHoldTime);
}

/** `ttl`: that of the lock, for the hint where it is short. */
function checkBelow(name: string, value: number, limitName: string, limit: number, ttl?: number): void {
  if (value < limit) return;
  const hint = ttl === undefined ? "" : hintFor(ttl);
  const rounded = Math.round(limit * 100) / 100;
  throw new InvalidArgumentError(
    `${name} must be below ${limitName}, but ${value} ms is not below ${rounded} ms${hint}`,
  );
}

/** One master's time to answer, ms; see {@link Settings.nodeTimeout}. */
export function nodeTimeoutFor(ttl: number, settings: Settings): number {
  return settings.nodeTimeout ?? Math.min(Math.max(ttl / 20, 50), 500, Math.max(1, ttl / 4));
}

/** Attempts that `acquire` and `extend` may make. */
export function attemptsAllowed(settings: Settings): number {
  return settings.retryCount === -1 ? Number.POSITIVE_INFINITY : settings.retryCount + 1;
}
