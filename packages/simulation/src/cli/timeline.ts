import { record } from "../pictures/recording.ts";
import { type Caption, timeline } from "../pictures/timeline.ts";
import type { Plan } from "../plan/plan.ts";
import type { RunOptions } from "../run/run-plan.ts";
import { viewer } from "./edition.ts";
import { writeText } from "./files.ts";

/** Runs a plan once more, with everything kept, and writes its picture. @throws UsageError where it cannot. */
export async function writeTimeline(
  plan: Plan,
  file: string,
  { title, command, ...options }: Caption & Omit<RunOptions, "onEvent">,
): Promise<void> {
  const recording = await record(plan, options);
  const caption = title === undefined ? { command } : { title, command };
  await writeText(file, timeline(recording, caption, await viewer()));
}
