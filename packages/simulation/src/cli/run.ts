import { flag, parse, text } from "../command-line/options.ts";
import { wholeNumber } from "../command-line/program.ts";
import { beyondPlan, promisedPlan } from "../plan/swarm.ts";
import { verdictOn } from "../scenarios/scenario.ts";
import { subjectFrom, subjectOptions } from "./arguments.ts";
import type { Command } from "./command.ts";
import { writeReplay } from "./files.ts";
import { seedCommand } from "./report.ts";
import { runTwice } from "./run-twice.ts";
import { writeTimeline } from "./timeline.ts";

const options = {
  seed: text("N", "the seed that the plan is drawn from"),
  beyond: flag("also draws faults beyond those that the protocol survives"),
  trace: flag("prints every event"),
  save: text("FILE", "saves the plan, the verdict and the hash, to be replayed"),
  html: text("FILE", "writes the timeline of the run as a page"),
  ...subjectOptions,
};

export const run: Command = {
  usage: "run --seed N [--beyond] [--trace] [--save FILE] [--html FILE] [--subject NAME | --mutant NAME]",
  about: "runs one seed twice and compares the hashes: within the promised fault model, or beyond it",
  options,
  examples: ["run --seed 7", "run --seed 7 --html run.html", "run --seed 7 --beyond --save plan.json"],
  async run(args) {
    const parsed = parse(args, options);
    const { seed: given, beyond, trace, save, html } = parsed.values;
    const seed = wholeNumber("seed", given, 0);
    const { subject, subjectName } = await subjectFrom(parsed.values);
    const isBeyond = beyond === true;
    const plan = isBeyond ? beyondPlan(seed) : promisedPlan(seed);
    const replay = seedCommand({ seed, isBeyond, subjectName });
    const { outcome, exitCode } = await runTwice(plan, { subject, trace: trace === true, replay });
    const { verdict, hash } = outcome;
    if (typeof save === "string") {
      await writeReplay(save, { version: 1, plan, subject: subjectName, expected: { verdict, hash } });
    }
    if (typeof html === "string") await writeTimeline(plan, html, { subject, command: replay });
    console.log(`seed ${seed}`);
    console.log(`verdict ${verdictOn(outcome)}`);
    console.log(`hash ${hash}`);
    return exitCode;
  },
};
