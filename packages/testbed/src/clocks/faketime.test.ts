import { Redis } from "ioredis";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Master } from "../masters.ts";
import { NoMastersError } from "../masters.ts";
import { type ClockedMasters, startMastersWithClocks } from "./faketime.ts";

let masters: ClockedMasters | undefined;
const clients: Redis[] = [];
/** The moment from which a rate counts is known to some milliseconds; and the machine may be busy. */
const tolerance = 150;

beforeEach(async (context) => {
  try {
    masters = await startMastersWithClocks(2);
  } catch (error) {
    if (!(error instanceof NoMastersError)) throw error;
    console.log(`SKIPPED: ${error.message}`);
    context.skip(error.message);
  }
}, 120_000);

afterEach(async () => {
  vi.unstubAllEnvs();
  for (const client of clients.splice(0)) client.disconnect();
  await masters?.stop();
  masters = undefined;
});

function clientOf(master: Master): Redis {
  const client = new Redis(master.url);
  client.on("error", () => {});
  clients.push(client);
  return client;
}

/** The offset of a master's clock from the machine's, ms; its error is at most the round trip. */
async function ahead(client: Redis): Promise<{ least: number; most: number; asked: number; heard: number }> {
  const asked = performance.now();
  const before = Date.now();
  const [seconds, microseconds] = await client.time();
  const time = Number(seconds) * 1000 + Number(microseconds) / 1000;
  const after = Date.now();
  return { least: time - after - 1, most: time - before + 1, asked, heard: performance.now() };
}

test("a step moves one master's clock, and what lives by it, while it runs", async () => {
  const [first, second] = masters!.list.map(clientOf) as [Redis, Redis];
  await first.set("k", "v", "PX", 30_000);
  await second.set("k", "v", "PX", 30_000);
  masters!.clocks[0]!.step(20_000);
  const stepped = await ahead(first);
  expect(stepped.least).toBeLessThanOrEqual(20_000);
  expect(stepped.most).toBeGreaterThanOrEqual(20_000);
  expect(await first.pttl("k")).toBeLessThanOrEqual(10_000);
  const other = await ahead(second);
  expect(other.least).toBeLessThanOrEqual(0);
  expect(other.most).toBeGreaterThanOrEqual(0);
  masters!.clocks[0]!.step(20_000);
  expect(await first.get("k")).toBeNull();
  masters!.clocks[0]!.step(-45_000);
  expect((await ahead(first)).most).toBeLessThan(0);
});

test("a rate makes a clock fast or slow, without a step", async () => {
  const [client] = masters!.list.map(clientOf) as [Redis];
  const clock = masters!.clocks[0]!;
  const begun = performance.now();
  clock.run(2);
  let reading = await ahead(client);
  // As much ahead as time has passed, and not more: there was no step.
  while (reading.most < 300) {
    expect(reading.least).toBeLessThan(reading.heard - begun + tolerance);
    expect(reading.most).toBeGreaterThan(reading.asked - begun - tolerance);
    reading = await ahead(client);
  }
  clock.run(0.5);
  const turned = await ahead(client);
  expect(turned.most).toBeGreaterThan(reading.least - tolerance);
  while (reading.least > turned.least - 100) reading = await ahead(client);
  clock.run(1);
  const kept = await ahead(client);
  expect(kept.least).toBeLessThan(reading.most + tolerance);
  expect(kept.most).toBeGreaterThan(reading.least - tolerance);
});

test("without a server, the reason is given", async () => {
  vi.stubEnv("PATH", "/nowhere");
  await expect(startMastersWithClocks(1, { say: () => {} })).rejects.toThrow(/need a redis-server/);
});
