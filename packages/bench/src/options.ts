import { resolve } from "node:path";
import {
  flag,
  helpText,
  known,
  parse,
  suggestion,
  text,
  UsageError,
  wholeNumber,
} from "@quorlock/simulation/command-line";
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

function optionsOf(workloads: readonly Workload[]) {
  const short = inShort(workloads).map(({ name }) => name);
  return {
    only: text("NAME[,NAME]", `these workloads: ${namesOf(workloads).join(", ")}`),
    contenders: text("NAME[,NAME]", `these contenders: ${contenderNames.join(", ")}`),
    quick: flag("fewer rounds and contenders, for a quick look"),
    short: flag(
      `quick check of a change (${short.join(", ")}): fails if a judged goal is missed by a factor of two`,
    ),
    json: text("FILE", "writes the numbers to FILE; a full run also writes docs/benchmark.md and .svg"),
    beside: text("DIR", "scripts: their cost beside those of DIR, a checkout that is built"),
    cycles: text("N", "number of operations, for workloads that count them"),
    load: flag("the same as --only load: leases that one process can hold, which a full run leaves out"),
  };
}

export function usageOf(workloads: readonly Workload[]): string {
  return helpText({
    usage: "bench [options]",
    about: [
      "measures time, memory and commands against bare commands and other libraries",
      "QUORLOCK_BEFORE=DIR: another checkout of this repository, after `pnpm build` there; its client takes part as",
      "ours-before in workloads that time one lock or many, and in load",
    ],
    options: optionsOf(workloads),
    exit: "1 with --short, a judged goal is missed by a factor of two",
    examples: ["bench --short", "bench --only hot-key --quick", "bench --only scripts --beside ../before"],
  });
}

export function optionsFrom(args: readonly string[], workloads: readonly Workload[]): Options {
  const { values } = parse(args, optionsOf(workloads));
  const only = values.only ?? (values.load ? "load" : undefined);
  const { cycles } = values;
  const { short = false, quick = short } = values;
  return {
    quick: quick || short,
    isJudging: short,
    isWhole: [only, cycles, values.contenders].every((value) => value === undefined) && !quick && !short,
    json: values.json,
    // pnpm runs the measurement in the folder of the package.
    beside: values.beside && resolve(process.env["INIT_CWD"] ?? "", values.beside),
    cycles: cycles === undefined ? undefined : wholeNumber("cycles", cycles),
    contenders: chosen(values.contenders, contenderNames),
    workloads: only === undefined && short ? inShort(workloads) : chosenWorkloads(only, workloads),
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
    throw new UsageError(`--only: unknown workload "${unknown}": ${suggestion(unknown, namesOf(all))}`);
  }
  return all.filter((workload) => names.some((given) => isMeant(given, workload)));
}

function namesOf(workloads: readonly Workload[]): readonly string[] {
  return workloads.map(({ name }) => name);
}

function isMeant(given: string, { name }: Workload): boolean {
  return name === given || name.startsWith(`${given}-`);
}

function chosen(list: string | undefined, all: readonly string[]): readonly string[] {
  if (list === undefined) return all;
  return list.split(",").map((name) => known("contender", name, all));
}
