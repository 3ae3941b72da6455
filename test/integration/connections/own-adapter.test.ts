import { Redlock, type RedlockOptions } from "@quorlock/redlock";
import { RedisNode } from "@quorlock/redlock/internal";
import { afterEach, describe, expect, it } from "vitest";
// The package makes connections of clients and exports no function for it: here they are the adapter of an author.
import { connectionOf } from "../../../packages/redlock/src/adapters/client-libraries.ts";
import { until } from "../../contract/until.ts";
import { Fleet, fresh, rejection } from "../fleet/fleet.ts";

// Masters of an adapter as the page on adapters makes them: `new RedisNode(connection)`.

const ttl = 20_000;
const fleet = Fleet.forTests(1);
const redlocks: Redlock[] = [];
afterEach(() => Promise.all(redlocks.splice(0).map((redlock) => redlock.quit())));

function openAdapter(options: RedlockOptions, client: object = {}): Redlock {
  const [user] = fleet.open({ client }).clients;
  const redlock = new Redlock([new RedisNode(connectionOf(user!))], {
    nodeTimeout: 5000,
    owner: false,
    ...options,
  });
  redlocks.push(redlock);
  return redlock;
}

describe("a master of an adapter", () => {
  it.each([true, false])("keeps a queue of waiters if the option queue is %s", async (queue) => {
    const redlock = openAdapter({ queue });
    const resource = fresh();
    const lock = await redlock.acquire(resource, ttl);
    await fleet.admins[0]!.config("RESETSTAT");
    const hasQueue = async () => (await fleet.admins[0]!.info("commandstats")).includes("cmdstat_zadd:");
    const giveUp = new AbortController();
    const limits = queue ? { waitTimeout: 60_000, signal: giveUp.signal } : { waitTimeout: 300 };
    const refused = rejection(openAdapter({ queue }).acquire(resource, ttl, limits));
    if (queue) await until("the call has an entry", hasQueue);
    giveUp.abort();
    await refused;
    expect(await hasQueue()).toBe(queue);
    await lock.release();
  });

  it.each([
    [true, 1],
    [false, 0],
  ])("with groupCommit %s is sent two locks in %i scripts", async (groupCommit, scripts) => {
    const redlock = openAdapter({ groupCommit });
    await (await redlock.acquire(fresh(), ttl)).release();
    await fleet.teachScripts();
    await fleet.admins[0]!.config("RESETSTAT");
    const locks = await Promise.all([redlock.acquire(fresh(), ttl), redlock.acquire(fresh(), ttl)]);
    const stats = await fleet.admins[0]!.info("commandstats");
    expect(Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0)).toBe(scripts);
    await Promise.all(locks.map((lock) => lock.release()));
  });
});
