import type { Workload } from "./workload.ts";
import { atOnce, oneHung } from "./workloads/at-once.ts";
import { clientLibraries } from "./workloads/clients.ts";
import { counts } from "./workloads/counts.ts";
import { hotKeys } from "./workloads/hot-key.ts";
import { importTime } from "./workloads/import.ts";
import { load } from "./workloads/load.ts";
import { memory } from "./workloads/memory.ts";
import { observed } from "./workloads/observed.ts";
import { distantMasters, oneAtATime } from "./workloads/one-at-a-time.ts";
import { scripts } from "./workloads/scripts.ts";

export const workloads: readonly Workload[] = [
  oneAtATime,
  distantMasters,
  ...atOnce,
  clientLibraries,
  oneHung,
  counts,
  ...hotKeys,
  memory,
  importTime,
  scripts,
  load,
  observed,
];
