import type { AcquireOptions } from "@quorlock/redlock";
import {
  type BackoffPlan,
  type CallSettings,
  type LockSettings,
  pauseLimit,
  type Workload,
} from "../plan/plan.ts";
import type { Random } from "../random.ts";
import type { Bounds } from "./bounds.ts";

/** The options of one call, and the time that it may take by them. */
export interface CallTerms {
  readonly ttl: number;
  readonly options: AcquireOptions;
  /** The settings that it has then, the constructor's included. */
  readonly settings: LockSettings & CallSettings;
  readonly bounds: Bounds;
}

/** The code of the errors that a plan's backoff functions throw. */
export const backoffFailed = "BACKOFF_FAILED";

/** Draws the terms of each call of a workload. */
export class CallTermsSource {
  readonly all: readonly CallTerms[];

  constructor(
    settings: LockSettings,
    { calls = [{}] }: Workload,
    boundsFor: (settings: LockSettings) => Bounds,
  ) {
    this.all = calls.map((call) => {
      const { ttl = settings.ttl, backoff, ...own } = call;
      const options = { ...own, ...(backoff ? { backoff: backoffOf(backoff) } : {}) };
      return termsOf({ ...settings, ...call, ttl }, options, boundsFor);
    });
  }

  /** (Nothing is drawn where there is no choice.) */
  draw(random: Random): CallTerms {
    return this.all.length === 1 ? this.all[0]! : random.pick(this.all);
  }
}

/** The client takes a ttl below this only with a `nodeTimeout`, ms. */
const shortTtl = 100;

export function termsOf(
  settings: CallTerms["settings"],
  own: AcquireOptions,
  boundsFor: (settings: LockSettings) => Bounds,
): CallTerms {
  const { ttl, nodeTimeout } = settings;
  const bounds = boundsFor(settings);
  const isShort = ttl < shortTtl && nodeTimeout === undefined;
  return { ttl, options: isShort ? { ...own, nodeTimeout: bounds.nodeTimeout } : own, settings, bounds };
}

function backoffOf({ initial, maximum, throwsFrom }: BackoffPlan): NonNullable<AcquireOptions["backoff"]> {
  return ({ attempt, random }) => {
    if (throwsFrom !== undefined && attempt >= throwsFrom)
      throw Object.assign(new Error(`no backoff after attempt ${attempt}`), { code: backoffFailed });
    return random * pauseLimit({ initial, maximum }, attempt);
  };
}
