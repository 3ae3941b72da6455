import { ownerKey, ownersKey } from "@quorlock/redlock/internal";
import { Random } from "@quorlock/simulation";
import { type Masters, startMasters, startProxy } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Limit, mastersFrom } from "../masters.ts";
import { releaseByName } from "../release/release.ts";
import { Connections } from "./connections.ts";
import { type LockState, type LockView, locksOn, overview } from "./look.ts";
import { lookFrom } from "./watch.ts";

// Random incidents: what each view says, beside what is read from the masters themselves.

const count = 5;
const quorum = 3;
let masters: Masters;
let admins: readonly Redis[];
let proxies: ReadonlyArray<Awaited<ReturnType<typeof startProxy>>>;

beforeAll(async () => {
  masters = await startMasters(count, { source: "local-binary", say: () => {} });
  admins = masters.list.map(({ url }) => new Redis(url));
  proxies = await Promise.all(masters.list.map(({ host, port }) => startProxy({ host, port })));
});
afterAll(async () => {
  for (const proxy of proxies) await proxy.stop();
  for (const admin of admins) admin.disconnect();
  await masters.stop();
});

const owners = ["aaaaaaaa", "bbbbbbbb", "cccccccc"] as const;
/** The last write of the record of `bbbbbbbb` was 40 s ago, and `cccccccc` writes none. */
const ages = { aaaaaaaa: 5000, bbbbbbbb: 40_000 } as const;
const tokenOf = (tag: string): string => tag.repeat(4);
const resources = ["r0", "r1", "r2", "r3", "r4", "r5"] as const;

async function makeIncident(random: () => number): Promise<readonly number[]> {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  for (const admin of admins) await admin.flushall();
  for (const resource of resources) {
    const values = [tokenOf(pick(owners)), tokenOf(pick(owners)), "revoked:root@a"];
    const share = random();
    for (const admin of admins) {
      const kind = random() < share ? 0 : pick([0, 1, 2, 3, 4, 4]);
      if (kind < 3) await admin.set(resource, values[kind]!, "PX", 600_000);
      else if (kind === 3) await admin.hset(resource, "field", "1");
    }
  }
  const locks = resources.map((resource) => ({ resources: [resource], since: Date.now() }));
  for (const [tag, age] of Object.entries(ages))
    for (const admin of admins) {
      const record = { name: `owner ${tag}`, host: "a", pid: 1, writes: 3, ttl: 600_000, masters: [], locks };
      await admin.set(ownerKey(tag, false), JSON.stringify(record), "PX", 600_000 - age);
      await admin.zadd(ownersKey(false), Date.now() + 600_000, tag);
    }
  return proxies.flatMap((_, place) => (random() < 0.25 ? [place] : []));
}

interface Truth {
  readonly held: string | undefined;
  readonly free: number;
}

async function truthOf(resource: string): Promise<Truth> {
  const values = await Promise.all(
    admins.map(async (admin) =>
      (await admin.type(resource)) === "hash" ? "hash" : ((await admin.get(resource)) ?? ""),
    ),
  );
  const held = values.find(
    (value) => value !== "" && value !== "hash" && values.filter((other) => other === value).length >= quorum,
  );
  return { held, free: values.filter((value) => value === "").length };
}

/** The contradictions to the masters, in words. */
function contradictionOf(
  { state, owner }: Pick<LockView, "state" | "owner">,
  { held, free }: Truth,
  isAnyCut: boolean,
): string | undefined {
  const isGone = held === tokenOf("bbbbbbbb");
  const told: Record<LockState, boolean> = {
    held: held !== undefined && owner !== undefined && held === tokenOf(owner.tag) && !isGone,
    "owner-gone": isGone && owner?.tag === "bbbbbbbb",
    revoked: held?.startsWith("revoked:") === true,
    free: held === undefined && free >= quorum,
    "no-quorum": held === undefined && free < quorum,
    unknown: isAnyCut,
  };
  return told[state] ? undefined : `${state} of ${owner?.tag}, but ${held ?? "nobody"} and ${free} are free`;
}

test.each(Array.from({ length: 50 }, (_, seed) => seed))(
  "incident %i: every view says what the masters have, or that it is unknown",
  async (seed) => {
    const stream = new Random(seed);
    const random = (): number => stream.fraction();
    const cut = await makeIncident(random);
    for (const place of cut) proxies[place]!.hold("requests");
    const list = mastersFrom(
      proxies.map(({ url }) => url),
      {},
      {},
    );
    const ending = new AbortController();
    const limit: Limit = { timeout: 1000, signal: ending.signal };
    try {
      const patience = { hasGivenUp: false };
      const reached = await new Connections(list, limit).all(patience);
      const patient = { ...limit, patience };
      const inspected = (await locksOn(reached, resources, patient)).locks;
      const listed = await overview(reached, patient, { search: 1000 });
      const watched = lookFrom(reached, listed, new Map());
      for (const [place, resource] of resources.entries()) {
        const truth = await truthOf(resource);
        const shown = listed.locks.find((lock) => lock.resource === resource);
        if (!shown && cut.length < quorum) expect(truth.held, `ls lacks ${resource}`).toBeUndefined();
        const views = {
          inspect: inspected[place]!,
          ls: shown ?? inspected[place]!,
          watch: watched.get(`lock ${resource}`)?.lock ?? inspected[place]!,
        };
        for (const [view, told] of Object.entries(views))
          expect(contradictionOf(told, truth, cut.length > 0), `${view} of ${resource}`).toBeUndefined();
      }
      const { held } = await truthOf("r0");
      const asked = { by: "root@a", now: false, confirm: async () => false, limit };
      const release = await releaseByName(list, "r0", asked);
      if (release?.outcome === "free") expect(held).toBeUndefined();
      // It was asked to confirm.
      if (held !== undefined && cut.length === 0) expect(release).toBeUndefined();
    } finally {
      ending.abort();
      for (const proxy of proxies) await proxy.heal();
    }
  },
);

test("3,000 owners are listed, each with its lock", async () => {
  for (const admin of admins) {
    await admin.flushall();
    const pipeline = admin.pipeline();
    for (let index = 0; index < 3000; index += 1) {
      const tag = index.toString(16).padStart(8, "0");
      const locks = [{ resources: [`lock ${index}`], since: Date.now() }];
      pipeline.set(`lock ${index}`, tag.repeat(4), "PX", 600_000);
      const record = {
        name: `owner ${index}`,
        host: "a",
        pid: 1,
        writes: 3,
        ttl: 30_000,
        masters: [],
        locks,
      };
      pipeline.set(ownerKey(tag, false), JSON.stringify(record), "PX", 30_000);
      pipeline.zadd(ownersKey(false), Date.now() + 30_000, tag);
    }
    await pipeline.exec();
  }
  const list = mastersFrom(
    masters.list.map(({ url }) => url),
    {},
    {},
  );
  const ending = new AbortController();
  const limit = { timeout: 20_000, signal: ending.signal };
  const { locks, owners: found } = await overview(await new Connections(list, limit).all(), limit);
  ending.abort();
  expect([locks.length, found.length]).toEqual([3000, 3000]);
  expect(locks.every(({ state, owner }) => state === "held" && owner?.name !== undefined)).toBe(true);
});
