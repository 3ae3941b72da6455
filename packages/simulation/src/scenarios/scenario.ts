import type { Verdict, Violation, ViolationKind } from "../checkers/findings.ts";
import type { Plan } from "../plan/plan.ts";
import type { Evidence, ScenarioSubject } from "./evidence.ts";

/** One thing that may happen to a lock, as data, and what has to come of it. */
export interface Scenario {
  /** In kebab-case: what it is called on the command line. */
  readonly name: string;
  readonly title: string;
  /** What happens, in two or three sentences. */
  readonly story: string;
  readonly source: Source;
  /** Only latencies, tokens, jitter and what the clocks are off by differ from seed to seed. */
  readonly plan: (seed: number) => Plan;
  /** What has to be seen in every run: an outcome would mean nothing if nothing had happened. */
  readonly shows: readonly Evidence[];
  /** Today, in every seed. */
  readonly expected: Readonly<Record<ScenarioSubject, ScenarioOutcome>>;
  /** What makes ours safe, and is not switched on here. */
  readonly safeWith?: "fencing tokens" | "the restart guard";
  /** What ours is run with, besides the defaults. */
  readonly with?: "fencing tokens" | "the restart guard" | "masters excluded by their clocks";
}

/** Where the story is from: a text, a part of it, and its address. */
export interface Source {
  readonly text: string;
  readonly url?: string;
}

/**
 * `safe`, or the worst that was violated:
 *
 * - `overlap`: two clients believed in the lock at one moment.
 * - `stale write`: a holder wrote after a later one had written.
 * - `over-long hold`: a hold lasted longer than its keys kept others away; nobody came.
 * - `told late`: others could hold, and the signal had not aborted.
 * - `expired grant`: a lock was handed out with nothing left of it.
 * - `hangs`: a call never settled, or not in its time.
 */
export type ScenarioOutcome =
  | "safe"
  | "overlap"
  | "stale write"
  | "over-long hold"
  | "told late"
  | "expired grant"
  | "hangs"
  | "nothing granted"
  | ViolationKind;

const namesOfViolations: ReadonlyMap<ViolationKind, ScenarioOutcome> = new Map<
  ViolationKind,
  ScenarioOutcome
>([
  ["belief", "overlap"],
  ["effect", "stale write"],
  ["margin", "over-long hold"],
  ["untold", "told late"],
  ["expired", "expired grant"],
  ["unsettled", "hangs"],
]);

export function scenarioOutcome(verdict: Verdict, violations: readonly Violation[]): ScenarioOutcome {
  const kinds = new Set(violations.map(({ kind }) => kind));
  for (const [kind, name] of namesOfViolations) if (kinds.has(kind)) return name;
  const [other] = kinds;
  return other ?? (verdict === "ok" ? "safe" : "nothing granted");
}
