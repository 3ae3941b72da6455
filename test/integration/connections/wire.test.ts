import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { turn, until } from "../../contract/until.ts";
import { Fleet, fresh } from "../fleet/fleet.ts";
import { sendBy } from "../fleet/library.ts";
import { WireTap } from "../fleet/wire-tap.ts";

// PROTOCOL 6.3, 13.1.

let fleet: Fleet;
let tap: WireTap;
beforeAll(async () => {
  fleet = await Fleet.start(3);
});
afterEach(async () => {
  await tap?.[Symbol.asyncDispose]();
  fleet.closeAll();
});
afterAll(() => fleet?.stop());

/** The commands that one master executes from here on; the clients are connected by then. */
async function tapped(options: Parameters<Fleet["open"]>[0] = {}): Promise<ReturnType<Fleet["open"]>> {
  const opened = await fleet.openWarm(options);
  tap = await WireTap.on(fleet.admins[0]!);
  return opened;
}

const words = async (): Promise<(readonly string[])[]> =>
  (await tap.commands()).map((command) => command.words);

it("nothing is sent while nothing is locked", async () => {
  const { redlock } = await tapped();
  const { redlock: another } = fleet.open();
  redlock.resume({ resources: [fresh()], value: "0".repeat(32), ttl: 1000 });
  await until("the other one is connected", async () => {
    const [first] = await another.inspect("nothing");
    return first?.unreachable === undefined;
  });
  expect((await words()).filter((sent) => !sent.includes("i1,0;"))).toEqual([]);
});

it("locks do not wait behind the client's own blocking commands", async () => {
  const { redlock, clients } = await tapped();
  const list = fresh("list");
  const popped = clients.map((client) => sendBy(client, "BLPOP", list, "0"));
  await turn();
  const lock = await redlock.acquire(fresh(), 5000);
  expect((await lock.release()).outcome).toBe("released");
  await Promise.all(fleet.admins.map((admin) => admin.rpush(list, "done")));
  await Promise.all(popped);
});

it("two Redlocks of the same clients share their connections", async () => {
  const { clients } = await tapped();
  const before = Number(/connected_clients:(\d+)/.exec(await fleet.admins[0]!.info("clients"))![1]);
  const { Redlock } = await import("@quorlock/redlock");
  const more = [0, 1, 2].map(() => new Redlock(clients, { nodeTimeout: 5000 }));
  for (const redlock of more) expect(await redlock.tryAcquire(fresh(), 20_000)).not.toBeNull();
  const after = Number(/connected_clients:(\d+)/.exec(await fleet.admins[0]!.info("clients"))![1]);
  expect(after).toBe(before);
});
