import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Plan } from "../plan/plan.ts";
import { beyondPlan, promisedPlan } from "../plan/swarm.ts";
import { shrink as shrinkPlan } from "../search/shrink.ts";
import { tell } from "../search/story.ts";
import {
  type Arguments,
  engineFrom,
  flag,
  parse,
  subjectFrom,
  text,
  UsageError,
  wholeNumber,
} from "./arguments.ts";
import { type Command, exitCodes } from "./command.ts";
import { readReplay, writeReplay } from "./files.ts";
import { Pool } from "./pool.ts";
import { fileCommand } from "./report.ts";

const options = {
  seed: text,
  beyond: flag,
  out: text,
  engine: text,
  subject: text,
  mutant: text,
  workers: text,
};

export const shrink: Command = {
  usage: "shrink FILE | --seed N [--beyond] [--out FILE] [--subject NAME | --mutant NAME] [--workers N]",
  purpose: "the least plan that violates the same, and its story in words",
  async run(args) {
    const parsed = parse(args, options, 1);
    const { out, engine: engineName, workers } = parsed.values;
    const engine = engineFrom(engineName, "heap");
    const { plan, usualSubject } = await planFrom(parsed);
    const { subject, subjectName } = await subjectFrom(parsed, usualSubject);
    await using pool = new Pool(workers === undefined ? undefined : wholeNumber("workers", workers, 1));
    const begun = performance.now();
    const shrunk = await shrinkPlan(plan, pool.runner(subjectName, engine));
    if (!shrunk) {
      console.log("nothing is violated: there is nothing to shrink");
      return exitCodes.ok;
    }
    const { verdict, hash } = shrunk.outcome;
    const path = typeof out === "string" ? out : join(tmpdir(), `quorlock-${hash}.json`);
    const file = {
      version: 1,
      plan: shrunk.plan,
      subject: subjectName,
      expected: { verdict, hash },
    } as const;
    await writeReplay(path, file);
    for (const line of await tell(shrunk.plan, { engine, subject })) console.log(line);
    const seconds = ((performance.now() - begun) / 1000).toFixed(1);
    console.log(`${sizeOf(plan)} shrunk to ${sizeOf(shrunk.plan)}, by ${shrunk.runs} runs in ${seconds} s`);
    console.log(`replay: ${fileCommand(path)}`);
    return exitCodes.violated;
  },
};

async function planFrom({ values, positionals }: Arguments): Promise<{ plan: Plan; usualSubject?: string }> {
  const [path] = positionals;
  const { seed, beyond } = values;
  if ((path === undefined) === (seed === undefined))
    throw new UsageError("either a file or --seed has to be given, and not both");
  if (path === undefined) {
    const number = wholeNumber("seed", seed);
    return { plan: beyond === true ? beyondPlan(number) : promisedPlan(number) };
  }
  const { plan, subject } = await readReplay(path);
  return { plan, ...(subject === undefined ? {} : { usualSubject: subject }) };
}

function sizeOf({ faults, clients, masters, duration }: Plan): string {
  return `${faults.length} faults, ${clients.length} clients, ${masters.length} masters, ${duration} ms`;
}
