import type { AcquireOptions } from "@quorlock/redlock";
import {
  type BackoffPlan,
  type CallSettings,
  type LockSettings,
  type Plan,
  pauseLimit,
} from "../plan/plan.ts";
import { Bounds } from "./bounds.ts";

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

type BoundsFor = (settings: LockSettings) => Bounds;

/** The terms of the calls of a plan's workload. */
export function callTermsIn(
  { settings, workload: { calls = [{}] } }: Pick<Plan, "settings" | "workload">,
  boundsFor: BoundsFor = (own) => new Bounds(own),
): readonly CallTerms[] {
  return calls.map((call) => {
    const { ttl = settings.ttl, backoff, ...own } = call;
    const options = { ...own, ...(backoff ? { backoff: backoffOf(backoff) } : {}) };
    return termsOf({ ...settings, ...call, ttl }, options, boundsFor);
  });
}

/** The client takes a ttl below this only with a `nodeTimeout`, ms. */
const shortTtl = 100;

export function termsOf(
  settings: CallTerms["settings"],
  own: AcquireOptions,
  boundsFor: BoundsFor,
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
