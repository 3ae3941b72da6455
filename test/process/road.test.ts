import { runProgram } from "@quorlock/simulation/processes";
import { startMasters } from "@quorlock/testbed";
import { expect, it } from "vitest";
import type { RoadFrames } from "./road-frames.ts";

/** The benchmark's, run on the sources. */
const program = new URL("../../packages/bench/src/programs/counts.ts", import.meta.url);

const framesProgram = new URL("road-frames.ts", import.meta.url);

/** The part of its result that is bounded. */
interface Counts {
  readonly acquire: { readonly files: number };
  readonly release: { readonly files: number };
  readonly promises: number;
  readonly timers: number;
}

/**
 * The counts of a lock alone today, with room for a straggler's answer: half a timer. A change that raises a bound says
 * why. Functions are printed and not bounded: a bound rewards inlining.
 */
const bounds = {
  // A question waits in a window, and is carried in a batch by the wire of its master: each has a file of its own.
  // A ballot is asked by the first attempt as by a waiter, and the errors of a call have a file of their own.
  // So have the votes of a ballot, and of a master its connection, the link that is current and the client behind that.
  acquire: { files: 43 },
  release: { files: 28 },
  promises: 18,
  timers: 3.5,
};

it("one lock alone, without contention, enters and makes no more than it did", {
  timeout: 60_000,
}, async () => {
  await using masters = await startMasters(5, { say: () => {} });
  const task = { contender: "ours", terms: { urls: masters.urls, ttl: 10_000 }, callers: 1, quick: true };
  const { code, output, errors } = await runProgram(program, [JSON.stringify(task)]);
  expect(code, errors).toBe(0);
  const counts = JSON.parse(output) as Counts;
  console.log(`one acquire and release of 5 masters: ${output}`);
  for (const step of ["acquire", "release"] as const)
    expect(counts[step].files).toBeLessThanOrEqual(bounds[step].files);
  expect(counts.promises).toBeLessThanOrEqual(bounds.promises);
  expect(counts.timers).toBeLessThanOrEqual(bounds.timers);
});

/**
 * From the call to `sendCommand` of ioredis. A change that raises one says why: a round asks one master by a step of its own,
 * since a master without the key is asked to set it again in the same round (PROTOCOL 4.7). Masters of all wires post by one
 * step, which knows whether they may be asked; they send at the end of one turn; and a window makes its batches in one place.
 * The loop of acquire makes its first attempt too, by a ballot.
 */
const maxFrames = { acquire: 19, release: 16 };

it("acquire and release have no more frames to the socket than they had", async () => {
  await using masters = await startMasters(5, { say: () => {} });
  const { code, output, errors } = await runProgram(framesProgram, masters.urls);
  expect(code, errors).toBe(0);
  console.log(`frames to the socket: ${output}`);
  const frames = JSON.parse(output) as RoadFrames;
  for (const step of ["acquire", "release"] as const)
    expect(frames[step].toSchedule + frames[step].toSend, step).toBeLessThanOrEqual(maxFrames[step]);
});
