import { Redlock } from "@quorlock/redlock";
import { type Proxy as FaultProxy, startProxy } from "@quorlock/testbed";
import { Redis, type RedisOptions } from "ioredis";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
// The package makes connections and exports no function for it.
import { RedisLink } from "../../../packages/redlock/src/adapters/ioredis/link.ts";
import { promised } from "../../../packages/redlock/src/adapters/link.ts";
import { until } from "../../contract/until.ts";
import { Fleet, fresh, type Opened, type OpenOptions, timed } from "../fleet/fleet.ts";
import { versions } from "../fleet/library.ts";
import { untilAllVote } from "../fleet/votes.ts";
import { WireTap } from "../fleet/wire-tap.ts";

// A silent connection: the server is slow, or the way to it is cut. Only where it is cut another one helps.

const fleet = Fleet.forTests(3);
const ttl = 4000;
let proxies: readonly FaultProxy[] = [];
let AnyRedis: typeof Redis = Redis;

beforeEach(async () => {
  proxies = await Promise.all(fleet.masters.map(startProxy));
});
afterEach(async () => {
  await Promise.all(proxies.map((proxy) => proxy.stop()));
});

function open(options: OpenOptions = {}): Opened {
  const client: RedisOptions = { retryStrategy: () => 20 };
  return fleet.open({ on: proxies, client, Client: AnyRedis, nodeTimeout: 400, retryCount: 0, ...options });
}

/** Connections that the proxies have ever accepted. */
const accepted = (): number => proxies.reduce((sum, { counters }) => sum + counters.accepted, 0);
const freezeAll = (): void => {
  for (const proxy of proxies) proxy.freeze();
};

describe.each(versions)("with %s:", (_version, Version) => {
  beforeEach(() => {
    AnyRedis = Version;
  });

  it("a slow server keeps its connection, and its late answers count", async () => {
    const { redlock: quick, clients } = open();
    await untilAllVote(quick, clients);
    const redlock = new Redlock(clients, { nodeTimeout: 4500, retryCount: 0 });
    const errors: unknown[] = [];
    redlock.on("error", (error) => errors.push(error));
    for (const proxy of proxies) proxy.delay(800);
    // 1.6 s for each: longer than a connection is silent, and there and back again for the greeting.
    const { result: lock, took, net } = await timed(() => redlock.acquire(fresh(), 20_000));
    expect(took).toBeGreaterThan(1500);
    expect(net).toBeLessThan(4000);
    const { attempts } = await lock.release();
    await Promise.all(attempts);
    expect(errors).toEqual([]);
  });

  it("a server that holds back writes keeps its connection, and its late answers count", async () => {
    const { redlock: quick, clients } = open();
    await untilAllVote(quick, clients);
    const redlock = new Redlock(clients, { nodeTimeout: 8000, retryCount: 0 });
    const errors: unknown[] = [];
    redlock.on("error", (error) => errors.push(error));
    const before = accepted();
    for (const admin of fleet.admins) await admin.call("CLIENT", "PAUSE", 3500, "WRITE");
    const lock = await redlock.acquire(fresh(), 40_000);
    const [stats] = await Promise.all(lock.attempts);
    expect(stats!.votesFor.size).toBe(3);
    await Promise.all((await lock.release()).attempts);
    expect(errors).toEqual([]);
    // One more for each master, to see whether the first is cut.
    expect(accepted() - before).toBeLessThanOrEqual(proxies.length);
  });

  it("masters that hang are not stormed with connections, and vote when they are back", async () => {
    const { redlock, clients } = open();
    await untilAllVote(redlock, clients);
    const before = accepted();
    for (const master of fleet.masters) await master.hang();
    try {
      const begun = performance.now();
      // Attempt after attempt, while a connection that was silent for 1 s has had the time to be doubted five times.
      while (performance.now() - begun < 6000) await redlock.acquire(fresh(), ttl).catch(() => undefined);
      // One more for each master.
      expect(accepted() - before).toBeLessThanOrEqual(proxies.length);
    } finally {
      for (const master of fleet.masters) await master.resume();
    }
    await untilAllVote(redlock, clients);
  });

  it("what was sent on a silent connection is sent on no other", async () => {
    const { redlock, clients } = open();
    await fleet.teachScripts();
    await untilAllVote(redlock, clients);
    await using tap = await WireTap.on(fleet.admins[0]!);
    const frozen: string[] = [];
    freezeAll();
    const before = accepted();
    while (accepted() === before) {
      frozen.push(fresh("frozen"));
      await redlock.acquire(frozen.at(-1)!, ttl).catch(() => undefined);
    }
    await untilAllVote(redlock, clients);
    const words = (await tap.commands()).map((command) => command.words);
    expect(frozen.length).toBeGreaterThan(1);
    // Roll-backs are, since they have to reach the master.
    for (const resource of frozen) {
      const claims = words.filter(([name, key]) => name?.toUpperCase() === "SET" && key === resource);
      expect(claims).toEqual([]);
    }
  });

  it("a second connection that goes silent as well is given up, and a third one takes its place", async () => {
    const { redlock, clients } = open();
    await untilAllVote(redlock, clients);
    const seconds = proxies.map(async (proxy) => {
      await proxy.nextRequest((bytes) => bytes.includes("quorlock:silence"));
      proxy.freeze();
    });
    freezeAll();
    const { net } = await timed(() => untilAllVote(redlock, clients));
    await Promise.all(seconds);
    expect(net).toBeLessThan(10_000);
  });

  it("a lock is held through it, where no other connection is silent", async () => {
    const { redlock, clients } = open();
    await untilAllVote(redlock, clients);
    const resource = fresh();
    await redlock.using(resource, 3000, async (signal) => {
      for (const proxy of proxies) {
        const { accepted: before } = proxy.counters;
        proxy.freeze();
        await until("it is replaced", () => proxy.counters.accepted > before);
        await until("it is extended on every master", async () =>
          (await fleet.lifetimes(resource)).every((left) => left > 2000),
        );
        expect(signal.aborted).toBe(false);
      }
    });
  });

  it("the subscription is replaced with it, so that a grant arrives", async () => {
    const { redlock, clients } = open();
    const waiters = new Redlock(clients, { nodeTimeout: 400 });
    const holder = fleet.open({ Client: AnyRedis });
    const resource = fresh();
    await untilAllVote(redlock, clients);
    const held = await holder.redlock.acquire(resource, 30_000);
    const waiting = waiters.acquire(resource, 30_000, { waitTimeout: 30_000 });
    const listened = async () => {
      const counts = await Promise.all(
        fleet.admins.map((admin) => admin.pubsub("CHANNELS", "quorlock:inbox:*")),
      );
      return counts.every((channels) => channels.length > 0);
    };
    await until("it is listened to", listened);
    freezeAll();
    const before = accepted();
    // Own and listening connection, of each.
    await until("both are replaced", () => accepted() - before >= 2 * proxies.length);
    await until("it is listened to", listened);
    const { net } = await timed(async () => {
      await held.release();
      await (await waiting).release();
    });
    expect(net).toBeLessThan(1500);
  });

  it("a connection that is cut is over at once, whatever is on its way", async () => {
    const client = new AnyRedis(fleet.masters[0]!.port);
    try {
      for (const words of [0, 1, 200_000]) {
        const link = new RedisLink(client, { db: 0, keyPrefix: "" });
        await new Promise<void>((onReady) => link.dial({ onReady, onAccepted() {}, onLost() {} }));
        await fleet.masters[0]!.hang();
        // More than the kernel takes.
        const sent = Array.from({ length: words && 100 }, () =>
          promised((done) => link.post({ command: "SET", args: ["large", "x".repeat(words)] }, done)),
        );
        const settled = Promise.allSettled(sent);
        // As where nothing else is sent on it.
        if (words === 1) link.end();
        let isOver = false;
        void link.drop().then(() => {
          isOver = true;
        });
        await until(`it is closed with ${words} bytes on their way`, () => isOver, 1000);
        await settled;
        await fleet.masters[0]!.resume();
      }
    } finally {
      await fleet.masters[0]!.resume();
      client.disconnect();
    }
  });
});
