import { before, ours, peers, ringOfProcesses } from "../contenders/lineup.ts";
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
  "Hand-over: release called to acquire resolved by one that waited, in another process if there are several. CPU is per grant, of all",
  "processes.",
  "The ring hands over by bare PUBLISH to the next of its processes, without a lock: no client can be faster.",
  "Requests: commands that all clients send to all masters.",
  "A wait that had not come to an end counts with what it had lasted. Overlaps: grants while another one held.",
];

/** The goals for our client. */
interface Aims {
  readonly contenders: readonly string[];
  readonly ttl?: number;
  readonly fencing?: boolean;
  /** ms */
  readonly window?: number;
  /** Minimum grants a second, and maximum 99th percentile of the waits and server CPU of a grant, relative to the best peer. */
  readonly rate: number;
  readonly p99: number;
  readonly serverCpu: number;
  /** Minimum grants a second, and maximum of the hand-over, relative to the ring; set if it takes part. */
  readonly ring?: { readonly rate: number; readonly gapP50: number };
  readonly inShort?: boolean;
}

/** Number of processes, workers in each, and how long each holds the lock, ms. */
const settings: readonly (Setting & Aims)[] = [
  {
    contenders: [ours, before, ringOfProcesses, ...peers],
    processes: 8,
    workers: 1,
    hold: 5,
    rate: 1,
    p99: 1 / 7,
    serverCpu: 0.95,
    ring: { rate: 0.93, gapP50: 1.4 },
  },
  {
    contenders: [ours, before, ...peers],
    processes: 4,
    workers: 4,
    hold: 2,
    rate: 1.35,
    p99: 1 / 3,
    serverCpu: 0.8,
    inShort: true,
  },
  // No lease is fresh when it is released, so the next caller of the process asks the masters.
  ...[false, true].map((fencing) => ({
    contenders: [ours, before],
    processes: 1,
    workers: 20,
    hold: 150,
    ttl: 1000,
    fencing,
    window: 15_000,
    rate: 1,
    p99: 1,
    serverCpu: 1,
  })),
];

/** Callers in several processes contend for one lock: throughput, fairness and cost. */
export const hotKeys: readonly Workload[] = settings.map(({ inShort = false, ...setting }) => ({
  name: `hot-key-${setting.processes}x${setting.workers}-hold-${setting.hold}${setting.fencing ? "-fenced" : ""}`,
  inShort,
  async run({ urls }, scale) {
    const { processes, workers, hold, fencing } = setting;
    const where = `hot key, ${processes} x ${workers}, hold ${hold} ms${fencing ? ", fenced" : ""}`;
    const title = `One ${where}, N=${urls.length}`;
    const rounds = await playRounds(setting, urls, scale);
    const lifetime = `Locks have a ttl of ${setting.ttl ?? ttl} ms: a gap without grants lasts that long.`;
    return {
      tables: [tableOf(title, rounds, columns, ours, [...notes, lifetime])],
      goals: goalsOf(where, rounds, setting),
      measurements: measurementsOf(title, rounds, columns),
    };
  },
}));

async function playRounds(
  setting: Setting & Aims,
  urls: readonly string[],
  scale: Scale,
): Promise<Rounds<Quantity>> {
  await using meter = await Meter.open(urls);
  const { fencing = false, window = scale.quick ? 1000 : 3000 } = setting;
  const schedule: Schedule = { warmUp: scale.quick ? 300 : 700, window };
  const terms = { urls, ttl: setting.ttl ?? ttl, fencing };
  const names = setting.contenders
    .filter((name) => scale.contenders.includes(name))
    .filter((name) => !scale.quick || !stalling.includes(name));
  return await alternate(names, scale.quick ? 3 : 5, async (name) => {
    const { contest, watched } = await runContest(name, terms, setting, schedule, (watched) =>
      meter.serverCpuOf(watched),
    );
    const figures = figuresOf(contest);
    return { ...figures, serverCpu: watched / figures.grants };
  });
}

function goalsOf(
  where: string,
  rounds: Rounds<Quantity>,
  { processes, workers, rate, p99, serverCpu, ring }: Setting & Aims,
): readonly Goal[] {
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
  const waiters = processes * workers;
  const perfect = mine.map((round) => round.p99 / (waiters * (round.hold + round.gapP50)));
  const isJudged = true;
  return [
    ...againstBest(`${where}: grants a second`, rounds, "rate", rate),
    ...againstBest(`${where}: server CPU a grant`, rounds, "serverCpu", serverCpu),
    ...againstRing(where, rounds, ring),
    // Not judged: in a short run on a busy machine a single late process makes up the 99th percentile.
    ...againstBest(`${where}: p99 wait`, rounds, "p99", p99).map((one) => ({ ...one, isJudged: false })),
    goal("p99 wait", spreadOf(perfect), 1.2, "x a perfect queue"),
    goal("Jain index", of("jain"), 0.99, "", { isJudged, isFloor: true }),
    goal("overlaps", of("overlaps"), 0, "", { isJudged }),
    goal("hand-over p50", of("gapP50"), 1, "ms"),
  ];
}

/** The ratio of our client to the peer with the best value of this quantity. */
function againstBest(
  name: string,
  rounds: Rounds<Quantity>,
  quantity: "rate" | "serverCpu" | "p99",
  limit: number,
): readonly Goal[] {
  const isFloor = quantity === "rate";
  const best = bestOf(rounds, peers, quantity, isFloor ? "more" : "less");
  return ratioGoal(name, ratioOf(rounds, ours, best, quantity), { limit, isFloor, unit: `x ${best}` });
}

/** The ratios of our client to the least that a hand-over costs. */
function againstRing(where: string, rounds: Rounds<Quantity>, ring: Aims["ring"]): readonly Goal[] {
  if (!ring) return [];
  const ratio = (quantity: "rate" | "gapP50"): Spread | undefined =>
    ratioOf(rounds, ours, ringOfProcesses, quantity);
  const unit = `x ${ringOfProcesses}`;
  return [
    ...ratioGoal(`${where}: grants a second`, ratio("rate"), { limit: ring.rate, isFloor: true, unit }),
    ...ratioGoal(`${where}: hand-over p50`, ratio("gapP50"), { limit: ring.gapP50, unit, isJudged: false }),
  ];
}
