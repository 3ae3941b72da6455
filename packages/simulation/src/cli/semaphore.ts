import { availableParallelism } from "node:os";
import { systemRuntime } from "@quorlock/redlock";
import { until } from "../command-line/interruption.ts";
import { parse, text, UsageError } from "../command-line/options.ts";
import { explore } from "../search/explore.ts";
import { inOrder } from "../search/runner.ts";
import { plansOfRounds, roundsOf } from "../semaphore/rounds-plan.ts";
import { engineFrom, engineOption, subjectFrom, subjectOptions, wholeNumber } from "./arguments.ts";
import { type Command, exitCodes, neverInterrupted } from "./command.ts";
import { Pool } from "./pool.ts";
import { Progress } from "./progress.ts";
import { violationLines } from "./report.ts";

const options = {
  rounds: text("N", "number of rounds"),
  from: text("M", "first seed; default 1"),
  workers: text("N", "number of threads; default: one for each core"),
  mutant: subjectOptions.mutant,
  ...engineOption,
};

/** The number of violations that are printed; the others are only counted. */
const maxPrinted = 5;

export const semaphore: Command = {
  usage: "semaphore --rounds N [--from M] [--mutant NAME] [--workers N] [--engine fake-timers|heap]",
  purpose: "twelve clients ask for five permits at once, in rounds, over links of 0 to 5 ms",
  options,
  isInterruptible: true,
  async run(args, interrupted = neverInterrupted) {
    const parsed = parse(args, options);
    const { rounds: wanted, from = "1", workers = String(availableParallelism()), engine } = parsed.values;
    const rounds = wholeNumber("rounds", wanted, 1);
    const { subject, subjectName } = await subjectFrom(parsed.values, "semaphore");
    if (!subject.keysOf) throw new UsageError(`"${subjectName}" is no mutant of the semaphore`);
    await using pool = new Pool(wholeNumber("workers", workers, 1));
    const progress = new Progress(rounds, "rounds");
    let done = 0;
    const begun = systemRuntime.monotonic();
    const runner = pool.runner(subjectName, engineFrom(engine, "heap"));
    const plans = plansOfRounds(rounds, wholeNumber("from", from));
    const trials = until(interrupted, inOrder(runner, plans));
    const { verdict, violated, unknown, attempts, grants, runs } = await explore(trials, (trial, soFar) => {
      const { plan, outcome } = trial;
      done += roundsOf(plan);
      if (outcome.verdict === "violated" && soFar.violated.length <= maxPrinted) {
        progress.clear();
        console.log(`seed ${plan.seed}: ${violationLines(outcome)[0]}`);
      }
      progress.reach(done);
      return false;
    });
    progress.clear();
    if (interrupted.aborted) console.log(`interrupted after ${done} of ${rounds} rounds`);
    const seconds = ((systemRuntime.monotonic() - begun) / 1000).toFixed(1);
    console.log(`${attempts} attempts, ${grants} grants of one permit or two, in ${seconds} s`);
    console.log(`${done} rounds in ${runs} runs: ${violated.length} violated, ${unknown} unknown`);
    console.log(`verdict ${verdict}`);
    return exitCodes[verdict];
  },
};
