import { type Master, startProxy } from "@quorlock/testbed";
import { afterAll, beforeAll, expect } from "vitest";
import { until } from "../contract/until.ts";
import { Fleet, fresh } from "../integration/fleet/fleet.ts";
import { itWithIoredis } from "../integration/fleet/library.ts";
import { WireTap } from "../integration/fleet/wire-tap.ts";

// PROTOCOL 2.2.

let fleet: Fleet;
beforeAll(async () => {
  fleet = await Fleet.start(3);
});
afterAll(() => fleet?.stop());

const ttl = 20_000;

itWithIoredis("resending")(
  "after a reconnect no SET of a lock that is over is executed, with the client's resending on",
  async () => {
    const [first, second, third] = fleet.masters as [Master, Master, Master];
    await using proxy = await startProxy(third);
    const { redlock, clients } = await fleet.openWarm({ nodeTimeout: 1000, on: [first, second, proxy] });
    // The user's own command waits for the same reconnect, and is sent again.
    proxy.hold("requests");
    const resource = fresh();
    const lock = await redlock.acquire(resource, ttl);
    await proxy.when(({ requests }) => requests.held > 0);
    await using tap = await WireTap.on(fleet.admin(third));
    const users = clients[2]!.set("the user's own", "sent again", "PX", 5000);
    expect((await lock.release()).outcome).toBe("released");
    proxy.reset();
    proxy.release("requests");
    await users;
    await until("our own connection stands again", async () => {
      const [, , inspection] = await redlock.inspect(resource);
      return inspection!.unreachable === undefined;
    });
    expect(await fleet.values(resource)).toEqual([null, null, null]);
    const sets = (await tap.commands()).filter(({ words }) => words[0] === "SET");
    expect(sets.map(({ words }) => words[1])).toEqual(["the user's own"]);
  },
);
