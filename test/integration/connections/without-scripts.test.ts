import { InvalidArgumentError, Redlock } from "@quorlock/redlock";
import { withoutScripts } from "@quorlock/redlock/without-scripts";
import {
  type Master,
  type Masters,
  startMasters,
  startProxy,
  type Proxy as TestProxy,
} from "@quorlock/testbed";
import { Cluster, Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask } from "../../contract/ask.ts";
import { until } from "../../contract/until.ts";
import { Fleet, fresh } from "../fleet/fleet.ts";
import { itWithIoredis } from "../fleet/library.ts";
import { WireTap } from "../fleet/wire-tap.ts";

// PROTOCOL 2.16.

const scripts = false;
const ttl = 20_000;

describe("masters that have no EVAL", () => {
  const config = ["EVAL", "EVALSHA"].flatMap((command) => ["--rename-command", command, ""]);
  const fleet = Fleet.forTests(3, { config });

  it("have one connection for all Redlocks of a client, and these exclude each other", async () => {
    const [admin] = fleet.admins;
    const connections = async () =>
      String(await admin!.call("CLIENT", "LIST", "TYPE", "normal"))
        .trim()
        .split("\n").length;
    await until("those of earlier tests are closed", async () => (await connections()) === 1);
    const { clients, redlock } = await fleet.openWarm({ scripts, on: fleet.masters.slice(0, 1) });
    const redlocks = [redlock, new Redlock(withoutScripts(clients)), new Redlock(withoutScripts(clients))];
    for (let round = 0; round < 20; round += 1) {
      const resources = [fresh(), fresh()];
      const locks = await Promise.all(redlocks.map((each) => each.tryAcquire(resources, ttl)));
      expect(locks.filter((lock) => lock !== null)).toHaveLength(1);
    }
    // The admin's, the user's own, and ours.
    expect(await connections()).toBe(3);
  });
});

const claimOf = (resource: string) => ({
  resources: [resource],
  token: "mine",
  ttl: 2 * ttl,
  abandoned: false,
});

describe("a client that leaves its connection in the middle of a transaction", () => {
  const fleet = Fleet.forTests(1);

  itWithIoredis("an event of select")("by SELECT, goes on in neither database", async () => {
    const [master] = fleet.masters as [Master];
    await using proxy = await startProxy(master);
    await using tap = await WireTap.on(fleet.admin(master));
    const { clients } = fleet.open({ scripts, on: [proxy] });
    const node = withoutScripts(clients)[0]!;
    const [first, second] = [fresh(), fresh()];
    await ask(node).inspect(first);
    for (const resource of [first, second]) await fleet.occupy(resource, [master], ttl, "mine");
    proxy.hold("replies");
    const waiting = [
      ask(node).extend(claimOf(first), true),
      ask(node).vote(claimOf(fresh())),
      ask(node).release([second], "mine"),
    ];
    await proxy.when(({ replies }) => replies.held > 0);
    const selected = clients[0]!.select(1);
    // Its reply leaves the proxy first: the user's connection is the older one.
    await proxy.when(({ replies }) => replies.held > 1);
    proxy.release("replies");
    await selected;
    for (const answer of await Promise.all(waiting))
      expect(answer).toMatchObject({ is: "fault", sent: false, error: { reason: "UNREACHABLE" } });
    expect((await tap.commands()).filter(({ database }) => database === "1")).toEqual([]);
    expect(await fleet.values(first)).toEqual(["mine"]);
    // Questions from then on are asked there.
    expect(await ask(node).vote(claimOf(first))).toMatchObject({ is: "yes" });
  });
});

describe("an own key that expires between reads and EXEC", () => {
  let masters: Masters;
  let proxy: TestProxy;
  let admin: Redis;
  let client: Redis;
  beforeAll(async () => {
    masters = await startMasters(1, { say: () => {} });
    proxy = await startProxy(masters.list[0]!);
    // For servers before Redis 6 as well: there EXEC goes by other rules.
    admin = new Redis(masters.urls[0]!, { protocol: 2 });
    client = new Redis(proxy.url, { protocol: 2 });
  });
  afterAll(async () => {
    for (const each of [admin, client]) each?.disconnect();
    await proxy?.stop();
    await masters?.stop();
  });

  // Which of these makes EXEC do nothing depends on the version of the server.
  describe.each(["deleted by then", "not deleted yet"])("%s", (how) => {
    const expired = async (resource: string, lifetime: number) => {
      const end = performance.now() + lifetime + 20;
      if (how === "deleted by then") {
        await until("it is gone", async () => (await admin.get(resource)) === null);
      } else await until("its time is over", () => performance.now() > end);
    };

    it.each([
      ["set", 1000],
      ["looked at", 1],
    ])("is not created by a plain extension by which it would be %s", async (_, wanted) => {
      const node = withoutScripts([client])[0]!;
      const [expiring, lasting] = [fresh(), fresh()];
      await ask(node).inspect(expiring);
      await admin.set(lasting, "mine", "PX", ttl);
      await admin.set(expiring, "mine", "PX", 300);
      proxy.hold("replies");
      const claim = { resources: [lasting, expiring], token: "mine", ttl: wanted, abandoned: false };
      const extension = ask(node).extend(claim, false);
      await proxy.when(({ replies }) => replies.held > 0);
      await expired(expiring, 300);
      proxy.release("replies");
      expect(await extension).toEqual({ is: "no", resource: expiring, owner: undefined, remaining: 0 });
      expect(await admin.get(expiring)).toBeNull();
      expect(await admin.get(lasting)).toBe("mine");
    });

    it("is created by a repair", async () => {
      const node = withoutScripts([client])[0]!;
      const resource = fresh();
      await ask(node).inspect(resource);
      await admin.set(resource, "mine", "PX", 300);
      proxy.hold("replies");
      const repair = ask(node).extend({ resources: [resource], token: "mine", ttl, abandoned: false }, true);
      await proxy.when(({ replies }) => replies.held > 0);
      await expired(resource, 300);
      proxy.release("replies");
      expect(await repair).toMatchObject({ is: "yes", remaining: ttl });
      expect(await admin.get(resource)).toBe("mine");
    });
  });
});

describe("what cannot be had", () => {
  const client = new Redis({ lazyConnect: true });
  const cluster = new Cluster([], { lazyConnect: true });
  afterAll(() => {
    client.disconnect();
    cluster.disconnect();
  });

  it("is refused at once: a queue, and a Cluster", () => {
    expect(() => new Redlock(withoutScripts([client]), { queue: true })).toThrow(/queue/);
    expect(() => new Redlock(withoutScripts([client]), { queue: false })).not.toThrow();
    expect(() => withoutScripts([client, cluster])).toThrow(InvalidArgumentError);
    expect(() => new Redlock([client, cluster], {})).not.toThrow();
  });
});
