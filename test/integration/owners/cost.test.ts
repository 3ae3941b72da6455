import { startProxy, type Proxy as TcpProxy } from "@quorlock/testbed";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet } from "../fleet/fleet.ts";

// A record costs a lock nothing: its commands and bytes are counted, by the masters and by proxies before them.

const fleet = Fleet.forTests(3);
const proxies: TcpProxy[] = [];

beforeAll(async () => {
  for (const master of fleet.masters) proxies.push(await startProxy(master));
});
afterAll(() => Promise.all(proxies.map((proxy) => proxy[Symbol.asyncDispose]())));

/** The commands that each master has executed, by name; those of scripts included. */
async function commands(): Promise<readonly string[]> {
  const statistics = await Promise.all(fleet.admins.map((admin) => admin.info("commandstats")));
  return statistics.flatMap((text, place) =>
    [...text.matchAll(/^cmdstat_(\S+):calls=(\d+)/gm)]
      .filter(([, name]) => !["info", "ping", "config|resetstat"].includes(name!))
      .map(([, name, calls]) => `${place} ${name} ${calls}`)
      .toSorted(),
  );
}

const bytes = (): readonly number[] =>
  proxies.flatMap(({ counters: { requests, replies } }) => [requests.bytes, replies.bytes]);

/** The cost of a hundred locks, one after the other, all of them between two writes of the record. */
async function costWith(owner: string | false): Promise<object> {
  await fleet.empty();
  const { redlock } = await fleet.openWarm({ on: proxies, owner });
  if (owner !== false) {
    // The warm-up has had the record written.
    await until("the record is on each master", async () =>
      (await Promise.all(fleet.admins.map((admin) => admin.exists("quorlock:owners")))).every(Boolean),
    );
  }
  const before = bytes();
  await Promise.all(fleet.admins.map((admin) => admin.config("RESETSTAT")));
  for (let count = 0; count < 100; count += 1) {
    const lock = await redlock.acquire(`cost:${100 + count}`, 60_000);
    await Promise.all(lock.attempts);
    await Promise.all((await lock.release()).attempts);
  }
  const cost = { commands: await commands(), bytes: bytes().map((total, place) => total - before[place]!) };
  await redlock.quit();
  return cost;
}

describe("a hundred locks", () => {
  it("take the same commands and bytes with and without the name of an owner", async () => {
    const named = await costWith("billing-7");
    expect(await costWith(false)).toEqual(named);
    expect(JSON.stringify(named)).toMatch(/"0 set 100"/);
  });
});
