import type { ContenderTerms } from "../contenders/contender.ts";
import { ours, peers } from "../contenders/lineup.ts";
import type { HoldingMessage, HoldingTask, WatchOrder } from "../holding/messages.ts";
import { alternate } from "../measure/alternate.ts";
import { Meter } from "../measure/meter.ts";
import { type Column, measurementsOf, type Rounds, spreadOf, tableOf, valuesOf } from "../measure/rounds.ts";
import { Child } from "../processes/child.ts";
import type { Goal } from "../report/goal.ts";
import type { Scale, Workload } from "../workload.ts";

const usualCount = 10_000;
/** What it may take to acquire them all, or to answer after the time that counts, ms. */
const settleLimit = 120_000;
/** The commands by which any library gives a key its time. */
const renewingCommands = ["set", "pexpire", "expire", "pexpireat", "psetex"];

type Quantity =
  | "cpuEach"
  | "renewals"
  | "requests"
  | "core"
  | "serverCpu"
  | "bytes"
  | "bytesOfItsOwn"
  | "acquiring"
  | "lost";
type Turn = Readonly<Record<Exclude<Quantity, "serverCpu" | "requests">, number>>;

const columns: readonly Column<Quantity>[] = [
  { quantity: "cpuEach", title: "client CPU us a renewal" },
  { quantity: "renewals", title: "renewals a second" },
  { quantity: "requests", title: "requests a renewal" },
  { quantity: "serverCpu", title: "server CPU us" },
  { quantity: "core", title: "% of a core" },
  { quantity: "bytes", title: "bytes a lock" },
  { quantity: "bytesOfItsOwn", title: "of its own" },
  { quantity: "acquiring", title: "acquired in ms" },
  { quantity: "lost", title: "lost" },
];

const notes = [
  "Each in a process of its own. A renewal: one lock extended on all masters; CPU and requests are of all of them.",
  "Bytes: heap in use. Of its own: without the caller's routine and an abort signal, by the same calls of a library that",
  "locks nothing. Lost: by the keys on one master.",
];

/** Very many locks, each kept extended until it is released. */
export const renewals: Workload = {
  name: "renewals",
  async run({ urls }, scale) {
    const count = scale.cycles ?? (scale.quick ? usualCount / 10 : usualCount);
    // Long enough to acquire them all before the first is due; each library renews at its own share of it.
    const ttl = scale.quick ? 3000 : 10_000;
    const title = `${count.toLocaleString("en")} locks kept extended, ttl ${ttl / 1000} s, N=${urls.length}`;
    const rounds = await playRounds(count, { urls, ttl }, scale);
    return {
      tables: [tableOf(title, rounds, columns, ours, notes)],
      goals: goalsOf(rounds),
      measurements: measurementsOf(title, rounds, columns),
    };
  },
};

async function playRounds(count: number, terms: ContenderTerms, scale: Scale): Promise<Rounds<Quantity>> {
  await using meter = await Meter.open(terms.urls);
  const names = [ours, ...peers].filter((name) => scale.contenders.includes(name));
  let played = 0;
  const taskOf = (contender: string): HoldingTask => {
    played += 1;
    // Names of its own each time: what a process left behind lives on for a ttl.
    return { contender, terms, prefix: `renewals:${played}`, count };
  };
  const turns = await alternate(names, scale.quick ? 1 : 5, async (name) => {
    const { turn, watched, renewed } = await hold(taskOf(name), meter, (window) => meter.serverCpuOf(window));
    return { ...turn, serverCpu: watched / renewed };
  });
  const rounds = new Map<string, readonly Record<Quantity, number>[]>();
  for (const [name, measured] of turns) {
    const { watched, renewed } = await hold(taskOf(name), meter, (window) => meter.requestsOf(window));
    rounds.set(
      name,
      measured.map((turn) => ({ ...turn, requests: watched / renewed })),
    );
  }
  return rounds;
}

async function hold(
  task: HoldingTask,
  meter: Meter,
  watch: (window: () => Promise<void>) => Promise<number>,
): Promise<{ readonly turn: Turn; readonly watched: number; readonly renewed: number }> {
  const { terms, count, prefix } = task;
  await using child = Child.start<HoldingMessage>("holding/holder", task);
  const settled = await child.message("settled", settleLimit);
  // A whole ttl: each lock is renewed in it, whenever its library does that.
  const order: WatchOrder = { kind: "watch", milliseconds: terms.ttl };
  let clientCpu = 0;
  const before = await meter.commandCounts();
  const watched = await watch(async () => {
    child.send(order);
    ({ clientCpu } = await child.message("watched", terms.ttl + settleLimit));
  });
  const after = await meter.commandCounts();
  const callsOf = (command: string): number => (after.get(command) ?? 0) - (before.get(command) ?? 0);
  const renewed = renewingCommands.reduce((sum, command) => sum + callsOf(command), 0);
  const turn: Turn = {
    cpuEach: clientCpu / renewed,
    renewals: renewed / (terms.ttl / 1000),
    core: clientCpu / (10 * terms.ttl),
    bytes: settled.bytesEach,
    bytesOfItsOwn: settled.bytesOfItsOwn!,
    acquiring: settled.milliseconds,
    lost: count - (await meter.namesHeld(prefix)),
  };
  return { turn, watched, renewed };
}

function goalsOf(rounds: Rounds<Quantity>): readonly Goal[] {
  if (!rounds.has(ours)) return [];
  const bytes = spreadOf(valuesOf(rounds, ours, "bytesOfItsOwn"));
  const lost = spreadOf(valuesOf(rounds, ours, "lost"));
  return [
    { name: "renewals: heap a held lock", measured: bytes.median, spread: bytes, limit: 1500, unit: "bytes" },
    { name: "renewals: locks lost", measured: lost.high, spread: lost, limit: 0, unit: "" },
  ];
}
