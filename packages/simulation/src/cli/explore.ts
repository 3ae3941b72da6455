import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { systemRuntime } from "@quorlock/redlock";
import { until } from "../command-line/interruption.ts";
import { type Arguments, flag, parse, text, UsageError } from "../command-line/options.ts";
import { known, wholeNumber } from "../command-line/program.ts";
import { membershipPlan } from "../plan/membership.ts";
import {
  beyondPlan,
  clusterPlan,
  evictionPlan,
  guardedOutlierPlan,
  guardedPlan,
  movedPlan,
  promisedPlan,
  removalPlan,
  sharedServerPlan,
  watchedPlan,
} from "../plan/swarm.ts";
import { type Exploration, explore as exploreTrials, plansOf } from "../search/explore.ts";
import { guided } from "../search/guided.ts";
import { inOrder, type Runner, type Trial } from "../search/runner.ts";
import { roundsPlan } from "../semaphore/rounds-plan.ts";
import { subjectFrom, subjectOptions } from "./arguments.ts";
import { type Command, exitCodes, neverInterrupted } from "./command.ts";
import { writeReplay } from "./files.ts";
import { Pool } from "./pool.ts";
import { Progress } from "./progress.ts";
import { fileCommand, marginText, markLines, seedCommand, shortfallLine, violationLines } from "./report.ts";

const options = {
  seeds: text("N", "number of runs"),
  attempts: text("N", "runs until the clients have made this number of attempts to acquire a lock"),
  from: text("M", "first seed; default 1"),
  guarded: flag("masters may lose their memory, and the clients use the restart guard"),
  watched: flag("the masters' clocks may step, and the clients watch them"),
  shared: flag("two of three masters are one server"),
  moved: flag("addresses of masters change places"),
  cluster: flag("the only master is a Cluster, and the slot of all locks moves"),
  changing: flag("clients restart, one after the other, with a list that has one master more or less"),
  removal: flag("the keys of locks are deleted while they are held"),
  eviction: flag("single keys of masters are evicted"),
  rounds: flag("twelve clients ask for one resource at the same time, a hundred times in each run"),
  beyond: flag("also draws faults beyond those that the protocol survives"),
  mode: text("MODE", "random (default), or guided: varies the plans that came closest to a violation"),
  workers: text("N", "number of threads; default: one for each core"),
  ...subjectOptions,
};

export const explore: Command = {
  usage:
    "explore --seeds N | --attempts N [--from M] [--guarded | --watched | --guarded --watched | --shared | --moved | --cluster | --changing | --removal | --eviction | --rounds | --beyond [--mode random|guided]] [--workers N] " +
    "[--subject NAME | --mutant NAME]",
  about: "runs many seeds on every core, and prints each violation with the command that replays it",
  options,
  examples: [
    "explore --seeds 2000",
    "explore --seeds 500 --from 1000 --subject semaphore",
    "explore --attempts 100000 --watched",
  ],
  isInterruptible: true,
  async run(args, interrupted = neverInterrupted) {
    const parsed = parse(args, options);
    const request = requestFrom(parsed);
    const { workers: width = String(availableParallelism()) } = parsed.values;
    const workers = wholeNumber("workers", width);
    const { subjectName } = await subjectFrom(parsed.values);
    await using pool = new Pool(workers);
    const begun = systemRuntime.monotonic();
    const exploration = await watch(request, subjectName, pool.runner(subjectName), interrupted);
    if (interrupted.aborted)
      console.log(`interrupted after ${exploration[request.unit]} of ${request.count} ${request.unit}`);
    print(exploration, (systemRuntime.monotonic() - begun) / 1000);
    return exitCodes[exploration.verdict];
  },
};

/** The number of violations that are printed; the others are only counted. */
const maxPrinted = 20;

/** The fault models, by their option. */
const worlds = {
  promised: promisedPlan,
  beyond: beyondPlan,
  guarded: guardedPlan,
  watched: watchedPlan,
  "guarded watched": guardedOutlierPlan,
  shared: sharedServerPlan,
  moved: movedPlan,
  cluster: clusterPlan,
  changing: membershipPlan,
  removal: removalPlan,
  eviction: evictionPlan,
  rounds: roundsPlan,
};
type World = keyof typeof worlds;

function isWorld(name: string): name is World {
  return name in worlds;
}

interface Request {
  /** The exploration ends after `count` of these. */
  readonly unit: "runs" | "attempts";
  readonly count: number;
  readonly from: number;
  readonly world: World;
  readonly isGuided: boolean;
}

function requestFrom({ values }: Arguments<typeof options>): Request {
  const { seeds, attempts, from, mode } = values;
  const asked = Object.keys(worlds).filter((name) => name in values);
  const world = asked.length === 0 ? "promised" : asked.join(" ");
  if (!isWorld(world)) throw new UsageError(`--${asked.join(" and --")} exclude each other`);
  if (seeds !== undefined && attempts !== undefined)
    throw new UsageError("--seeds and --attempts exclude each other");
  const isGuided = known("mode", mode ?? "random", ["random", "guided"]) === "guided";
  if (isGuided && world !== "beyond")
    throw new UsageError(
      "--mode guided needs --beyond: within the promised fault model there is no violation to come close to",
    );
  return {
    unit: attempts === undefined ? "runs" : "attempts",
    count: attempts === undefined ? wholeNumber("seeds", seeds) : wholeNumber("attempts", attempts),
    from: wholeNumber("from", from ?? "1", 0),
    world,
    isGuided,
  };
}

/** Runs the request, and prints violations as they are found. */
async function watch(
  { unit, count, from, world, isGuided }: Request,
  subjectName: string,
  runner: Runner,
  interrupted: AbortSignal,
): Promise<Exploration> {
  const trials = isGuided ? guided(runner, from) : inOrder(runner, plansOf(worlds[world], from));
  const progress = new Progress(count, unit);
  const commandFor = (trial: Trial): Promise<string> | string => {
    const { seed } = trial.plan;
    // `run` draws plans of these two models only.
    const isDrawn = !isGuided && (world === "promised" || world === "beyond");
    if (!isDrawn) return savedCommand(trial, subjectName);
    return seedCommand({ seed, isBeyond: world === "beyond", subjectName });
  };
  const exploration = await exploreTrials(until(interrupted, trials), async (trial, soFar: Exploration) => {
    if (trial.outcome.verdict === "violated" && soFar.violated.length <= maxPrinted) {
      progress.clear();
      const [first] = violationLines(trial.outcome);
      console.log(`seed ${trial.plan.seed}: ${first}\nreplay: ${await commandFor(trial)}`);
    }
    const shortfall = shortfallLine(trial.outcome);
    if (shortfall !== undefined) {
      progress.clear();
      console.log(`seed ${trial.plan.seed}: ${shortfall}`);
    }
    progress.reach(soFar[unit]);
    return soFar[unit] >= count;
  });
  progress.clear();
  return exploration;
}

/** Saves a plan that `run` cannot draw again from its seed. */
async function savedCommand({ plan, outcome }: Trial, subject: string): Promise<string> {
  const { verdict, hash } = outcome;
  const path = join(tmpdir(), `quorlock-${hash}.json`);
  await writeReplay(path, { version: 1, plan, subject, expected: { verdict, hash } });
  return fileCommand(path);
}

function print(exploration: Exploration, seconds: number): void {
  const { runs, attempts, grants, operations, events, violated, unknown, unreached } = exploration;
  const rate = Math.round(operations / seconds);
  console.log(`${operations} calls in ${events} events, ${seconds.toFixed(1)} s: ${rate} calls a second`);
  for (const line of markLines(exploration.marks)) console.log(line);
  if (unreached.length > 0) console.log(`never reached: ${unreached.join(", ")}`);
  console.log(`${attempts} attempts, ${grants} grants, least margin ${marginText(exploration.leastMargin)}`);
  console.log(`${runs} runs: ${violated.length} violated, ${unknown} unknown`);
  console.log(`verdict ${exploration.verdict}`);
}
