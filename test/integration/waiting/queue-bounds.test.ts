import { enqueueScript, leaveScript, releaseBatchScript } from "@quorlock/redlock/internal";
import { describe, expect, it, onTestFinished } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet, fresh } from "../fleet/fleet.ts";

// PROTOCOL 7.14.

// The cost of a queue for its master is bounded: for any number of keys in one request, and of dead waiters.

const fleet = Fleet.forTests(3);

const ttl = 10_000;

/** How many commands the first master executes, those of scripts included. A count is the same on a busy machine. */
async function commandsOf(work: () => Promise<unknown>): Promise<number> {
  const [admin] = fleet.admins as [(typeof fleet.admins)[0]];
  await admin.config("RESETSTAT");
  await work();
  const stats = await admin.info("commandstats");
  return [...stats.matchAll(/calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0);
}

describe("a waiter for many resources", () => {
  it.each([10, 100, 1000])(
    "costs a master the same number of commands per resource for %i",
    async (count) => {
      const [admin] = fleet.admins as [(typeof fleet.admins)[0]];
      const name = fresh();
      const keys = Array.from({ length: count }, (_, index) => `${name}-${index}`);
      for (const key of keys.slice(0, count / 2)) await admin.set(key, "another-client.1", "PX", ttl);
      const enqueue = (round: number) =>
        admin.eval(enqueueScript.source, count, ...keys, `w.${round}`, ttl, 1, ttl, "", "-");
      for (const round of [1, 2, 3]) {
        const commands = await commandsOf(() => enqueue(round));
        expect(commands / count, `round ${round}`).toBeLessThan(14);
      }
      const release = () =>
        admin.eval(leaveScript.source, count / 2, ...keys.slice(0, count / 2), "another-client.1");
      expect((await commandsOf(release)) / count).toBeLessThan(8);
      expect((await commandsOf(() => enqueue(4))) / count).toBeLessThan(18);
      expect(await admin.get(keys[0]!)).toBe("w.4");
    },
  );
});

describe("dead waiters in a queue", () => {
  it("do not accumulate behind a live one: one new entry in ten removes them", async () => {
    const resource = fresh();
    const [admin] = fleet.admins as [(typeof fleet.admins)[0]];
    const holder = await fleet.openWarm();
    const living = await fleet.openWarm();
    const held = await fleet.hold(resource, ttl, holder.redlock);
    const waiting = living.redlock.acquire(resource, ttl, { retryCount: -1 });
    await fleet.untilWaiting(resource);
    const queue = `quorlock:queue:{${resource}}`;
    // Members without an entry, as those leave whose process has died.
    const later = (Date.now() + 1000) * 1000;
    const dead = Array.from({ length: 20 }, (_, index) => [later + index, `dead-${index}`]).flat();
    await admin.zadd(queue, ...(dead as [number, string]));
    for (let digit = 0; digit < 10; digit += 1) {
      const args = [`visitor-${digit}.1`, ttl, later + 100 + digit, ttl, "", "-"];
      await admin.eval(enqueueScript.source, 1, resource, ...args);
    }
    expect(await admin.zcard(queue)).toBe(11);
    await held.release();
    await (await waiting).release();
  });

  it.each([
    ["a release", leaveScript, ["holder.1"]],
    ["many releases", releaseBatchScript, Array.from({ length: 100 }, () => "holder.1")],
    ["a queue entry", enqueueScript, ["w.1", ttl, 1_000_000, ttl, "", "-"]],
  ])("of a hundred keys, many for each: %s sweeps some of them alone", async (_, { source }, args) => {
    const [admin] = fleet.admins as [(typeof fleet.admins)[0]];
    const name = fresh();
    const keys = Array.from({ length: 100 }, (_, index) => `${name}-${index}`);
    const dead = Array.from({ length: 200 }, (_, index) => [index, `dead-${index}`]).flat() as [
      number,
      string,
    ];
    for (const key of keys) {
      if (source !== enqueueScript.source) await admin.set(key, "holder.1", "PX", ttl);
      await admin.zadd(`quorlock:queue:{${key}}`, ...dead);
    }
    await admin.eval(source, keys.length, ...keys, ...args);
    const lengths = await Promise.all(keys.map((key) => admin.zcard(`quorlock:queue:{${key}}`)));
    const left = lengths.reduce((sum, length) => sum + Math.min(length, 200), 0);
    const swept = 200 * keys.length - left;
    expect(swept).toBeGreaterThan(3000);
    expect(swept).toBeLessThan(4096 + 128 + 1);
  });
});

describe("waiters without a subscriber", () => {
  it("block no script, however many they are, and a live waiter behind them is granted soon", async () => {
    const resource = fresh();
    const holder = await fleet.openWarm();
    const waiter = await fleet.openWarm();
    const held = await fleet.hold(resource, ttl, holder.redlock);
    const queue = `quorlock:queue:{${resource}}`;
    // Their processes have ended, and their entries have not run out yet.
    for (const admin of fleet.admins) {
      const pipeline = admin.pipeline();
      for (let index = 0; index < 2000; index += 1) {
        pipeline.zadd(queue, index, `gone-${index}`);
        pipeline.set(`${queue}:gone-${index}`, `1 ${ttl} gone-inbox  g`, "PX", 60_000);
      }
      pipeline.pexpire(queue, 60_000);
      await pipeline.exec();
    }
    const waiting = waiter.redlock.acquire(resource, ttl, { retryCount: -1 });
    await until("it waits", async () => (await fleet.admins[0]!.zcount(queue, 2001, "+inf")) === 1);
    // Six commands for each of 256 on the master that is counted; some of what is behind that comes with heartbeats.
    const commands = await commandsOf(() => held.release());
    expect(commands).toBeGreaterThan(1000);
    expect(commands).toBeLessThan(6 * 256 + 300);
    await (await waiting).release();
  });
});

describe("a foreign subscriber to all channels", () => {
  it("takes no grant: dead waiters at the head of a queue are skipped", async () => {
    const resource = fresh();
    const monitors = fleet.admins.map((admin) => admin.duplicate());
    onTestFinished(() => {
      for (const monitor of monitors) monitor.disconnect();
    });
    await Promise.all(monitors.map((monitor) => monitor.psubscribe("*")));
    const holder = await fleet.openWarm();
    const gone = await fleet.openWarm();
    const next = await fleet.openWarm();
    const held = await fleet.hold(resource, ttl, holder.redlock);
    gone.redlock.acquire(resource, ttl, { retryCount: -1 }).catch(() => {});
    await fleet.untilWaiting(resource);
    await fleet.untilListening(1);
    for (const client of gone.clients) client.disconnect();
    await fleet.untilListening(0);
    const waiting = next.redlock.acquire(resource, ttl, { retryCount: -1 });
    await until("the next one waits", async () => {
      const queues = fleet.admins.map((admin) => admin.zcard(`quorlock:queue:{${resource}}`));
      return (await Promise.all(queues)).every((length) => length === 2);
    });
    await fleet.untilListening(1);
    await held.release();
    // With the key granted to a dead waiter it would wait for a ttl.
    await fleet.untilHeld(await waiting);
  });
});
