import { ours, peers } from "../contenders/lineup.ts";
import {
  type ContestQuantity,
  figuresOf,
  runContest,
  type Schedule,
  type Setting,
} from "../measure/contest.ts";
import { Meter } from "../measure/meter.ts";
import { bestOf, type Column, measurementsOf, type Rounds, ratioOf, tableOf } from "../measure/rounds.ts";
import { alternate, type Spread, spreadOf } from "../measure/statistics.ts";
import { type Goal, ratioGoal } from "../report/goal.ts";
import type { Scale, Workload } from "../workload.ts";

/** Also the lifetime of the votes that redlock 5 leaves behind on a minority, ms. */
const ttl = 2000;
const contenders = [ours, ...peers];
/** Contenders that stall for a whole ttl: a quick run is too short for them. */
const stalling = ["redlock", "sesamecare"];

type Quantity = Exclude<ContestQuantity, "grants"> | "serverCpu";

const columns: readonly Column<Quantity>[] = [
  { quantity: "rate", title: "grants a second" },
  { quantity: "p50", title: "wait p50 ms" },
  { quantity: "p99", title: "wait p99 ms" },
  { quantity: "jain", title: "Jain index" },
  { quantity: "gapP50", title: "hand-over p50 ms" },
  { quantity: "gapP99", title: "hand-over p99 ms" },
  { quantity: "hold", title: "held ms" },
  { quantity: "requests", title: "requests a grant" },
  { quantity: "serverCpu", title: "server CPU us" },
  { quantity: "clientCpu", title: "client CPU us" },
  { quantity: "overlaps", title: "overlaps" },
  { quantity: "failures", title: "failed" },
];

const notes = [
  "Pauses between attempts, what was best for each: redlock and sesamecare 200 +- 100 ms and redis-semaphore 10 ms, as shipped;",
  "redlock-universal 10 ms (200 as shipped). No client gives up before the round ends.",
  "Hand-over: release called to acquire resolved in another process that waited. CPU is per grant, of all processes.",
  "Requests: commands that all clients send to all masters.",
  "A wait that had not come to an end counts with what it had lasted. Overlaps: grants while another one held.",
  `Locks have a ttl of ${ttl} ms: a gap without grants lasts that long.`,
];

/** The goals for our client. */
interface Aims {
  /** Minimum grants a second, relative to the best peer. */
  readonly rate: number;
  readonly inShort?: boolean;
}

/** Number of processes, workers in each, and how long each holds the lock, ms. */
const settings: readonly (Setting & Aims)[] = [
  { processes: 8, workers: 1, hold: 5, rate: 1.1 },
  { processes: 4, workers: 4, hold: 2, rate: 1.35, inShort: true },
];

/** Callers in several processes contend for one lock: throughput, fairness and cost. */
export const hotKeys: readonly Workload[] = settings.map(({ rate, inShort = false, ...setting }) => ({
  name: `hot-key-${setting.processes}x${setting.workers}-hold-${setting.hold}`,
  inShort,
  async run({ urls }, scale) {
    const { processes, workers, hold } = setting;
    const where = `hot key, ${processes} x ${workers}, hold ${hold} ms`;
    const title = `One ${where}, N=${urls.length}`;
    const rounds = await playRounds(setting, urls, scale);
    return {
      tables: [tableOf(title, rounds, columns, ours, notes)],
      goals: goalsOf(where, rounds, processes * workers, rate),
      measurements: measurementsOf(title, rounds, columns),
    };
  },
}));

async function playRounds(
  setting: Setting,
  urls: readonly string[],
  scale: Scale,
): Promise<Rounds<Quantity>> {
  await using meter = await Meter.open(urls);
  const schedule: Schedule = scale.quick ? { warmUp: 300, window: 1000 } : { warmUp: 700, window: 3000 };
  const names = contenders
    .filter((name) => scale.contenders.includes(name))
    .filter((name) => !scale.quick || !stalling.includes(name));
  return await alternate(names, scale.quick ? 3 : 5, async (name) => {
    const { contest, watched } = await runContest(name, { urls, ttl }, setting, schedule, (window) =>
      meter.serverCpuOf(window),
    );
    const figures = figuresOf(contest);
    return { ...figures, serverCpu: watched / figures.grants };
  });
}

function goalsOf(where: string, rounds: Rounds<Quantity>, waiters: number, rate: number): readonly Goal[] {
  const mine = rounds.get(ours);
  if (!mine) return [];
  const goal = (
    name: string,
    spread: Spread,
    limit: number,
    unit: string,
    more: Partial<Goal> = {},
  ): Goal => ({
    name: `${where}: ${name}`,
    measured: spread.median,
    spread,
    limit,
    unit,
    ...more,
  });
  const of = (quantity: Quantity): Spread => spreadOf(mine.map((round) => round[quantity]));
  const perfect = mine.map(({ p99, hold, gapP50 }) => p99 / (waiters * (hold + gapP50)));
  const isJudged = true;
  return [
    ...againstBest(`${where}: grants a second`, rounds, "rate", rate),
    ...againstBest(`${where}: server CPU a grant`, rounds, "serverCpu", 0.8),
    // Not judged: in a short run on a busy machine a single late process makes up the 99th percentile.
    goal("p99 wait", spreadOf(perfect), 1.2, "x a perfect queue"),
    goal("Jain index", of("jain"), 0.99, "", { isJudged, isFloor: true }),
    goal("overlaps", of("overlaps"), 0, "", { isJudged }),
    goal("hand-over p50", of("gapP50"), 0.8, "ms"),
  ];
}

/** The ratio of our client to the peer with the best value of this quantity. */
function againstBest(
  name: string,
  rounds: Rounds<Quantity>,
  quantity: "rate" | "serverCpu",
  limit: number,
): readonly Goal[] {
  const isFloor = quantity === "rate";
  const best = bestOf(rounds, peers, quantity, isFloor ? "more" : "less");
  return ratioGoal(name, ratioOf(rounds, ours, best, quantity), { limit, isFloor, unit: `x ${best}` });
}
