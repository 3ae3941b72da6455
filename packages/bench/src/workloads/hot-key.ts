import { ours, peers } from "../contenders/lineup.ts";
import { runContest, type Schedule, type Setting, type Watch } from "../hot-key/contest.ts";
import { type ContestFigures, type ContestQuantity, figuresOf } from "../hot-key/figures.ts";
import { alternate } from "../measure/alternate.ts";
import { Meter } from "../measure/meter.ts";
import {
  bestOf,
  type Column,
  measurementsOf,
  type Rounds,
  ratioOf,
  type Spread,
  spreadOf,
  tableOf,
} from "../measure/rounds.ts";
import { type Goal, ratioGoal } from "../report/goal.ts";
import type { Scale, Workload } from "../workload.ts";

/** Of what redlock 5 leaves behind on a minority each lasts so long. */
const ttl = 2000;
const contenders = [ours, ...peers];
/** In a second or so a stall that lasts a ttl shows nothing else. */
const stalling = "redlock";

type Quantity = Exclude<ContestQuantity, "grants"> | "serverCpu" | "requests";

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
  "Pauses between attempts, what was best for each: redlock 200 +- 100 ms and redis-semaphore 10 ms, as shipped;",
  "redlock-universal 10 ms (200 as shipped). Nobody gives up before the round ends.",
  "Hand-over: release called to acquire resolved in another process that waited. CPU is per grant, of all processes.",
  "Requests: what clients send to one master, by MONITOR in a round of its own, times the number of masters.",
  "A wait that had not come to an end counts with what it had lasted. Overlaps: grants while another one held.",
  `Locks live ${ttl} ms: where nobody is granted anything for a while, that is how long it lasts.`,
];

/** What is asked of this client, in multiples of the best peer's. */
interface Aims {
  readonly rate: number;
  readonly serverCpu?: number;
}

/** Processes times workers, and how long each holds, ms. */
const settings: readonly (Setting & { readonly aims?: Aims; readonly inShort?: boolean })[] = [
  { processes: 8, workers: 1, hold: 5, aims: { rate: 1.1, serverCpu: 1 }, inShort: true },
  { processes: 4, workers: 4, hold: 2, aims: { rate: 1.35, serverCpu: 1 / 3 }, inShort: true },
  { processes: 32, workers: 1, hold: 2, aims: { rate: 3 } },
  { processes: 64, workers: 1, hold: 2 },
  { processes: 64, workers: 1, hold: 5 },
];

/** Callers in several processes that all want the same lock: order, fairness, and what it takes. */
export const hotKeys: readonly Workload[] = settings.map(({ aims, inShort = false, ...setting }) => ({
  name: `hot-key-${setting.processes}x${setting.workers}-hold-${setting.hold}`,
  inShort,
  async run({ urls }, scale) {
    const { processes, workers, hold } = setting;
    const where = `hot key, ${processes} x ${workers}, hold ${hold} ms`;
    const title = `One ${where}, N=${urls.length}`;
    const rounds = await playRounds(setting, urls, scale);
    const ratioNote = "x: in multiples of ours.";
    return {
      tables: [tableOf(title, rounds, columns, ours, [...notes, ratioNote])],
      goals: aims ? goalsOf(where, rounds, processes * workers, aims) : [],
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
  const schedule: Schedule = scale.quick ? { warmUp: 300, window: 1000 } : { warmUp: 1000, window: 4000 };
  const play = async (
    contender: string,
    watch: Watch,
  ): Promise<{ figures: ContestFigures; watched: number }> => {
    const { contest, watched } = await runContest(contender, { urls, ttl }, setting, schedule, watch);
    return { figures: figuresOf(contest), watched };
  };
  const names = contenders
    .filter((name) => scale.contenders.includes(name))
    .filter((name) => !scale.quick || name !== stalling);
  const turns = await alternate(names, scale.quick ? 3 : 5, async (name) => {
    const { figures, watched } = await play(name, (window) => meter.serverCpuOf(window));
    return { ...figures, serverCpu: watched / figures.grants };
  });
  const rounds = new Map<string, readonly Record<Quantity, number>[]>();
  for (const [name, measured] of turns) {
    const { figures, watched } = await play(name, (window) => meter.requestsOf(window));
    const requests = watched / figures.grants;
    rounds.set(
      name,
      measured.map((turn) => ({ ...turn, requests })),
    );
  }
  return rounds;
}

function goalsOf(where: string, rounds: Rounds<Quantity>, waiters: number, aims: Aims): readonly Goal[] {
  const mine = rounds.get(ours);
  if (!mine) return [];
  const goal = (name: string, spread: Spread, limit: number, unit: string, isFloor = false): Goal => ({
    name: `${where}: ${name}`,
    measured: spread.median,
    spread,
    limit,
    unit,
    isFloor,
    isJudged: true,
  });
  const of = (quantity: Quantity): Spread => spreadOf(mine.map((round) => round[quantity]));
  const perfect = mine.map(({ p99, hold, gapP50 }) => p99 / (waiters * (hold + gapP50)));
  return [
    goal("requests a grant", of("requests"), 12, ""),
    ...againstBest(`${where}: grants a second`, rounds, "rate", aims.rate),
    ...(aims.serverCpu
      ? againstBest(`${where}: server CPU a grant`, rounds, "serverCpu", aims.serverCpu)
      : []),
    goal("p99 wait", spreadOf(perfect), 1.5, "x a perfect queue"),
    goal("Jain index", of("jain"), 0.99, "", true),
    goal("overlaps", of("overlaps"), 0, ""),
    ...againstBest(`${where}: hand-over p50`, rounds, "gapP50", 1),
    ...againstBest(`${where}: hand-over p99`, rounds, "gapP99", 0.5),
  ];
}

/** Ours over the peer that is best at this. */
function againstBest(
  name: string,
  rounds: Rounds<Quantity>,
  quantity: Quantity,
  limit: number,
): readonly Goal[] {
  const isFloor = quantity === "rate";
  const best = bestOf(rounds, peers, quantity, isFloor ? "more" : "less");
  // A second has too few hand-overs for their 99th percentile to be judged by.
  const isJudged = quantity !== "gapP99";
  return ratioGoal(name, ratioOf(rounds, ours, best, quantity), {
    limit,
    isFloor,
    isJudged,
    unit: `x ${best}`,
  });
}
