import * as redlock from "@quorlock/redlock";
import { startMasters } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { expect, it } from "vitest";

const scripts = Object.entries(redlock).filter((exported): exported is [string, redlock.Script] =>
  exported[0].endsWith("Script"),
);

it.each(scripts)("%s is known by its sha1", async (name, script) => {
  await using masters = await startMasters(1, { say: () => {} });
  const client = new Redis(masters.urls[0]!);
  try {
    const digest = await client.script("LOAD", script.source);
    expect(script.sha1, `the sha1 of ${name} must be "${String(digest)}"`).toBe(digest);
  } finally {
    client.disconnect();
  }
});
