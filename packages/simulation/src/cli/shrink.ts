import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemRuntime } from "@quorlock/redlock";
import { interruptedCode } from "../command-line/interruption.ts";
import { type Arguments, flag, parse, text, UsageError } from "../command-line/options.ts";
import { wholeNumber } from "../command-line/program.ts";
import type { Plan } from "../plan/plan.ts";
import { beyondPlan, promisedPlan } from "../plan/swarm.ts";
import { shrink as shrinkPlan } from "../search/shrink.ts";
import { storyOf } from "../search/story.ts";
import { subjectFrom, subjectOptions } from "./arguments.ts";
import { type Command, exitCodes, neverInterrupted } from "./command.ts";
import { readReplay, writeReplay } from "./files.ts";
import { Pool } from "./pool.ts";
import { fileCommand } from "./report.ts";

const options = {
  seed: text("N", "the seed that the plan is drawn from"),
  beyond: flag("also draws faults beyond those that the protocol survives"),
  out: text("FILE", "where the shrunk plan is saved; default: a file in the temporary folder"),
  workers: text("N", "number of threads; default: one for each core"),
  ...subjectOptions,
};

export const shrink: Command = {
  usage: "shrink FILE | --seed N [--beyond] [--out FILE] [--subject NAME | --mutant NAME] [--workers N]",
  about: "finds the smallest plan with the same violation, and prints its events in words",
  options,
  examples: ["shrink plan.json", "shrink --seed 7 --beyond --out smallest.json"],
  isInterruptible: true,
  async run(args, interrupted = neverInterrupted) {
    const parsed = parse(args, options, 1);
    const { out, workers } = parsed.values;
    const { plan, defaultSubject } = await planFrom(parsed);
    const { subject, subjectName } = await subjectFrom(parsed.values, defaultSubject);
    await using pool = new Pool(workers === undefined ? undefined : wholeNumber("workers", workers));
    const begun = systemRuntime.monotonic();
    console.error(`looks for a smaller plan than this: ${sizeOf(plan)}`);
    const shrunk = await shrinkPlan(plan, pool.runner(subjectName), { interrupted });
    if (!shrunk) {
      if (interrupted.aborted) {
        console.log("interrupted before the first violation was found");
        return interruptedCode;
      }
      console.log("nothing is violated: there is nothing to shrink");
      return exitCodes.ok;
    }
    if (interrupted.aborted) console.log("interrupted: this is the smallest plan so far");
    const { verdict, hash } = shrunk.outcome;
    const path = out ?? join(tmpdir(), `quorlock-${hash}.json`);
    const file = {
      version: 1,
      plan: shrunk.plan,
      subject: subjectName,
      expected: { verdict, hash },
    } as const;
    await writeReplay(path, file);
    for (const line of await storyOf(shrunk.plan, { subject })) console.log(line);
    const seconds = ((systemRuntime.monotonic() - begun) / 1000).toFixed(1);
    console.log(`${sizeOf(plan)} shrunk to ${sizeOf(shrunk.plan)}, by ${shrunk.runs} runs in ${seconds} s`);
    console.log(`replay: ${fileCommand(path)}`);
    return exitCodes.violated;
  },
};

async function planFrom({
  values,
  positionals,
}: Arguments<typeof options>): Promise<{ plan: Plan; defaultSubject?: string }> {
  const [path] = positionals;
  const { seed, beyond } = values;
  if ((path === undefined) === (seed === undefined))
    throw new UsageError("either a file or --seed has to be given, and not both");
  if (path === undefined) {
    const number = wholeNumber("seed", seed, 0);
    return { plan: beyond === true ? beyondPlan(number) : promisedPlan(number) };
  }
  if (beyond === true) throw new UsageError("--beyond needs --seed: a file has its plan");
  const { plan, subject } = await readReplay(path);
  return { plan, ...(subject === undefined ? {} : { defaultSubject: subject }) };
}

function sizeOf({ faults, clients, masters, duration }: Plan): string {
  return `${faults.length} faults, ${clients.length} clients, ${masters.length} masters, ${duration} ms`;
}
