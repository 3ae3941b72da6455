import { spreadOf } from "../measure/statistics.ts";
import { startProgram } from "../programs/child.ts";
import type { HolderTask, Weighed } from "../programs/holder.ts";
import type { Goal } from "../report/goal.ts";
import { figure } from "../report/table.ts";
import type { Workload } from "../workload.ts";

/** Longer than a case takes, ms. */
const ttl = 300_000;
const limit = 240_000;

interface Kind {
  readonly what: HolderTask["what"];
  readonly name: string;
  readonly defaultCount: number;
  /** The goal: bytes for each. */
  readonly max: number;
}

/** Waiters with a resource each poll every second: with more of them, most would have commands in flight at any time. */
const kinds: readonly Kind[] = [
  { what: "held", name: "held by acquire", defaultCount: 10_000, max: 800 },
  { what: "using", name: "held in using", defaultCount: 10_000, max: 1500 },
  { what: "waits", name: "waiting for one resource", defaultCount: 10_000, max: 2000 },
  { what: "waits-alone", name: "waiting, each for its own", defaultCount: 2000, max: 2000 },
  // Released locks leave nothing behind.
  { what: "cycles", name: "acquired and released", defaultCount: 50_000, max: 100 },
];

/** The memory of a lock while it is held, while it is waited for, and after its release. */
export const memory: Workload = {
  name: "memory",
  async run({ urls }, scale) {
    const rows: string[][] = [];
    const goals: Goal[] = [];
    for (const { what, name, defaultCount, max } of kinds) {
      const count = scale.cycles ?? (scale.quick ? defaultCount / 5 : defaultCount);
      const weighed: Weighed[] = [];
      while (weighed.length < (scale.quick ? 1 : 3)) {
        const prefix = `memory:${what}:${weighed.length}`;
        const task: HolderTask = { urls, ttl, prefix, count, what };
        await using child = startProgram<Weighed>("holder", task);
        weighed.push(await child.message("weighed", limit));
      }
      const own = spreadOf(weighed.map(({ bytes, callers }) => bytes - callers));
      const all = spreadOf(weighed.map(({ bytes }) => bytes));
      const range = `${figure(own.low)}..${figure(own.high)}`;
      rows.push([`${count.toLocaleString("en")} ${name}`, figure(own.median), range, figure(all.median)]);
      goals.push({ name: `memory, ${name}`, measured: own.median, spread: own, limit: max, unit: "bytes" });
    }
    const notes = [
      "Heap in use after a collection, in its own process, for each; in it the Lock, or the promise, that the caller keeps.",
      "Of its own: without what the caller's routine takes, by the same calls of what locks nothing; the abort signal is in it.",
    ];
    const columns = ["", "its own", "95 %", "with the caller's"];
    return { tables: [{ title: "Bytes of heap a lock", columns, rows, notes }], goals };
  },
};
