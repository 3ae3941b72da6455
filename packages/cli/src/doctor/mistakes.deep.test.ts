import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer, connect as dial, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redlock } from "@quorlock/redlock";
import {
  type Masters,
  type MastersOptions,
  startMasters,
  startMastersWithClocks,
  startProxy,
} from "@quorlock/testbed";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { mastersFrom } from "../masters.ts";
import { undeclaredScript } from "../scripts.generated.ts";
import { diagnose } from "./doctor.ts";
import { type GoodMasters, startGoodMasters } from "./good-masters.ts";
import { remedies } from "./remedies.ts";

// Each mistake is planted in five good masters: the doctor finds it, and nothing else.

/** A replica need not wait for others. */
const atOnce = ["--repl-diskless-sync-delay", "0"];

let good: GoodMasters;
const cleanups: (() => unknown)[] = [];

beforeAll(async () => {
  good = await startGoodMasters(atOnce);
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});
afterAll(() => good[Symbol.asyncDispose]());

/** The addresses with this one in place of the first. */
function with0(address: string): readonly string[] {
  return good.addresses.with(0, address);
}

function portOf(index: number): number {
  return Number(new URL(good.addresses[index]!).port);
}

/** Changes settings of the first master until the end of the test. */
async function configure(settings: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const admin = good.admins[0]!;
  for (const [name, value] of Object.entries(settings)) {
    const [, before] = (await admin.config("GET", name)) as [string, string];
    cleanups.push(() => admin.config("SET", name, before));
    await admin.config("SET", name, value);
  }
  return good.addresses;
}

/** One more master, at 127.0.0.1, which takes the place of the first. */
async function another(options: MastersOptions = {}, count = 1): Promise<{ masters: Masters; admin: Redis }> {
  const masters = await startMasters(count, {
    source: "local-binary",
    persistence: "aof-always",
    say: () => {},
    ...options,
  });
  const admin = new Redis(masters.list[0]!.port).on("error", () => {});
  cleanups.push(
    () => masters.stop(),
    () => admin.disconnect(),
  );
  return { masters, admin };
}

async function limitedTo(...rule: readonly string[]): Promise<readonly string[]> {
  const admin = good.admins[0]!;
  await admin.call("ACL", "SETUSER", "limited", "on", ">secret", "~*", "&*", "+@all", ...rule);
  cleanups.push(() => admin.call("ACL", "DELUSER", "limited"));
  return with0(`redis://limited:secret@127.0.0.1:${portOf(0)}`);
}

async function inSync(admin: Redis): Promise<void> {
  await expect.poll(() => admin.info("replication"), { timeout: 10_000 }).toContain("master_link_status:up");
}

/** In front of the first master: `change` changes requests and replies, which keep their order. */
async function filtered(
  change: {
    readonly request?: (text: string) => string;
    readonly reply?: (text: string) => string;
  },
  to: { readonly port: number; readonly host: string; readonly localAddress?: string } = {
    port: portOf(0),
    host: "127.0.0.1",
  },
): Promise<readonly string[]> {
  const sockets: Socket[] = [];
  const server: Server = createServer((client) => {
    const master = dial(to);
    sockets.push(client, master);
    passOn(client, master, change.request);
    passOn(master, client, change.reply);
    for (const socket of [client, master]) socket.on("error", () => {}).on("close", () => client.destroy());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return with0(`redis://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

function passOn(from: Socket, to: Socket, change = (text: string) => text): void {
  from.on("data", (bytes: Buffer) => to.write(Buffer.from(change(bytes.toString("latin1")), "latin1")));
}

function inBulk(word: string): string {
  return `$${word.length}\r\n${word}\r\n`;
}

/** A client that has written its record to each of its masters. */
async function clientOf(addresses: readonly string[], clients = 1): Promise<void> {
  const redlock = new Redlock(
    addresses.map((address) => new Redis(address)),
    { owner: "billing-7" },
  );
  cleanups.push(() => redlock.quit());
  await (await redlock.acquire("doctor", 5000)).release();
  const admins = good.admins.slice(0, addresses.length);
  await expect
    .poll(
      async () => Math.min(...(await Promise.all(admins.map((admin) => admin.zcard("quorlock:owners"))))),
      // A master whose connection comes later gets the record ten seconds later.
      { timeout: 60_000 },
    )
    .toBe(clients);
}

interface Mistake {
  readonly title: string;
  /** The checks that find it: all that do not pass, or are not known because of it. */
  readonly found: readonly string[];
  /** In the message and the remedy of one of them. */
  readonly says?: RegExp;
  readonly plant: () => Promise<readonly string[]> | readonly string[];
}

const mistakes: readonly Mistake[] = [
  {
    title: "one server by two addresses",
    found: ["independent.same-server"],
    plant: () => with0(`redis://127.0.0.1:${portOf(1)}`),
  },
  {
    title: "one server by two databases",
    found: ["independent.same-server"],
    plant: () => with0(`${good.addresses[1]!}/3`),
  },
  {
    title: "a replica of another one of the list",
    found: ["independent.replica", "independent.replication"],
    async plant() {
      await good.admins[0]!.replicaof("127.0.0.1", portOf(1));
      cleanups.push(() => good.admins[0]!.replicaof("NO", "ONE"));
      await inSync(good.admins[0]!);
      return good.addresses;
    },
  },
  {
    title: "a replica of a master that is not in the list",
    found: ["independent.replica"],
    async plant() {
      const { masters, admin } = await another({ config: atOnce }, 2);
      await admin.replicaof("127.0.0.1", masters.list[1]!.port);
      await inSync(admin);
      return with0(masters.urls[0]!);
    },
  },
  {
    title: "a master with a replica to fail over to",
    found: ["independent.replication"],
    async plant() {
      const { masters, admin } = await another({ config: atOnce }, 2);
      await admin.replicaof("127.0.0.1", masters.list[1]!.port);
      await inSync(admin);
      return with0(masters.urls[1]!);
    },
  },
  {
    title: "a node of a Cluster",
    found: ["independent.cluster-node"],
    async plant() {
      const { masters, admin } = await another({ config: ["--cluster-enabled", "yes"] });
      await admin.call("CLUSTER", "ADDSLOTSRANGE", 0, 16_383);
      await expect.poll(() => admin.cluster("INFO"), { timeout: 10_000 }).toContain("cluster_state:ok");
      return with0(masters.urls[0]!);
    },
  },
  {
    title: "a proxy that leads to another server on the next connection",
    // A message goes to the subscribers of one server.
    found: ["independent.proxy", "usable.subscribe"],
    async plant() {
      const { masters } = await another();
      const proxy = await startProxy({ host: "127.0.0.1", port: portOf(0) });
      cleanups.push(() => proxy.stop());
      void proxy.when(({ accepted }) => accepted === 1).then(() => proxy.pointTo(masters.list[0]!));
      return with0(proxy.url);
    },
  },
  {
    title: "two masters on one host",
    found: ["independent.same-host"],
    plant: () => with0(`redis://127.0.0.2:${portOf(0)}`),
  },
  { title: "an even number", found: ["independent.even"], plant: () => good.addresses.slice(1) },
  {
    title: "a policy that evicts locks",
    found: ["durable.eviction"],
    plant: () => configure({ maxmemory: "1gb", "maxmemory-policy": "volatile-lru" }),
  },
  {
    title: "keys that were evicted before the policy was changed",
    found: ["durable.eviction"],
    async plant() {
      const admin = good.admins[0]!;
      cleanups.push(
        () => admin.flushall(),
        () => admin.config("RESETSTAT"),
      );
      await admin.set("evicted", "1");
      await admin.config("SET", "maxmemory-policy", "allkeys-random", "maxmemory", "1");
      await expect.poll(() => admin.info("stats")).not.toContain("evicted_keys:0\r");
      await admin.config("SET", "maxmemory", "0", "maxmemory-policy", "noeviction");
      return good.addresses;
    },
  },
  {
    title: "a memory that is nearly full",
    found: ["durable.memory"],
    async plant() {
      const used = /used_memory:(\d+)/.exec(await good.admins[0]!.info("memory"))![1]!;
      return configure({ maxmemory: String(Math.round(1.08 * Number(used))) });
    },
  },
  { title: "a memory that is full", found: ["durable.memory"], plant: () => configure({ maxmemory: "1" }) },
  {
    title: "no append-only file",
    found: ["durable.persistence"],
    plant: () => configure({ appendonly: "no" }),
  },
  {
    title: "an append-only file that is written once a second",
    found: ["durable.persistence"],
    plant: () => configure({ appendfsync: "everysec" }),
  },
  {
    title: "connections that are nearly used up",
    found: ["usable.clients"],
    plant: async () => {
      const { masters, admin } = await another();
      const open = Array.from({ length: 45 }, () => new Redis(masters.list[0]!.port));
      for (const client of open) cleanups.push(() => client.disconnect());
      await Promise.all(open.map((client) => client.ping()));
      await admin.config("SET", "maxclients", "55");
      return with0(masters.list[0]!.url);
    },
  },
  {
    title: "a master that has no connection left",
    found: ["usable.reachable"],
    says: /has no connection left \(MAXCLIENTS\).+raise maxclients/,
    plant: () => configure({ maxclients: "1" }),
  },
  {
    title: "a master in protected mode, from another address",
    found: ["usable.reachable"],
    says: /refuses other machines: it is in protected mode/,
    async plant() {
      const { masters } = await another({ config: ["--protected-mode", "yes"] });
      const { port } = masters.list[0]!;
      return filtered({}, { port, host: "127.0.0.1", localAddress: "127.0.0.9" });
    },
  },
  {
    title: "a command of scripts that was renamed",
    says: /publish give it its name again/,
    found: ["usable.scripts", "usable.subscribe"],
    plant: async () => {
      const { masters } = await another({
        persistence: "aof-always",
        config: ["--rename-command", "PUBLISH", "X"],
      });
      return with0(masters.list[0]!.url);
    },
  },
  {
    title: "EVALSHA that was renamed",
    found: ["usable.scripts"],
    plant: async () => {
      const { masters } = await another({
        persistence: "aof-always",
        config: ["--rename-command", "EVALSHA", ""],
      });
      return with0(masters.list[0]!.url);
    },
  },
  {
    title: "snapshots that fail, so that writes are refused",
    found: ["durable.writes"],
    async plant() {
      const { masters, admin } = await another({ config: ["--enable-protected-configs", "yes"] });
      const gone = mkdtempSync(join(tmpdir(), "quorlock-gone-"));
      await admin.config("SET", "dir", gone, "save", "3600 1");
      rmSync(gone, { recursive: true });
      await admin.bgsave();
      await expect.poll(() => admin.info("persistence")).toContain("rdb_last_bgsave_status:err");
      return with0(masters.urls[0]!);
    },
  },
  {
    title: "replicas that a write waits for, and that are missing",
    found: ["durable.writes"],
    says: /misses replicas \(NOREPLICAS\) set min-replicas-to-write 0/,
    async plant() {
      const { masters, admin } = await another({});
      await admin.config("SET", "min-replicas-to-write", "1");
      return with0(masters.urls[0]!);
    },
  },
  {
    title: "a fork that takes long",
    found: ["durable.clock", "durable.fork"],
    async plant() {
      const masters = await startMastersWithClocks(1, { persistence: "aof-always", say: () => {} });
      const admin = new Redis(masters.list[0]!.port).on("error", () => {});
      cleanups.push(
        () => masters.stop(),
        () => admin.disconnect(),
      );
      // By this clock each millisecond is a second.
      masters.clocks[0]!.run(1000);
      await admin.bgsave();
      await expect.poll(() => admin.info("persistence")).toContain("rdb_bgsave_in_progress:0");
      masters.clocks[0]!.run(1);
      return with0(masters.urls[0]!);
    },
  },
  ...[5000, -5000].map((milliseconds) => ({
    title: `a clock that is off by ${milliseconds} ms`,
    found: ["durable.clock"],
    async plant() {
      const masters = await startMastersWithClocks(1, { persistence: "aof-always", say: () => {} });
      cleanups.push(() => masters.stop());
      masters.clocks[0]!.step(milliseconds);
      return with0(masters.urls[0]!);
    },
  })),
  {
    title: "a clock that runs twice as fast",
    found: ["durable.clock"],
    async plant() {
      const masters = await startMastersWithClocks(1, { persistence: "aof-always", say: () => {} });
      cleanups.push(() => masters.stop());
      masters.clocks[0]!.run(2);
      return with0(masters.urls[0]!);
    },
  },
  {
    title: "a port where nothing listens",
    found: ["usable.reachable"],
    async plant() {
      const { masters } = await another();
      await masters.stop();
      return with0(masters.urls[0]!);
    },
  },
  {
    title: "a wrong password",
    found: ["usable.reachable"],
    plant: () => with0(`redis://:wrong@127.0.0.1:${portOf(0)}`),
  },
  {
    title: "a missing password",
    found: ["usable.reachable"],
    plant: () => configure({ requirepass: "secret" }),
  },
  {
    title: "a master that hangs",
    found: ["usable.reachable"],
    async plant() {
      const { masters } = await another();
      await masters.list[0]!.hang();
      return with0(masters.urls[0]!);
    },
  },
  {
    title: "an old version",
    found: ["usable.version"],
    plant: () =>
      filtered({
        reply: (text) =>
          text.replace(/redis_version:\d\.\d\.\d+/, (it) => "redis_version:5.0.1".padEnd(it.length, "0")),
      }),
  },
  {
    title: "scripts that are forbidden",
    found: ["usable.permissions", "usable.scripts", "usable.undeclared-keys"],
    plant: () => limitedTo("-eval", "-evalsha"),
  },
  {
    title: "undeclared keys that are refused, as by Dragonfly",
    found: ["usable.undeclared-keys"],
    plant: () =>
      filtered({
        request: (text) =>
          text.replace(
            inBulk(undeclaredScript.source),
            inBulk('return redis.error_reply("ERR script tried accessing undeclared key")'),
          ),
      }),
  },
  {
    title: "channels that are forbidden",
    found: ["usable.subscribe"],
    plant: () => limitedTo("resetchannels"),
  },
  {
    title: "messages that are counted and not delivered",
    found: ["usable.subscribe"],
    plant: () =>
      filtered({
        reply: (text) => text.replaceAll(/[*>]3\r\n\$7\r\nmessage\r\n\$\d+\r\n\S+\r\n\$0\r\n\r\n/g, ""),
      }),
  },
  {
    title: "a command of the queue that is forbidden",
    found: ["usable.permissions"],
    plant: () => limitedTo("-zadd"),
  },
  {
    title: "keys of the queue that are forbidden",
    found: ["usable.permissions", "usable.undeclared-keys"],
    plant: () => limitedTo("resetkeys", "~lock:*"),
  },
  {
    title: "a client of three of the five masters",
    found: ["independent.membership"],
    async plant() {
      await clientOf(good.addresses.slice(0, 3));
      return good.addresses;
    },
  },
  {
    title: "a master that is far away",
    found: ["usable.round-trip"],
    async plant() {
      const proxy = await startProxy({ host: "127.0.0.1", port: portOf(0) });
      cleanups.push(() => proxy.stop());
      proxy.delay(35);
      return with0(proxy.url);
    },
  },
  {
    title: "a first answer that comes late",
    found: ["usable.cold-connection"],
    async plant() {
      const proxy = await startProxy({ host: "127.0.0.1", port: portOf(0) });
      cleanups.push(() => proxy.stop());
      proxy.delay(600, "replies");
      void proxy
        .nextReply()
        .then(() => proxy.when(({ replies }) => replies.held === 0))
        .then(() => proxy.delay(0));
      return with0(proxy.url);
    },
  },
];

/** The checks that find a busy machine. */
const measured: ReadonlySet<string> = new Set(["usable.round-trip", "usable.cold-connection"]);

test.each(mistakes)("the doctor finds $title", async ({ title, found, says = /./, plant }) => {
  const addresses = await plant();
  const timeout = title === "a master that hangs" ? 300 : 20_000;
  const signal = new AbortController().signal;
  const options = { timeout, guard: false, version: "1.2.3", signal };
  const { checks, ok } = await diagnose(mastersFrom(addresses, {}, {}), options);
  const hits = checks.filter(({ status }) => status !== "pass");
  // Of a master that does not answer, nothing else is known.
  const isGone = found.includes("usable.reachable");
  const known = isGone ? hits.filter(({ status }) => status !== "unknown") : hits;
  // Beside other work masters may answer slowly, which is a finding too.
  const told = known.filter(({ id }) => !measured.has(id) || found.includes(id));
  expect([...new Set(told.map(({ id }) => id))].sort()).toEqual(found);
  expect(told.filter(({ remedy, url }) => !remedy || !url.includes("/v/1.2.3#"))).toEqual([]);
  expect(told.map(({ message, remedy }) => `${message} ${remedy}`).join("\n")).toMatch(says);
  expect(ok).toBe(false);
});

test("clients of all masters, and of all but one, are no mistake", async () => {
  await clientOf(good.addresses);
  await clientOf(good.addresses.slice(0, 4), 2);
  const { signal } = new AbortController();
  const options = { timeout: 20_000, guard: false, version: "1.2.3", signal };
  const { checks } = await diagnose(mastersFrom(good.addresses, {}, {}), options);
  const found = checks.find(({ id }) => id === "independent.membership");
  expect(found).toMatchObject({ status: "pass", observed: { clients: 2 } });
});

test("each check has a mistake that it finds", () => {
  const found = new Set(mistakes.flatMap((mistake) => mistake.found));
  const open = Object.keys(remedies).filter((id) => !found.has(id));
  expect(open).toEqual(["usable.settings"]);
  expect(mistakes.length).toBeGreaterThanOrEqual(20);
});
