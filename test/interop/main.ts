import { startMasters } from "@quorlock/testbed";
import { quorlock, redisLock, redlockPy, redsync } from "./contenders.ts";
import { type Contender, contend } from "./contention.ts";

// Clients of other makes contend with ours for the same key on the same masters: all exclude each other, for what is
// on the wire is the same. They poll and give up without passing on, so ours may be overtaken; that is no fault.

/** Milliseconds. */
const duration = 10_000;
/** Of each kind: two of one kind must exclude each other in this company as well. */
const copies = 2;

const kinds: Contender[] = [quorlock()];
let notRun = 0;
for (const kind of [await redisLock(true), await redlockPy(), await redsync()]) {
  if ("missing" in kind) {
    console.log(`NOT RUN: ${kind.name}: ${kind.missing}`);
    notRun += 1;
  } else {
    kinds.push(kind);
  }
}
const contenders = kinds.flatMap((kind) =>
  Array.from({ length: copies }, (_, index) => ({ ...kind, name: `${kind.name} ${index + 1}` })),
);
await using masters = await startMasters(3);
const { tallies, lostUpdates } = await contend(masters, contenders, duration);
console.table(tallies);
const all = Object.values(tallies);
const overlaps = all.reduce((sum, tally) => sum + tally.overlaps, 0);
const empty = all.filter(({ grants }) => grants === 0).length;
console.log(
  `${all.length} contenders, ${duration / 1000} s: ${overlaps} overlaps, ${lostUpdates} lost updates, ` +
    `${empty} without a grant; ${notRun} kinds not run`,
);
if (kinds.length === 1) console.log("NOT RUN: there is no rival to contend with");
// A contender that is not to be had here is no fault; one that is there and is not served is.
process.exitCode = overlaps + lostUpdates + empty > 0 || kinds.length === 1 ? 1 : 0;
