import type { Verdict, Violation, ViolationKind } from "../checkers/findings.ts";
import type { Plan } from "../plan/plan.ts";
import type { Outcome } from "../run/run-plan.ts";
import type { Evidence, ScenarioSubject } from "./evidence.ts";

/** One thing that may happen to a lock, as data, and what has to come of it. */
export interface Scenario {
  /** In kebab-case: what it is called on the command line. */
  readonly name: string;
  readonly title: string;
  /** The course of events, in two or three sentences. */
  readonly story: string;
  readonly source: Source;
  /** Only latencies, tokens, jitter and what the clocks are off by differ from seed to seed. */
  readonly plan: (seed: number) => Plan;
  /** Evidence that must be observed in every run: without it an outcome would mean nothing. */
  readonly shows: readonly Evidence[];
  /** Today, in every seed. */
  readonly expected: Readonly<Record<ScenarioSubject, ScenarioOutcome>>;
  /** The option that makes Quorlock safe here; it is not switched on. */
  readonly safeWith?: "fencing tokens" | "the restart guard";
  /** The options of Quorlock in this scenario, besides the defaults. */
  readonly with?: "fencing tokens" | "the restart guard" | "masters excluded by their clocks";
}

/** By name. */
export type Scenarios = Readonly<Record<string, Omit<Scenario, "name">>>;

/** Where the story is from: a text, a part of it, and its address. */
export interface Source {
  readonly text: string;
  readonly url?: string;
}

/**
 * `safe`, or the worst violation:
 *
 * - `overlap`: two clients observed that they hold the lock at one moment.
 * - `stale write`: a holder wrote after a later holder had written.
 * - `over-long hold`: a lock lasted longer than its keys excluded others; no other client came.
 * - `told late`: others could hold, and the signal had not aborted.
 * - `expired grant`: a lock was granted with no time left.
 * - `hangs`: a call did not settle, or not in its time.
 */
export type ScenarioOutcome = "safe" | "nothing granted" | (typeof names)[keyof typeof names] | ViolationKind;

/** Of violations that have another name as an outcome; the worst first. */
const names = {
  belief: "overlap",
  effect: "stale write",
  margin: "over-long hold",
  untold: "told late",
  expired: "expired grant",
  unsettled: "hangs",
} as const;

/** The verdict on one run, with what it is about: the same words in the lab and in the commands. */
export function verdictOn({ verdict, violations }: Pick<Outcome, "verdict" | "violations">): string {
  return verdict === "ok" ? verdict : `${verdict}: ${scenarioOutcome(verdict, violations)}`;
}

export function scenarioOutcome(verdict: Verdict, violations: readonly Violation[]): ScenarioOutcome {
  const kinds = new Set(violations.map(({ kind }) => kind));
  for (const kind of Object.keys(names) as Array<keyof typeof names>) if (kinds.has(kind)) return names[kind];
  const [other] = kinds;
  return other ?? (verdict === "ok" ? "safe" : "nothing granted");
}
