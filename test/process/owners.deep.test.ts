import { Redlock } from "@quorlock/redlock";
import { ownerKey, ownersKey } from "@quorlock/redlock/internal";
import { Child } from "@quorlock/simulation/processes";
import { type Masters, startMasters } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../contract/until.ts";

let masters: Masters;
let admins: readonly Redis[];

beforeAll(async () => {
  masters = await startMasters(3, { say: () => {} });
  admins = masters.urls.map((url) => new Redis(url));
});
afterAll(async () => {
  for (const admin of admins) admin.disconnect();
  await masters?.stop();
});

const everywhere = async (is: (admin: Redis) => Promise<boolean>): Promise<boolean> =>
  (await Promise.all(admins.map(is))).every(Boolean);

const isIn = async (admin: Redis, tag: string): Promise<boolean> =>
  (await admin.zscore(ownersKey(false), tag)) !== null;

describe("the record of a process that is killed", () => {
  it("is gone within 30 s, its place in the index with the next write of another owner, and the other one stays", async () => {
    const redlock = new Redlock(
      masters.urls.map((url) => new Redis(url)),
      { owner: "survivor", nodeTimeout: 2000 },
    );
    const other = (await redlock.acquire("other", 5000)).value.slice(0, 8);
    const child = Child.node(new URL("candidate.ts", import.meta.url), ["60000", ...masters.urls]);
    await until("it leads", () => child.lines.includes("leads"), 20_000);
    const tag = (await admins[0]!.get("scheduler"))!.slice(0, 8);
    const isRecorded = async (admin: Redis) =>
      (await admin.exists(ownerKey(tag, false))) === 1 && (await isIn(admin, tag));
    await until("it is recorded", () => everywhere(isRecorded), 15_000);
    const begun = performance.now();
    await child.kill();
    expect(await everywhere(isRecorded)).toBe(true);
    const isGone = async (admin: Redis) => (await admin.exists(ownerKey(tag, false))) === 0;
    await until("its record is gone", () => everywhere(isGone), 30_500);
    // A record is written each 10 s, so that 20 s are left of it at least.
    expect(performance.now() - begun).toBeGreaterThan(19_000);
    await until("its place is gone", () => everywhere(async (admin) => !(await isIn(admin, tag))), 11_000);
    expect(await everywhere((admin) => isIn(admin, other))).toBe(true);
    await redlock.quit();
    // The last owner takes the index with it.
    await until("the index is gone", () =>
      everywhere(async (admin) => (await admin.exists(ownersKey(false))) === 0),
    );
  }, 90_000);
});
