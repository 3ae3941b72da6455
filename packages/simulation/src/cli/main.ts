import type { Verdict } from "../checkers/findings.ts";
import { promisedPlan } from "../plan/swarm.ts";
import { simulate } from "../run/simulate.ts";
import { type Command, commandFrom, UsageError, usage } from "./arguments.ts";
import { explore } from "./explore.ts";
import { markLine, replayCommand, summaryLine, violationLines } from "./report.ts";

// The edge: the one place that knows of a terminal, an exit code and the time of day.

const exitCodes: Readonly<Record<Verdict, number>> = { ok: 0, violated: 1, unknown: 2 };
const notDeterministic = 3;
const badUsage = 64;

function print(time: number, entry: readonly unknown[]): void {
  console.log((time / 1000).toFixed(3).padStart(12), entry.join(" ").replaceAll("\n", " ").slice(0, 160));
}

async function run({ seed, engine, trace }: Extract<Command, { name: "run" }>): Promise<number> {
  const plan = promisedPlan(seed);
  const outcome = await simulate(plan, { engine, ...(trace ? { onEvent: print } : {}) });
  const again = await simulate(plan, { engine });
  console.log(summaryLine(outcome));
  console.log(markLine(outcome.marks));
  for (const line of violationLines(outcome)) console.log(line);
  const isSame = outcome.hash === again.hash;
  if (!isSame) console.log(`not deterministic: the second run came to hash ${again.hash}`);
  if (outcome.verdict !== "ok" || !isSame)
    console.log(`replay: ${replayCommand(seed)} --engine ${engine} --trace`);
  console.log(`seed ${seed}`);
  console.log(`verdict ${outcome.verdict}`);
  console.log(`hash ${outcome.hash}`);
  return isSame ? exitCodes[outcome.verdict] : notDeterministic;
}

async function exploreSeeds({ from, seeds, engine }: Extract<Command, { name: "explore" }>): Promise<number> {
  const begun = performance.now();
  let told = begun;
  let done = 0;
  const exploration = await explore({
    from,
    seeds,
    engine,
    onOutcome: (seed, outcome) => {
      done += 1;
      for (const line of violationLines(outcome)) console.log(`seed ${seed}: ${line}`);
      if (outcome.verdict === "violated")
        console.log(`replay: ${replayCommand(seed)} --engine ${engine} --trace`);
      const now = performance.now();
      if (now - told > 2000) {
        told = now;
        const left = ((now - begun) / done) * (seeds - done);
        console.error(`${done} of ${seeds} seeds, about ${Math.ceil(left / 1000)} s left`);
      }
      return true;
    },
  });
  const { operations, events, violated, unknown, unreached } = exploration;
  const seconds = (performance.now() - begun) / 1000;
  const rate = Math.round(operations / seconds);
  console.log(`${operations} calls in ${events} events, ${seconds.toFixed(1)} s: ${rate} calls a second`);
  console.log(markLine(exploration.marks));
  if (unreached.length > 0) console.log(`never reached: ${unreached.join(", ")}`);
  console.log(`least margin ${exploration.leastMargin.toFixed(3)} ms`);
  console.log(`seeds ${from} to ${from + seeds - 1}: ${violated.length} violated, ${unknown} unknown`);
  console.log(`verdict ${exploration.verdict}`);
  return exitCodes[exploration.verdict];
}

async function main(args: readonly string[]): Promise<number> {
  try {
    const command = commandFrom(args);
    return await (command.name === "run" ? run(command) : exploreSeeds(command));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(`${error.message}\n${usage}`);
    return badUsage;
  }
}

// The faults of masters are errors by the thousand, and nobody reads where each was made.
Error.stackTraceLimit = 0;
process.exitCode = await main(process.argv.slice(2));
