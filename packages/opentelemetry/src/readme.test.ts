import { readFileSync } from "node:fs";
import { Redlock } from "@quorlock/redlock";
import { startMasters } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { expect, test } from "vitest";
import { instrument } from "./instrument.ts";
import { Recorder } from "./recorder.ts";
import { register } from "./register.ts";

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");

test("the README lists the metrics and spans of a run, with their attributes", async () => {
  await using masters = await startMasters(3, { say: () => {} });
  const recorder = new Recorder();
  const { tracerProvider, meterProvider } = recorder;
  const stop = register({ tracerProvider, meterProvider, resourceClass: ([name]) => name });
  const redlock = new Redlock(masters.urls.map((url) => new Redis(url).on("error", () => {})));
  try {
    await redlock.ready();
    instrument(redlock);
    await redlock.using("r", 20_000, async (_, lock) => void (await lock.extend(20_000)));
    await masters.list[0]!.kill();
    await (await redlock.acquire("r", 20_000, { nodeTimeout: 100 })).release();
    await redlock.quit();
    const listed = (pattern: RegExp): string[] =>
      [...readme.matchAll(pattern)].map(([, name]) => name!).sort();
    const metrics = await recorder.metrics();
    expect(listed(/^\| `(quorlock\.[a-z.]+)`/gm)).toEqual(
      metrics.map(({ descriptor }) => descriptor.name).sort(),
    );
    expect(listed(/^\| `(quorlock [a-z]+)`/gm)).toEqual(
      [...new Set(recorder.spans.map(({ name }) => name))].sort(),
    );
    const attributes = new Set(
      [
        ...recorder.spans,
        ...metrics.flatMap(({ dataPoints }) => dataPoints as readonly { attributes: object }[]),
      ].flatMap((one) => Object.keys(one.attributes)),
    );
    expect([...attributes].filter((name) => !readme.includes(`\`${name}\``))).toEqual([]);
    expect(attributes.has("error.type")).toBe(true);
  } finally {
    stop();
    await recorder.stop();
  }
});
