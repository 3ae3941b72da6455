import { expect, test } from "vitest";
import { scenarios } from "../scenarios/scenarios.ts";
import { pictureOf } from "./picture-of.ts";
import { record } from "./recording.ts";
import { runStrip } from "./run-strip.ts";

async function stripOf(name: string): Promise<string> {
  const scenario = scenarios.find((candidate) => candidate.name === name)!;
  return runStrip(pictureOf(await record(scenario.plan(1))), { title: "A < B", command: "pnpm sim" });
}

test("two holders at once are marked, with the time; each master shows its keys, each fault has its moment", async () => {
  const strip = await stripOf("clock-jump-on-c");
  expect(strip).toContain("A &#60; B");
  expect(strip).toMatch(/both hold the lock for 200 ms/);
  expect(strip.match(/<title>holds the lock</g)).toHaveLength(2);
  // Client 0 has A, B and C; client 1 has C, D and E.
  expect(strip.match(/<title>key of client 0</g)).toHaveLength(3);
  expect(strip.match(/<title>key of client 1</g)).toHaveLength(3);
  // One fault while the lock is held: its line, the same line beside its note and in the legend.
  expect(strip.match(/class="fault"/g)).toHaveLength(3);
  expect(strip.match(/<line class="fault"[^>]* y1="130"/g)).toHaveLength(1);
  expect(strip).toContain("113 ms: wall clock set by +20,000 ms: master C");
  expect(strip).toContain("client 1, masters A, B");
});

test("the head names what is drawn, and the legend explains each colour and shape", async () => {
  const strip = await stripOf("clock-jump-on-c");
  expect(strip).toContain(">Simulated run: one lock, 5 masters, 2 clients, ttl 2,000 ms<");
  const legend = [...strip.matchAll(/<g transform="translate\((\d+) 76\)">.*?>([^<]+)<\/text><\/g>/g)];
  expect(legend.map(([, , text]) => text)).toEqual(["client 0", "client 1", "two holders at once", "fault"]);
  const places = legend.map(([, at]) => Number(at));
  expect(places).toEqual(places.toSorted((a, b) => a - b));
});

test("one holder after the other is not marked", async () => {
  expect(await stripOf("clock-jump-under-all-five")).not.toContain("both hold");
});
