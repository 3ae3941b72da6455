import { allMarks, jobMarks, type Mark } from "../checkers/findings.ts";
import type { Outcome } from "../run/run-plan.ts";
import { commandLine } from "./edition.ts";

/** Where a plan came from, and so how it is made again. */
export interface Origin {
  readonly seed: number;
  readonly isBeyond: boolean;
  readonly subjectName: string;
}

/** The command that runs this seed again. */
export function seedCommand({ seed, isBeyond, subjectName }: Origin): string {
  const beyond = isBeyond ? " --beyond" : "";
  return `${commandLine} run --seed ${seed}${beyond}${subjectOption(subjectName)}`;
}

/** The command that runs this file again. */
export function fileCommand(path: string): string {
  return `${commandLine} replay ${JSON.stringify(path)}`;
}

function subjectOption(name: string): string {
  return name === "quorlock" ? "" : ` --subject ${JSON.stringify(name)}`;
}

/** The violations in words, one line each. */
export function violationLines({ violations }: Outcome): string[] {
  return violations.map(({ kind, at, detail }) => `violation at ${at.toFixed(3)} ms: ${kind}: ${detail}`);
}

/** Why a run without a violation shows less than others. */
export function shortfallLine({ verdict, whyNothing, events, simulated }: Outcome): string | undefined {
  if (whyNothing !== undefined) return `nothing was granted, and nothing could be: ${whyNothing}`;
  if (verdict !== "unknown") return undefined;
  return `unknown: it ended after ${events} events and ${(simulated / 1000).toFixed(1)} simulated seconds`;
}

/** The number of times that each rare situation occurred, with a line that explains it. */
export function markLines(marks: ReadonlyMap<Mark, number>): string[] {
  const known: readonly Mark[] = marks.has("kept") ? [...allMarks, ...jobMarks] : allMarks;
  const counts = `reached: ${known.map((mark) => `${mark} ${marks.get(mark) ?? 0}`).join(", ")}`;
  return [
    counts,
    "  (situations worth testing, and how often each occurred; one at 0 was not tested by these runs)",
  ];
}

export function summaryLine({ operations, events, simulated, leastMargin }: Outcome): string {
  const seconds = (simulated / 1000).toFixed(1);
  return `${operations} calls, ${events} events, ${seconds} simulated seconds, least margin ${marginText(leastMargin)}`;
}

export function marginText(margin: number): string {
  return Number.isFinite(margin) ? `${margin.toFixed(3)} ms` : "none";
}
