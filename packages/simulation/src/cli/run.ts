import { beyondPlan, promisedPlan } from "../plan/swarm.ts";
import { engineFrom, flag, parse, subjectFrom, text, wholeNumber } from "./arguments.ts";
import type { Command } from "./command.ts";
import { writeReplay } from "./files.ts";
import { seedCommand } from "./report.ts";
import { runTwice } from "./run-twice.ts";
import { writeTimeline } from "./timeline.ts";

const options = {
  seed: text,
  beyond: flag,
  engine: text,
  trace: flag,
  subject: text,
  mutant: text,
  save: text,
  html: text,
};

export const run: Command = {
  usage:
    "run --seed N [--beyond] [--trace] [--save FILE] [--html FILE] [--subject NAME | --mutant NAME] [--engine fake-timers|heap]",
  purpose: "one run, twice: inside the promised model, or beyond it",
  async run(args) {
    const parsed = parse(args, options);
    const { seed: given, beyond, engine: engineName, trace, save, html } = parsed.values;
    const seed = wholeNumber("seed", given);
    const engine = engineFrom(engineName, "fake-timers");
    const { subject, subjectName } = await subjectFrom(parsed);
    const isBeyond = beyond === true;
    const plan = isBeyond ? beyondPlan(seed) : promisedPlan(seed);
    const replay = seedCommand({ seed, isBeyond, subjectName });
    const { outcome, exitCode } = await runTwice(plan, { engine, subject, trace: trace === true, replay });
    const { verdict, hash } = outcome;
    if (typeof save === "string") {
      await writeReplay(save, { version: 1, plan, subject: subjectName, expected: { verdict, hash } });
    }
    if (typeof html === "string") await writeTimeline(plan, html, { engine, subject, command: replay });
    console.log(`seed ${seed}`);
    console.log(`verdict ${verdict}`);
    console.log(`hash ${hash}`);
    return exitCode;
  },
};
