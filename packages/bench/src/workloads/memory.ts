import { spreadOf } from "../measure/statistics.ts";
import { Child } from "../programs/child.ts";
import type { HolderTask, Weighed } from "../programs/holder.ts";
import type { Goal } from "../report/goal.ts";
import { figure } from "../report/table.ts";
import type { Workload } from "../workload.ts";

/** Longer than all of it takes, ms. */
const ttl = 300_000;
const limit = 240_000;

interface Kind {
  readonly what: HolderTask["what"];
  readonly name: string;
  readonly usual: number;
  /** What one may take, bytes. */
  readonly most: number;
}

/** Those who wait alone ask again every second: of many more, most would be on their way at any moment. */
const kinds: readonly Kind[] = [
  { what: "held", name: "held by acquire", usual: 10_000, most: 800 },
  { what: "using", name: "held in using", usual: 10_000, most: 1500 },
  { what: "waits", name: "waiting for one resource", usual: 10_000, most: 2000 },
  { what: "waits-alone", name: "waiting, each for its own", usual: 2000, most: 2000 },
  // Nothing may be left of them.
  { what: "cycles", name: "acquired and released", usual: 50_000, most: 100 },
];

/** What a lock takes in memory while it is held or waited for, and after it was released. */
export const memory: Workload = {
  name: "memory",
  async run({ urls }, scale) {
    const rows: string[][] = [];
    const goals: Goal[] = [];
    for (const { what, name, usual, most } of kinds) {
      const count = scale.cycles ?? (scale.quick ? usual / 5 : usual);
      const weighed: Weighed[] = [];
      while (weighed.length < (scale.quick ? 1 : 3)) {
        const prefix = `memory:${what}:${weighed.length}`;
        const task: HolderTask = { urls, ttl, prefix, count, what };
        await using child = Child.start<Weighed>("holder", task);
        weighed.push(await child.message("weighed", limit));
      }
      const own = spreadOf(weighed.map(({ bytes, callers }) => bytes - callers));
      const all = spreadOf(weighed.map(({ bytes }) => bytes));
      const range = `${figure(own.low)}..${figure(own.high)}`;
      rows.push([`${count.toLocaleString("en")} ${name}`, figure(own.median), range, figure(all.median)]);
      goals.push({ name: `memory, ${name}`, measured: own.median, spread: own, limit: most, unit: "bytes" });
    }
    const notes = [
      "Heap in use after a collection, in a process of its own, for each; in it the Lock, or the promise, that the caller keeps.",
      "Of its own: without what the caller's routine takes, by the same calls of what locks nothing; the abort signal is in it.",
    ];
    const columns = ["", "of its own", "95 %", "with the caller's"];
    return { tables: [{ title: "Bytes of heap a lock", columns, rows, notes }], goals };
  },
};
