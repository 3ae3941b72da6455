import type { Plan } from "../plan/plan.ts";
import { type Outcome, runPlan } from "../run/run-plan.ts";
import type { Subject } from "../run/subject.ts";
import { exitCodes } from "./command.ts";
import { markLines, shortfallLine, summaryLine, violationLines } from "./report.ts";

export interface RunTwiceOptions {
  readonly subject: Subject;
  /** Prints everything that happens. */
  readonly trace: boolean;
  /** The command that runs it again. */
  readonly replay: string;
}

/** Runs a plan, prints the results, and runs it once more: the hash has to be the same. */
export async function runTwice(
  plan: Plan,
  { subject, trace, replay }: RunTwiceOptions,
): Promise<{ readonly outcome: Outcome; readonly exitCode: number }> {
  const outcome = await runPlan(plan, { subject, ...(trace ? { onEvent: print } : {}) });
  const again = await runPlan(plan, { subject });
  console.log(summaryLine(outcome));
  for (const line of markLines(outcome.marks)) console.log(line);
  for (const line of violationLines(outcome)) console.log(line);
  const shortfall = shortfallLine(outcome);
  if (shortfall !== undefined) console.log(shortfall);
  const isSame = outcome.hash === again.hash;
  if (!isSame) console.log(`not deterministic: the second run came to hash ${again.hash}`);
  if (outcome.verdict !== "ok" || !isSame) console.log(`replay: ${replay} --trace`);
  return { outcome, exitCode: exitCodes[isSame ? outcome.verdict : "not deterministic"] };
}

function print(time: number, entry: readonly unknown[]): void {
  console.log((time / 1000).toFixed(3).padStart(12), entry.join(" ").replaceAll("\n", " ").slice(0, 160));
}
