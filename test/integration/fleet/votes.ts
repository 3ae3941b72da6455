import type { Redlock } from "@quorlock/redlock";
import { until } from "../../contract/until.ts";
import { fresh } from "./fleet.ts";

const ttl = 4000;

/** Whether each master votes, in their order. */
async function votes(redlock: Redlock, clients: readonly object[]): Promise<boolean[]> {
  const lock = await redlock.acquire(fresh(), ttl).catch(() => undefined);
  if (!lock) return clients.map(() => false);
  const [stats] = await Promise.all(lock.attempts);
  await lock.release();
  return clients.map((one) => stats!.votesFor.has(one));
}

/** Until one acquire has the votes of all. */
export async function untilAllVote(
  redlock: Redlock,
  clients: readonly object[],
  timeout = 60_000,
): Promise<void> {
  const all = clients.map(() => true);
  let latest: boolean[] = [];
  await until(
    () => `every master votes, and not ${JSON.stringify(latest)}`,
    async () => {
      latest = await votes(redlock, clients);
      return JSON.stringify(latest) === JSON.stringify(all);
    },
    timeout,
  );
}
