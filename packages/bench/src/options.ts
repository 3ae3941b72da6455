import { parseArgs } from "node:util";
import { contenderNames } from "./lineup.ts";
import type { Scale, Workload } from "./workload.ts";

export interface Options extends Scale {
  readonly workloads: readonly Workload[];
}

/** A command line that cannot be followed; the message is for the user. */
export class UsageError extends Error {
  override name = "UsageError";
}

/** What the memory workload is meant for: a leak of five bytes a lock shows. */
const million = 1_000_000;

export function usageOf(workloads: readonly Workload[]): string {
  return `pnpm bench [options]
  --only NAME[,NAME]        these workloads: ${workloads.map(({ name }) => name).join(", ")}
  --contenders NAME[,NAME]  these contenders: ${contenderNames.join(", ")}
  --quick                   few of everything
  --cycles N                operations, where a workload counts them
  --million                 the same as --only memory --cycles ${million}, unless these are given`;
}

export function optionsFrom(args: readonly string[], workloads: readonly Workload[]): Options {
  const { values } = parsed(args);
  const only = values.only ?? (values.million ? "memory" : undefined);
  const cycles = values.cycles ?? (values.million ? `${million}` : undefined);
  if (cycles !== undefined && !/^[1-9]\d*$/.test(cycles)) {
    throw new UsageError(`--cycles must be a whole number of at least 1, but is ${cycles}`);
  }
  return {
    quick: values.quick,
    cycles: cycles === undefined ? undefined : Number(cycles),
    contenders: chosen("--contenders", values.contenders, contenderNames),
    workloads: chosenWorkloads(only, workloads),
  };
}

/** A name also stands for all that begin with it: "hot-key" for every hot key. */
function chosenWorkloads(list: string | undefined, all: readonly Workload[]): readonly Workload[] {
  if (list === undefined) return all;
  const names = list.split(",");
  const isMeant = (given: string, { name }: Workload): boolean => name === given || name.startsWith(`${given}-`);
  const unknown = names.find((given) => !all.some((workload) => isMeant(given, workload)));
  if (unknown !== undefined) {
    throw new UsageError(`--only: "${unknown}" is none of ${all.map(({ name }) => name).join(", ")}`);
  }
  return all.filter((workload) => names.some((given) => isMeant(given, workload)));
}

function parsed(args: readonly string[]): ReturnType<typeof parse> {
  try {
    return parse(args);
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function parse(args: readonly string[]): {
  values: { only?: string; contenders?: string; cycles?: string; quick: boolean; million: boolean };
} {
  return parseArgs({
    args: [...args],
    options: {
      only: { type: "string" },
      contenders: { type: "string" },
      cycles: { type: "string" },
      quick: { type: "boolean", default: false },
      million: { type: "boolean", default: false },
    },
  });
}

function chosen(option: string, list: string | undefined, all: readonly string[]): readonly string[] {
  if (list === undefined) return all;
  const names = list.split(",");
  const unknown = names.find((name) => !all.includes(name));
  if (unknown !== undefined) throw new UsageError(`${option}: "${unknown}" is none of ${all.join(", ")}`);
  return names;
}
