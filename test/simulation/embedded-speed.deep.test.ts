import { Redlock } from "@quorlock/redlock";
import { startEmbeddedMasters } from "@quorlock/simulation/embedded";
import { startMasters } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { expect, test } from "vitest";

// Embedded masters start at once. The time is measured beside that of real ones, and printed.

const count = 5;
const starts = 3;
const pairs = 300;

interface Started extends AsyncDisposable {
  readonly urls: readonly string[];
}

const embedded = (): Promise<Started> => startEmbeddedMasters(count);
const real = (): Promise<Started> => startMasters(count, { say: () => {} });

/** The quickest of a few: the others tell how busy the machine was. */
async function startUp(start: () => Promise<Started>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < starts; round += 1) {
    const began = performance.now();
    await using masters = await start();
    await Promise.all(masters.urls.map(ping));
    least = Math.min(least, performance.now() - began);
  }
  return least;
}

async function ping(url: string): Promise<void> {
  const client = new Redis(url);
  await client.ping();
  client.disconnect();
}

/** Locks acquired and released a second, by so many callers at a time. */
async function rate(start: () => Promise<Started>, callers: number): Promise<number> {
  await using masters = await start();
  const redlock = new Redlock(masters.urls.map((url) => new Redis(url)));
  const work = async (name: string, times: number): Promise<void> => {
    for (let turn = 0; turn < times; turn += 1) {
      const lock = await redlock.acquire(name, 30_000);
      await lock.release();
    }
  };
  const together = (times: number) =>
    Promise.all(Array.from({ length: callers }, (_, caller) => work(`caller-${caller}`, times / callers)));
  await together(callers);
  const began = performance.now();
  await together(pairs);
  const seconds = (performance.now() - began) / 1000;
  await redlock.quit();
  return pairs / seconds;
}

test("embedded masters answer sooner than servers do, and how fast both lock", async () => {
  const upEmbedded = await startUp(embedded);
  const upReal = await startUp(real);
  const lines = [`up and answering: embedded ${upEmbedded.toFixed(1)} ms, servers ${upReal.toFixed(1)} ms`];
  for (const callers of [1, 20]) {
    const [e, r] = [await rate(embedded, callers), await rate(real, callers)];
    lines.push(
      `acquire and release, ${callers} at a time: embedded ${e.toFixed(0)}/s, servers ${r.toFixed(0)}/s`,
    );
  }
  console.log(lines.map((line) => `${count} masters, ${line}`).join("\n"));
  expect(upEmbedded).toBeLessThan(upReal);
});
