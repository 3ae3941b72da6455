import { Redlock } from "@quorlock/redlock";
import { Redis } from "ioredis";

/** The message of a worker when it is done. */
export interface Counted {
  /** Rounds in which another one was inside as well. */
  readonly intrusions: number;
}

export interface CountingTask {
  readonly urls: readonly string[];
  readonly rounds: number;
}

/** Where the count is kept: as plain a read and write as there can be, which only a lock keeps from losing some. */
export const counter = "counter";

/** Adds one, under the lock, as often as it is told to. */
export async function count({ urls, rounds }: CountingTask): Promise<Counted> {
  const clients = urls.map((url) => new Redis(url));
  const store = new Redis(urls[0]!);
  const redlock = new Redlock(clients, {
    nodeTimeout: 1000,
    waitTimeout: 60_000,
    retryDelay: 5,
    retryJitter: 5,
  });
  let intrusions = 0;
  for (let round = 0; round < rounds; round += 1) {
    await redlock.using("guarded", 20_000, async () => {
      if ((await store.incr("inside")) > 1) intrusions += 1;
      const before = Number(await store.get(counter));
      await store.set(counter, before + 1);
      await store.decr("inside");
    });
  }
  await redlock.quit();
  await store.quit();
  return { intrusions };
}
