import type { ContenderTerms } from "../contenders/contender.ts";
import { Lineup } from "../contenders/lineup.ts";
import { timeOf, warmUp } from "../measure/load.ts";
import { alternate } from "../measure/statistics.ts";
import { sendToParent, task } from "./child.ts";

// Contenders that take turns in one process, which measures nothing else.

export interface PairsTask {
  readonly names: readonly string[];
  readonly terms: ContenderTerms;
  /** The same masters without added latency, for the warm-up. */
  readonly near: readonly string[];
  /** Locks per turn of a contender. */
  readonly inARow: number;
  /** Turns of each contender. */
  readonly turns: number;
  readonly quick: boolean;
}

/** One turn: ms, and client CPU in microseconds, for each acquire and release. */
export interface Pair {
  readonly time: number;
  readonly rate: number;
  readonly cpu: number;
}

export interface Pairs {
  readonly kind: "pairs";
  readonly rounds: ReadonlyArray<readonly [contender: string, turns: readonly Pair[]]>;
}

const { names, terms, near, inARow, turns, quick } = task() as PairsTask;
{
  await using warm = await Lineup.open(names, names, { ...terms, urls: near });
  await warmUp(warm.contenders, 1, { quick });
}
const lineup = await Lineup.open(names, names, terms);
const taken = await alternate(lineup.contenders, turns, async (contender): Promise<Pair> => {
  const before = process.cpuUsage();
  const time = (await timeOf(contender, `one-at-a-time:${contender.name}`, inARow)) / inARow;
  const { user, system } = process.cpuUsage(before);
  return { time, rate: 1000 / time, cpu: (user + system) / inARow };
});
const pairs: Pairs = { kind: "pairs", rounds: [...taken].map(([{ name }, values]) => [name, values]) };
await sendToParent(pairs);
process.exit();
