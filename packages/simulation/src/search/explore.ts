import { allMarks, type Mark, type Verdict } from "../checkers/findings.ts";
import type { Plan } from "../plan/plan.ts";
import type { Trial } from "./runner.ts";

/** Adds up what trials show until they end, or `isEnough`, asked after each, says so. */
export async function explore(
  trials: AsyncIterable<Trial>,
  isEnough: (trial: Trial, soFar: Exploration) => boolean | Promise<boolean> = () => false,
): Promise<Exploration> {
  const soFar = new Exploration();
  for await (const trial of trials) {
    soFar.add(trial);
    if (await isEnough(trial, soFar)) break;
  }
  return soFar;
}

/** The plans of `count` seeds, each by `planOf`. */
export function* plansOf(
  planOf: (seed: number) => Plan,
  from: number,
  count: number = Number.POSITIVE_INFINITY,
): Generator<Plan, void> {
  for (let seed = from; seed < from + count; seed += 1) yield planOf(seed);
}

/** The combined results of many runs. */
export class Exploration {
  runs = 0;
  unknown = 0;
  attempts = 0;
  operations = 0;
  events = 0;
  leastMargin: number = Number.POSITIVE_INFINITY;
  readonly violated: Trial[] = [];
  readonly marks: Map<Mark, number> = new Map();

  add(trial: Trial): void {
    const { outcome } = trial;
    this.runs += 1;
    this.attempts += outcome.attempts;
    this.operations += outcome.operations;
    this.events += outcome.events;
    this.leastMargin = Math.min(this.leastMargin, outcome.leastMargin);
    for (const [mark, count] of outcome.marks) this.marks.set(mark, (this.marks.get(mark) ?? 0) + count);
    if (outcome.verdict === "violated") this.violated.push(trial);
    if (outcome.verdict === "unknown") this.unknown += 1;
  }

  get verdict(): Verdict {
    if (this.violated.length > 0) return "violated";
    return this.unknown > 0 || this.runs === 0 ? "unknown" : "ok";
  }

  /** Locks granted, of those asked for. */
  get grants(): number {
    return this.marks.get("granted") ?? 0;
  }

  /** Marks that no run reached. */
  get unreached(): readonly Mark[] {
    return allMarks.filter((mark) => !this.marks.has(mark));
  }
}
