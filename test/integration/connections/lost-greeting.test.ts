import { type Proxy as Line, startProxy } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis-5";
import { Redis as Valkey } from "iovalkey";
import { afterEach, beforeEach, describe, it } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet, fresh } from "../fleet/fleet.ts";

// A connection that is lost before the server has answered its first commands is made again.

const fleet = Fleet.forTests(1);
let line: Line;
beforeEach(async () => {
  line = await startProxy(fleet.masters[0]!);
});
afterEach(async () => {
  fleet.closeAll();
  await line.stop();
});

const cases = [
  ["ioredis 6", Redis],
  ["ioredis 5", Redis5],
  ["iovalkey", Valkey as unknown as typeof Redis],
].flatMap(([name, Client]) =>
  [true, false].map((enableReadyCheck) => [name, enableReadyCheck, Client] as const),
) as ReadonlyArray<[string, boolean, typeof Redis]>;

describe.each(cases)("a connection by %s, with a ready check: %s", (_, enableReadyCheck, Client) => {
  it("that is lost while the server greets it is made again, and votes", async () => {
    line.hold("replies");
    // A SELECT is sent in any case.
    const client = { db: 1, enableReadyCheck, retryStrategy: () => 20 };
    const { redlock } = fleet.open({ on: [line], Client, client, retryCount: 0 });
    // The user's connection and ours have sent their first commands.
    await line.when(({ accepted, requests }) => accepted >= 2 && requests.chunks >= 2);
    line.reset();
    line.release("replies");
    await until("it votes", async () => (await redlock.inspect(fresh()))[0]?.unreachable === undefined);
    const lock = await redlock.acquire(fresh(), 20_000);
    const waiting = redlock.acquire(lock.resources, 20_000, { retryCount: -1 });
    await lock.release();
    await (await waiting).release();
  });
});
