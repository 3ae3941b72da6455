import { availableParallelism } from "node:os";
import { systemRuntime } from "@quorlock/redlock";
import { explore, plansOf } from "../search/explore.ts";
import { inOrder } from "../search/runner.ts";
import { roundsInRun, roundsPlan } from "../semaphore/rounds-plan.ts";
import { engineFrom, parse, subjectFrom, text, UsageError, wholeNumber } from "./arguments.ts";
import { type Command, exitCodes } from "./command.ts";
import { Pool } from "./pool.ts";
import { Progress } from "./progress.ts";
import { violationLines } from "./report.ts";

const options = { rounds: text, from: text, workers: text, engine: text, mutant: text };

/** Of so many violated runs each is told; the others are counted. */
const mostTold = 5;

export const semaphore: Command = {
  usage: "semaphore --rounds N [--from M] [--mutant NAME] [--workers N] [--engine fake-timers|heap]",
  purpose: "twelve clients ask for five permits at once, round after round, over ways of 0 to 5 ms",
  async run(args) {
    const parsed = parse(args, options);
    const { rounds: wanted, from = "1", workers = String(availableParallelism()), engine } = parsed.values;
    const runs = Math.ceil(wholeNumber("rounds", wanted, 1) / roundsInRun);
    const { subject, subjectName } = await subjectFrom(parsed, "semaphore");
    if (!subject.keysOf) throw new UsageError(`"${subjectName}" is no mutant of the semaphore`);
    await using pool = new Pool(wholeNumber("workers", workers, 1));
    const progress = new Progress(runs, "runs");
    const begun = systemRuntime.monotonic();
    const runner = pool.runner(subjectName, engineFrom(engine, "heap"));
    const trials = inOrder(runner, plansOf(roundsPlan, wholeNumber("from", from), runs));
    const { verdict, violated, attempts, grants } = await explore(trials, ({ plan, outcome }, soFar) => {
      if (outcome.verdict === "violated" && soFar.violated.length <= mostTold) {
        progress.clear();
        console.log(`seed ${plan.seed}: ${violationLines(outcome)[0]}`);
      }
      progress.reach(soFar.runs);
      return false;
    });
    progress.clear();
    const seconds = ((systemRuntime.monotonic() - begun) / 1000).toFixed(1);
    console.log(`${attempts} attempts, ${grants} grants of one permit or two, in ${seconds} s`);
    console.log(`${runs * roundsInRun} rounds in ${runs} runs: ${violated.length} runs violated`);
    console.log(`verdict ${verdict}`);
    return exitCodes[verdict];
  },
};
