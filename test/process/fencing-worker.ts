import { Redlock, systemRuntime } from "@quorlock/redlock";
import { Redis } from "ioredis";

/** The settings that a worker is given. */
export interface FencingTask {
  readonly urls: readonly string[];
  /** The server that keeps what the lock protects. */
  readonly store: string;
  readonly resource: string;
  /** It goes on until so many holds are counted in the store. */
  readonly grants: number;
  /** Names in the store: how many holds there were, the token of the last one, and those that were not larger. */
  readonly record: Readonly<Record<"holds" | "latest" | "inversions", string>>;
  /** Of its clock, ms. */
  readonly clockOffset: number;
}

const { urls, store, resource, grants, record, clockOffset } = JSON.parse(process.argv[2]!) as FencingTask;
const runtime = { ...systemRuntime, wall: () => systemRuntime.wall() + clockOffset };
const clients = urls.map((url) => {
  const client = new Redis(url);
  // Masters are restarted meanwhile.
  client.on("error", () => {});
  return client;
});
const redlock = new Redlock(clients, { fencing: true, runtime, retryCount: -1, nodeTimeout: 1000 });
const protectedData = new Redis(store);
for (let held = 0; held < grants; ) {
  held = await redlock.using(resource, 20_000, { waitTimeout: 60_000 }, async (_, lock) => {
    const before = Number(await protectedData.getset(record.latest, lock.fencingToken!));
    if (before >= lock.fencingToken!)
      await protectedData.rpush(record.inversions, `${before} ${lock.fencingToken}`);
    return protectedData.incr(record.holds);
  });
}
await protectedData.quit();
await redlock.quit();
