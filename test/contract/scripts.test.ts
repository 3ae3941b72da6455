import * as redlock from "@quorlock/redlock/internal";
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

it("a guarded release that may not run INFO deletes the key, and grants it to no waiter", async () => {
  await using masters = await startMasters(1, { say: () => {} });
  const admin = new Redis(masters.urls[0]!);
  await admin.acl("SETUSER", "blind", "on", ">secret", "~*", "&*", "+@all", "-info");
  const blind = admin.duplicate({ username: "blind", password: "secret", enableReadyCheck: false });
  try {
    await admin.set("r", "mine", "PX", 60_000);
    await admin.eval(redlock.enqueueScript.source, 1, "r", "w.1", 60_000, 1, 60_000, "", "-");
    const { source } = redlock.guardedLeaveScript;
    expect(await blind.eval(source, 1, "r", "60000,11,0,1,1700000000000,0,0", "mine")).toBe(1);
    expect(await admin.get("r")).toBeNull();
  } finally {
    blind.disconnect();
    admin.disconnect();
  }
});
