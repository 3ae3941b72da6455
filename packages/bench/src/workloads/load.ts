import { before, ours } from "../contenders/lineup.ts";
import { Meter } from "../measure/meter.ts";
import { startProgram } from "../programs/child.ts";
import type { Counted, ManyTask } from "../programs/many.ts";
import type { Goal } from "../report/goal.ts";
import { figure, type Table } from "../report/table.ts";
import type { Scale, Workload } from "../workload.ts";

/** Time limit for one case, ms. */
const caseLimit = 150_000;

/** In seconds. */
const ttls = { all: [1, 5, 30], quick: [1, 5] } as const;
const counts = { all: [1000, 3000, 10_000, 30_000], quick: [1000, 10_000] } as const;

interface Case {
  readonly name: string;
  readonly ttl: number;
  readonly count: number;
}

interface Played extends Case {
  readonly counted: Counted;
  /** Keys left, on all masters together. */
  readonly left: number;
}

const columns = [
  "",
  "held",
  "lost",
  "latest extension, ms after due",
  "refused",
  "error events",
  "UNREACHABLE",
  "decided in ms",
  "quit in ms",
  "error events of quit",
  "keys left",
];

const notes = [
  "Each row in its own process, which asks for all leases in one turn, in `using`, and holds them for 3 s or nearly half a ttl.",
  "Latest extension: seen every 50 ms or 1/20 of the ttl. It is due when a third of the ttl has passed; two thirds later the lease is lost.",
  "Refused: `using` was rejected. Error events: of masters that all are healthy; where processors are short some do not answer within nodeTimeout. Keys left: on all masters, right after `quit`.",
];

/** Leases up to and beyond the number that one process can hold. */
export const load: Workload = {
  name: "load",
  isApart: true,
  async run({ urls }, scale) {
    await using meter = await Meter.open(urls);
    const played: Played[] = [];
    for (const one of casesOf(scale)) played.push(await play(one, urls, meter, played.length));
    return { tables: [tableOf(played, urls.length)], goals: goalsOf(played) };
  },
};

function casesOf(scale: Scale): readonly Case[] {
  const size = scale.quick ? "quick" : "all";
  const names = [before, ours].filter((name) => scale.contenders.includes(name));
  const wanted = scale.cycles === undefined ? counts[size] : [scale.cycles];
  return ttls[size].flatMap((seconds) =>
    wanted.flatMap((count) => names.map((name) => ({ name, ttl: seconds * 1000, count }))),
  );
}

async function play(one: Case, urls: readonly string[], meter: Meter, number: number): Promise<Played> {
  const { name, ttl, count } = one;
  const prefix = `load:${number}`;
  const task: ManyTask = { contender: name, terms: { urls, ttl }, prefix, count };
  await using child = startProgram<Counted>("many", task);
  const counted = await child.message("counted", caseLimit);
  return { ...one, counted, left: await meter.takeAway(prefix) };
}

function tableOf(played: readonly Played[], masters: number): Table {
  const rows = played.map(({ name, ttl, count, counted, left }) => [
    `${count.toLocaleString("en")}, ttl ${ttl / 1000} s: ${name}`,
    `${counted.held}`,
    `${counted.lost}`,
    figure(Math.max(0, counted.latest - ttl / 3)),
    `${counted.refused}`,
    `${counted.errors}`,
    `${counted.unreachable}`,
    figure(counted.milliseconds),
    figure(counted.quit),
    `${counted.quitErrors}`,
    `${left}`,
  ]);
  return { title: `Leases held in \`using\` by one process, N=${masters}`, columns, rows, notes };
}

function goalsOf(played: readonly Played[]): readonly Goal[] {
  const own = played.filter(({ name }) => name === ours);
  if (own.length === 0) return [];
  const most = (value: (one: Played) => number): number => Math.max(...own.map(value));
  return [
    { name: "load: leases lost", measured: most(({ counted }) => counted.lost), limit: 0, unit: "" },
    {
      name: "load: UNREACHABLE events of healthy masters",
      measured: most(({ counted }) => counted.unreachable),
      limit: 0,
      unit: "",
    },
    { name: "load: keys left by quit", measured: most(({ left }) => left), limit: 0, unit: "" },
  ];
}
