import { parseArgs } from "node:util";
import { contenderNames } from "./contenders/lineup.ts";
import type { Scale, Workload } from "./workload.ts";

export interface Options extends Scale {
  readonly workloads: readonly Workload[];
  /** A judged goal that is far off sets the exit code. */
  readonly isJudging: boolean;
  /** All workloads and contenders in full, as published in the docs. */
  readonly isWhole: boolean;
  /** File for the numbers as JSON, in addition to the docs. */
  readonly json: string | undefined;
}

/** An invalid command line; the message is for the user. */
export class UsageError extends Error {
  override name = "UsageError";
}

export function usageOf(workloads: readonly Workload[]): string {
  return `pnpm bench [options]
  --only NAME[,NAME]        these workloads: ${workloads.map(({ name }) => name).join(", ")}
  --contenders NAME[,NAME]  these contenders: ${contenderNames.join(", ")}
  --quick                   fewer rounds and contenders, for a quick look
  --short                   quick check of a change: ${inShort(workloads)
    .map(({ name }) => name)
    .join(", ")};
                            fails if a judged goal is missed by a factor of two
  --json FILE               writes the numbers to FILE; a full run also writes docs/benchmark.md and .svg
  --cycles N                number of operations, for workloads that count them
  --load                    the same as --only load: the table of docs/load.md, which a full run leaves out
QUORLOCK_BEFORE=DIR         another checkout of this repository, after "pnpm build" there: its client takes part as
                            ours-before in workloads that time one lock or many, and in load`;
}

export function optionsFrom(args: readonly string[], workloads: readonly Workload[]): Options {
  const { values } = parsed(args);
  const only = values.only ?? (values.load ? "load" : undefined);
  const { cycles } = values;
  if (cycles !== undefined && !/^[1-9]\d*$/.test(cycles)) {
    throw new UsageError(`--cycles must be a whole number of at least 1, but is ${cycles}`);
  }
  const few = values.quick || values.short;
  return {
    quick: few,
    isJudging: values.short,
    isWhole: [only, cycles, values.contenders].every((value) => value === undefined) && !few,
    json: values.json,
    cycles: cycles === undefined ? undefined : Number(cycles),
    contenders: chosen("--contenders", values.contenders, contenderNames),
    workloads: only === undefined && values.short ? inShort(workloads) : chosenWorkloads(only, workloads),
  };
}

function inShort(workloads: readonly Workload[]): readonly Workload[] {
  return workloads.filter((workload) => workload.inShort);
}

/** A name also selects all workloads that it is a prefix of: "hot-key" selects every hot key. */
function chosenWorkloads(list: string | undefined, all: readonly Workload[]): readonly Workload[] {
  if (list === undefined) return all.filter(({ isApart }) => !isApart);
  const names = list.split(",");
  const unknown = names.find((given) => !all.some((workload) => isMeant(given, workload)));
  if (unknown !== undefined) {
    throw new UsageError(`--only: "${unknown}" is none of ${all.map(({ name }) => name).join(", ")}`);
  }
  return all.filter((workload) => names.some((given) => isMeant(given, workload)));
}

function isMeant(given: string, { name }: Workload): boolean {
  return name === given || name.startsWith(`${given}-`);
}

function parsed(args: readonly string[]): ReturnType<typeof parse> {
  try {
    return parse(args);
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function parse(args: readonly string[]): {
  values: {
    only?: string;
    contenders?: string;
    cycles?: string;
    json?: string;
    quick: boolean;
    short: boolean;
    load: boolean;
  };
} {
  return parseArgs({
    args: [...args],
    options: {
      only: { type: "string" },
      contenders: { type: "string" },
      cycles: { type: "string" },
      json: { type: "string" },
      quick: { type: "boolean", default: false },
      short: { type: "boolean", default: false },
      load: { type: "boolean", default: false },
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
