import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { type NodeError, Redlock } from "@quorlock/redlock";
import { ReadWriteLock } from "@quorlock/redlock/read-write-lock";
import { Semaphore } from "@quorlock/redlock/semaphore";
import type { AnswerMessage } from "@quorlock/redlock/tracing";
import { withoutScripts } from "@quorlock/redlock/without-scripts";
import { type Proxy as FaultProxy, type Master, startProxy } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { afterEach, describe, expect, test } from "vitest";
import { turn, until } from "../../contract/until.ts";
import { Fleet, fresh, type Opened, type OpenOptions } from "../fleet/fleet.ts";

// PROTOCOL 2.8 to 2.10.

const ttl = 5000;
const fleet = Fleet.forTests(3);
const ends: Array<() => unknown> = [];
afterEach(() => Promise.all(ends.splice(0).map((end) => end())));

const sharing = (errors: readonly NodeError[]) => errors.filter(({ reason }) => reason === "SAME_SERVER");

async function proxyOf(master: Master): Promise<FaultProxy> {
  const proxy = await startProxy(master);
  ends.push(() => proxy.stop());
  return proxy;
}

/** A Redlock over clients of one's own. */
function opened(clients: readonly Redis[], options: OpenOptions = {}): Opened {
  const { scripts = true, ...rest } = options;
  for (const client of clients) client.on("error", () => {});
  const redlock = new Redlock(scripts ? clients : withoutScripts(clients), { nodeTimeout: 900, ...rest });
  const errors: NodeError[] = [];
  redlock.on("error", (error) => errors.push(error));
  ends.push(() => void redlock.quit());
  return { redlock, clients, errors };
}

/** Resolves when this master has answered a vote. */
function answerOf(master: string): Promise<void> {
  return new Promise((resolve) => {
    const onAnswer = (message: unknown): void => {
      if ((message as AnswerMessage).master !== master) return;
      unsubscribe("quorlock:answer", onAnswer);
      resolve();
    };
    subscribe("quorlock:answer", onAnswer);
  });
}

/** Those that have voted for a new lock. */
async function votersOf({ redlock, clients }: Opened, resource = fresh("vote")): Promise<number[]> {
  const lock = await redlock.acquire(resource, ttl, { retryCount: 0 });
  const [stats] = await Promise.all(lock.attempts);
  await Promise.all((await lock.release()).attempts);
  return clients.flatMap((client, index) => (stats!.votesFor.has(client as never) ? [index] : []));
}

describe("one server as two masters votes once, and an event says so", () => {
  const pairs: readonly [string, (server: Master) => Promise<readonly [Redis, Redis]>][] = [
    ["the same URL twice", async ({ host, port }) => [new Redis(port, host), new Redis(port, host)]],
    [
      "localhost and 127.0.0.1",
      async ({ port }) => [new Redis(port, "localhost"), new Redis(port, "127.0.0.1")],
    ],
    ["two databases", async ({ host, port }) => [new Redis(port, host), new Redis(port, host, { db: 1 })]],
    [
      "two proxies",
      async (server) => {
        const [first, second] = [await proxyOf(server), await proxyOf(server)];
        return [new Redis(first.port, first.host), new Redis(second.port, second.host)];
      },
    ],
    [
      "connections that are made late",
      async ({ host, port }) => [
        new Redis(port, host, { lazyConnect: true }),
        new Redis(port, host, { lazyConnect: true }),
      ],
    ],
  ];

  for (const scripts of [true, false]) {
    test.each(pairs)(`%s, ${scripts ? "with" : "without"} scripts`, async (_, pairOf) => {
      const [shared, other] = fleet.masters as [Master, Master];
      const { host, port } = other;
      const way = opened([...(await pairOf(shared)), new Redis(port, host)], { scripts });

      const all = await Promise.all(Array.from({ length: 5 }, () => votersOf(way)));

      for (const voters of all) expect(voters).toHaveLength(2);
      expect(new Set(all.map(String)).size).toBe(1);
      expect(all[0]).toContain(2);
      const told = sharing(way.errors);
      expect(told).toHaveLength(1);
      expect(told[0]!.message).toMatch(
        /master [01] \(.+\) and master [01] \(.+\) are one server, [0-9a-f]{40};/,
      );
      expect(told[0]!.message).toMatch(/give each master a server of its own/);
    });
  }

  test("its votes alone are no quorum, also for waiters", async () => {
    const [{ host, port }, other] = fleet.masters as [Master, Master];
    const resource = fresh("alone");
    await fleet.occupy(resource, [other]);
    const clients = [new Redis(port, host), new Redis(port, host), new Redis(other.port, other.host)];
    const way = opened(clients, { retryDelay: 50 });

    await expect(way.redlock.acquire(resource, ttl, { waitTimeout: 1500 })).rejects.toThrow();

    expect(sharing(way.errors)).toHaveLength(1);
    await fleet.untilGone(resource, [fleet.masters[0]!]);
  });

  test("readers and writers, semaphores and fenced locks too", async () => {
    const [{ host, port }, other] = fleet.masters as [Master, Master];
    const name = fresh("shared");
    await fleet.occupy(`quorlock:rw:{${name}}:write`, [other]);
    const clients = [new Redis(port, host), new Redis(port, host), new Redis(other.port, other.host)];
    const way = opened(clients, { fencing: true, retryCount: 1, retryDelay: 10 });

    expect(await votersOf(way)).toHaveLength(2);
    await expect(new ReadWriteLock(way.redlock, name).write(ttl)).rejects.toThrow();
    const slot = fresh("slots");
    const permit = await new Semaphore(way.redlock, slot, 1).acquire(ttl);
    await permit.release();

    expect(sharing(way.errors)).toHaveLength(1);
  });
});

/** Until just these vote. */
function comesTo(way: Opened, voters: readonly number[]): Promise<void> {
  const wanted = voters.join();
  return until(`${wanted} vote`, async () => (await votersOf(way).catch(() => [])).join() === wanted);
}

function isTold({ errors }: Opened, times: number): Promise<void> {
  return until(`it is told ${times} times`, () => Promise.resolve(sharing(errors).length === times));
}

describe("a failover that makes two masters one", () => {
  test("is detected at a new connection, reported once, and over when the connection leads elsewhere", async () => {
    const [first, second, third] = fleet.masters as [Master, Master, Master];
    const moving = await proxyOf(first);
    const way = opened([moving, second, third].map(({ host, port }) => new Redis(port, host)));
    await comesTo(way, [0, 1, 2]);

    moving.leadTo(second);
    await isTold(way, 1);
    for (let time = 0; time < 3; time += 1) expect(await votersOf(way)).toEqual([1, 2]);
    expect(sharing(way.errors)).toHaveLength(1);
    expect(sharing(way.errors)[0]!.message).toContain("master 0");

    moving.leadTo(first);
    await comesTo(way, [0, 1, 2]);
    moving.leadTo(second);
    await isTold(way, 2);
    expect(await votersOf(way)).toEqual([1, 2]);
  });
});

test.each([true, false])(
  "a vote that waits for its connection is not sent to a server that has voted as another master meanwhile (scripts: %s)",
  async (scripts) => {
    const [first, second] = fleet.masters as [Master, Master];
    const [moving, late, down] = [await proxyOf(first), await proxyOf(first), await proxyOf(second)];
    late.hold("requests");
    await down.refuse();
    const clients = [moving, late, down].map(({ host, port }) => new Redis(port, host));
    const { redlock } = opened(clients, { scripts, nodeTimeout: 8000, retryCount: 0, owner: false });
    const hasVoted = answerOf(`${moving.host}:${moving.port}`);
    const acquiring = redlock.acquire(fresh("moved"), 20_000);
    await hasVoted;
    moving.leadTo(second);
    await until("the first address leads to another server", async () => {
      const probe = fresh("probe");
      redlock.acquire(probe, 20_000).catch(() => {});
      await turn();
      return (await fleet.admin(second).exists(probe)) === 1;
    });
    late.release();
    await expect(acquiring).rejects.toThrow("No quorum");
  },
);

test("without the right to ask, it cannot be known, and both vote", async () => {
  const [{ host, port }, other] = fleet.masters as [Master, Master];
  const admin = fleet.admin(fleet.masters[0]!);
  await admin.call("ACL", "SETUSER", "blind", "on", ">blind", "~*", "&*", "+@all", "-info");
  const blind = { username: "blind", password: "blind", enableReadyCheck: false };
  const clients = [
    new Redis(port, host, blind),
    new Redis(port, host, blind),
    new Redis(other.port, other.host),
  ];
  const way = opened(clients);

  expect(await votersOf(way)).toEqual([0, 1, 2]);
  expect(sharing(way.errors)).toEqual([]);
});
