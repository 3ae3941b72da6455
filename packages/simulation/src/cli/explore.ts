import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { systemRuntime } from "@quorlock/redlock";
import { beyondPlan, guardedPlan, promisedPlan, sharedServerPlan, watchedPlan } from "../plan/swarm.ts";
import { type Exploration, explore as exploreTrials, plansOf, type Tally } from "../search/explore.ts";
import { guided } from "../search/guided.ts";
import { inOrder, type Runner, type Trial } from "../search/runner.ts";
import {
  type Arguments,
  choice,
  engineFrom,
  flag,
  parse,
  subjectFrom,
  text,
  UsageError,
  wholeNumber,
} from "./arguments.ts";
import { type Command, exitCodes } from "./command.ts";
import { writeReplay } from "./files.ts";
import { Pool } from "./pool.ts";
import { Progress } from "./progress.ts";
import { fileCommand, marginText, markLine, seedCommand, violationLines } from "./report.ts";

const options = {
  seeds: text,
  attempts: text,
  from: text,
  mode: text,
  beyond: flag,
  guarded: flag,
  watched: flag,
  shared: flag,
  workers: text,
  engine: text,
  subject: text,
  mutant: text,
};

export const explore: Command = {
  usage:
    "explore --seeds N | --attempts N [--from M] [--guarded | --watched | --shared | --beyond [--mode random|guided]] [--workers N] " +
    "[--subject NAME | --mutant NAME] [--engine fake-timers|heap]",
  purpose: "many runs, or as many as it takes for so many attempts to get a lock, on every core",
  async run(args) {
    const parsed = parse(args, options);
    const request = requestFrom(parsed);
    const { engine: engineName, workers: width = String(availableParallelism()) } = parsed.values;
    const engine = engineFrom(engineName, "heap");
    const workers = wholeNumber("workers", width, 1);
    const { subjectName } = await subjectFrom(parsed);
    await using pool = new Pool(workers);
    const begun = systemRuntime.monotonic();
    const exploration = await watch(request, subjectName, pool.runner(subjectName, engine));
    tell(exploration, (systemRuntime.monotonic() - begun) / 1000);
    return exitCodes[exploration.verdict];
  },
};

/** Of so many violations each is told; the others are counted. */
const mostTold = 20;

/**
 * What may happen: what is promised, or a little more. Guarded: masters may forget their votes, and the clients have the
 * restart guard. Watched: the clients watch the masters' clocks, which may step. Shared: two of three masters are one server.
 */
const worlds = {
  promised: promisedPlan,
  beyond: beyondPlan,
  guarded: guardedPlan,
  watched: watchedPlan,
  shared: sharedServerPlan,
};
type World = keyof typeof worlds;

interface Request {
  /** When it is enough: so many of these. */
  readonly unit: "runs" | "attempts";
  readonly count: number;
  readonly from: number;
  readonly world: World;
  readonly isGuided: boolean;
}

function requestFrom({ values }: Arguments): Request {
  const { seeds, attempts, from, mode } = values;
  const asked = (["beyond", "guarded", "watched", "shared"] as const).filter((name) => values[name] === true);
  if (asked.length > 1) throw new UsageError(`--${asked.join(" and --")} exclude each other`);
  const [world = "promised"] = asked;
  if (seeds !== undefined && attempts !== undefined)
    throw new UsageError("--seeds and --attempts exclude each other");
  const isGuided = choice("mode", mode, ["random", "guided"], "random") === "guided";
  if (isGuided && world !== "beyond")
    throw new UsageError(
      "--mode guided needs --beyond: inside the promised model there is nothing to come near to",
    );
  return {
    unit: attempts === undefined ? "runs" : "attempts",
    count: attempts === undefined ? wholeNumber("seeds", seeds, 1) : wholeNumber("attempts", attempts, 1),
    from: wholeNumber("from", from ?? "1"),
    world,
    isGuided,
  };
}

/** Runs what is asked for, and tells of violations as they are found. */
async function watch(
  { unit, count, from, world, isGuided }: Request,
  subjectName: string,
  runner: Runner,
): Promise<Exploration> {
  const trials = isGuided ? guided(runner, from) : inOrder(runner, plansOf(worlds[world], from));
  const progress = new Progress(count, unit);
  const commandFor = (trial: Trial): Promise<string> | string => {
    const { seed } = trial.plan;
    // `run` draws only these two.
    const isDrawn = !isGuided && (world === "promised" || world === "beyond");
    if (!isDrawn) return savedCommand(trial, subjectName);
    return seedCommand({ seed, isBeyond: world === "beyond", subjectName });
  };
  const exploration = await exploreTrials(trials, async (trial, soFar: Tally) => {
    if (trial.outcome.verdict === "violated" && soFar.violated.length <= mostTold) {
      progress.clear();
      const [first] = violationLines(trial.outcome);
      console.log(`seed ${trial.plan.seed}: ${first}\nreplay: ${await commandFor(trial)}`);
    }
    progress.reach(soFar[unit]);
    return soFar[unit] >= count;
  });
  progress.clear();
  return exploration;
}

/** A plan that was bred has no seed to draw it from again: it is saved. */
async function savedCommand({ plan, outcome }: Trial, subject: string): Promise<string> {
  const { verdict, hash } = outcome;
  const path = join(tmpdir(), `quorlock-${hash}.json`);
  await writeReplay(path, { version: 1, plan, subject, expected: { verdict, hash } });
  return fileCommand(path);
}

function tell(exploration: Exploration, seconds: number): void {
  const { runs, attempts, grants, operations, events, violated, unknown, unreached } = exploration;
  const rate = Math.round(operations / seconds);
  console.log(`${operations} calls in ${events} events, ${seconds.toFixed(1)} s: ${rate} calls a second`);
  console.log(markLine(exploration.marks));
  if (unreached.length > 0) console.log(`never reached: ${unreached.join(", ")}`);
  console.log(`${attempts} attempts, ${grants} grants, least margin ${marginText(exploration.leastMargin)}`);
  console.log(`${runs} runs: ${violated.length} violated, ${unknown} unknown`);
  console.log(`verdict ${exploration.verdict}`);
}
