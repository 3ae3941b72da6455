import type { Command } from "../command.ts";
import { explore } from "../explore.ts";
import { heatmap } from "../heatmap.ts";
import { replay } from "../replay.ts";
import { run } from "../run.ts";
import { showcase } from "../showcase.ts";
import { shrink } from "../shrink.ts";

// Scenarios compare the client with node-redlock 5, which is not a part of the package.

export const commands: Readonly<Record<string, Command>> = {
  showcase,
  run,
  explore,
  replay,
  shrink,
  heatmap,
};
