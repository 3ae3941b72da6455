import type { Command } from "./command.ts";
import { explore } from "./explore.ts";
import { heatmap } from "./heatmap.ts";
import { replay } from "./replay.ts";
import { run } from "./run.ts";
import { scenarios } from "./scenarios.ts";
import { semaphore } from "./semaphore.ts";
import { showcase } from "./showcase.ts";
import { shrink } from "./shrink.ts";

export const commands: Readonly<Record<string, Command>> = {
  showcase,
  run,
  explore,
  replay,
  shrink,
  heatmap,
  scenarios,
  semaphore,
};
