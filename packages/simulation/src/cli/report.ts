import { allMarks, type Mark } from "../checkers/findings.ts";
import type { Outcome } from "../run/simulate.ts";

/** The command that runs this seed again. */
export function replayCommand(seed: number): string {
  return `npx -y pnpm@12 sim run --seed ${seed}`;
}

/** What was violated, in words, one line each. */
export function violationLines({ violations }: Outcome): string[] {
  return violations.map(({ kind, at, detail }) => `violation at ${at.toFixed(3)} ms: ${kind}: ${detail}`);
}

/** How often each rare state was reached, those never reached included. */
export function markLine(marks: ReadonlyMap<Mark, number>): string {
  return `reached: ${allMarks.map((mark) => `${mark} ${marks.get(mark) ?? 0}`).join(", ")}`;
}

export function summaryLine({ operations, events, simulated, leastMargin }: Outcome): string {
  const margin = Number.isFinite(leastMargin) ? `${leastMargin.toFixed(3)} ms` : "none";
  return `${operations} calls, ${events} events, ${(simulated / 1000).toFixed(1)} simulated seconds, least margin ${margin}`;
}
