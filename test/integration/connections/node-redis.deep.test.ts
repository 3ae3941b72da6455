import { type AddressInfo, createServer, type Socket } from "node:net";
import { Redlock, type RedlockOptions } from "@quorlock/redlock";
import { withoutScripts } from "@quorlock/redlock/without-scripts";
import { type Master, startProxy } from "@quorlock/testbed";
import { createClient, createClientPool, createSentinel } from "redis";
import {
  createClient as createClient5,
  createClientPool as createClientPool5,
  createSentinel as createSentinel5,
} from "redis-5";
import { afterEach, describe, expect, it, vi } from "vitest";
import { turn, until } from "../../contract/until.ts";
import { startHostileServer } from "../../hostile/hostile-server.ts";
import { Fleet, fresh } from "../fleet/fleet.ts";

// PROTOCOL 2.2.

// Clients of node-redis: the options of a user's client that could let a command of a lock run late, twice, in another
// order or in another place do not reach the connection of the locks, and the user's client stays as it is.

const fleet = Fleet.forTests(3);
const ttl = 20_000;

type Options = NonNullable<Parameters<typeof createClient>[0]>;
type AnyClient = ReturnType<typeof createClient>;

const versions = [
  ["6", createClient],
  ["5", createClient5],
] as const;

const opened: { destroy(): void; isOpen: boolean }[] = [];
const redlocks: Redlock[] = [];

afterEach(async () => {
  await Promise.all(redlocks.splice(0).map((redlock) => redlock.quit()));
  for (const client of opened.splice(0)) if (client.isOpen) client.destroy();
});

function kept<C extends { destroy(): void; isOpen: boolean; on(event: "error", f: () => void): unknown }>(
  client: C,
): C {
  client.on("error", () => {});
  opened.push(client);
  return client;
}

function lockOver(clients: ConstructorParameters<typeof Redlock>[0], options: RedlockOptions = {}): Redlock {
  const redlock = new Redlock(clients, { nodeTimeout: 2500, retryCount: 0, ...options });
  redlocks.push(redlock);
  return redlock;
}

const at = ({ port }: { port: number }) => ({ host: "127.0.0.1", port });

async function acquired(redlock: Redlock, resource: string, yes: number): Promise<void> {
  const lock = await redlock.acquire(resource, ttl);
  const [stats] = await Promise.all(lock.attempts);
  expect(stats!.votesFor.size).toBe(yes);
  const { attempts } = await lock.release();
  await Promise.all(attempts);
}

describe.each(versions)("node-redis %s:", (_, create) => {
  function open(options: Options): AnyClient {
    return kept(create(options));
  }

  it("the options of the user's client do not matter, and stay", async () => {
    const clients = fleet.masters.map((master) =>
      open({
        url: `redis://127.0.0.1:${master.port}`,
        pingInterval: 5,
        commandsQueueMaxLength: 1,
        disableOfflineQueue: false,
        readonly: true,
        disableClientInfo: true,
        RESP: 3,
        emitInvalidate: true,
        commandOptions: { asap: true, abortSignal: AbortSignal.abort(), typeMapping: { 36: Buffer } },
        socket: { host: "127.0.0.1", port: master.port, socketTimeout: 5, connectTimeout: 4000 },
      }),
    );
    const before = clients.map(({ options }) => ({ ...options, socket: { ...options.socket } }));
    const redlock = lockOver(clients, { groupCommit: false });
    await Promise.all(Array.from({ length: 20 }, () => acquired(redlock, fresh(), 3)));
    const after = clients.map(({ options }) => ({ ...options, socket: { ...options.socket } }));
    expect(after).toEqual(before);
  });

  it.each<[string, Options]>([
    ["pingInterval", { pingInterval: 1 }],
    ["emitInvalidate", { RESP: 3, emitInvalidate: true }],
    ["clientSideCache", { RESP: 3, clientSideCache: { ttl: 0, maxEntries: 0, evictPolicy: "LRU" } }],
  ])("%s adds no command to those of a lock", async (_option, options) => {
    const [master] = fleet.masters as [Master];
    const admin = fleet.admin(master);
    await admin.config("RESETSTAT");
    const redlock = lockOver([open({ ...options, socket: at(master) })]);
    await acquired(redlock, fresh(), 1);
    const idle = performance.now();
    await until("it was idle for many intervals", () => performance.now() - idle > 50);
    await acquired(redlock, fresh(), 1);
    expect(await admin.info("commandstats")).not.toMatch(/cmdstat_(ping|client\|tracking):/);
  });

  it("a command costs no timer, whatever time-out the user has", async () => {
    const redlock = lockOver([
      open({
        socket: at(fleet.masters[0]!),
        commandOptions: { timeout: 5000 },
      }),
    ]);
    const timeouts = vi.spyOn(AbortSignal, "timeout");
    try {
      await acquired(redlock, fresh(), 1);
      expect(timeouts).not.toHaveBeenCalled();
    } finally {
      timeouts.mockRestore();
    }
  });

  it("a server that asks for a password is not connected", async () => {
    const [master] = fleet.masters as [Master];
    const admin = fleet.admin(master);
    await admin.config("SET", "requirepass", "secret");
    try {
      const redlock = lockOver([open({ socket: at(master), RESP: 2 })]);
      const errors: string[] = [];
      redlock.on("error", ({ message }) => errors.push(message));
      await expect(redlock.acquire(fresh(), ttl)).rejects.toThrow("UNREACHABLE (NOAUTH)");
      expect(errors[0]).toContain("UNREACHABLE: NOAUTH");
    } finally {
      await admin.config("SET", "requirepass", "");
    }
  });

  it("the user's own commands go where they went, beside the locks", async () => {
    const [master] = fleet.masters as [Master];
    const client = open({ socket: at(master) });
    await client.connect();
    const redlock = lockOver([client]);
    const blocked = client.sendCommand(["BLPOP", fresh(), "1"]);
    await acquired(redlock, fresh(), 1);
    expect(await Promise.race([blocked, turn().then(() => "blocked")])).toBe("blocked");
    expect(await blocked).toBeNull();
  });

  it("an idle connection stays, whatever socketTimeout the user has", async () => {
    await using proxy = await startProxy(fleet.masters[0]!);
    const redlock = lockOver([open({ socket: { ...at(proxy), socketTimeout: 50 } })]);
    await acquired(redlock, fresh(), 1);
    const { accepted } = proxy.counters;
    const idle = performance.now();
    await until("it was idle for six time-outs", () => performance.now() - idle > 300);
    await acquired(redlock, fresh(), 1);
    expect(proxy.counters.accepted).toBe(accepted);
  });

  it.each<[string, Options]>([
    ["greets none", {}],
    ["would not have to by the user's options", { RESP: 2, disableClientInfo: true }],
  ])("a server that accepts connections and %s is tried again", async (_what, options) => {
    await using proxy = await startProxy(fleet.masters[0]!);
    proxy.hold("requests");
    const redlock = lockOver([open({ ...options, socket: { ...at(proxy), connectTimeout: 150 } })]);
    const errors: string[] = [];
    redlock.on("error", ({ message }) => errors.push(message));
    await expect(redlock.acquire(fresh(), ttl)).rejects.toThrow("quorum");
    expect(errors[0]).toContain("the server has not greeted the connection for 150 ms");
    await until("another attempt", () => proxy.counters.accepted > 1);
    await proxy.heal();
    await until("it votes", async () => (await redlock.inspect("anything"))[0]?.unreachable === undefined);
  });

  it.each([
    ["accepts and", (socket: Socket) => void socket.end()],
    ["greets and", (socket: Socket) => void socket.once("data", () => socket.end("+OK\r\n+OK\r\n"))],
  ])("a peer that %s closes is tried again a few times a second", async (_what, peer) => {
    let accepted = 0;
    const server = createServer((socket) => {
      accepted += 1;
      socket.on("error", () => {});
      peer(socket);
    });
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    const socket = at(server.address() as AddressInfo);
    const redlock = lockOver([
      open({ RESP: 2, disableClientInfo: true, socket: { ...socket, reconnectStrategy: () => 0 } }),
    ]);
    const begun = performance.now();
    await expect(redlock.acquire(fresh(), ttl)).rejects.toThrow("quorum");
    await until("a second is over", () => performance.now() - begun > 1000);
    expect(accepted).toBeGreaterThan(1);
    expect(accepted).toBeLessThan(30);
    server.close();
  });

  it("a client that gives up at once makes a few connections a second, not one for each call", async () => {
    let accepted = 0;
    const server = createServer((socket) => {
      accepted += 1;
      socket.on("error", () => {});
      socket.destroy();
    });
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    const socket = { ...at(server.address() as AddressInfo), reconnectStrategy: false } as const;
    const redlock = lockOver([open({ socket })]);
    const begun = performance.now();
    while (performance.now() - begun < 500) {
      await expect(redlock.acquire(fresh(), ttl)).rejects.toThrow("quorum");
      await turn();
    }
    expect(accepted).toBeGreaterThan(1);
    // Without a limit, there are hundreds of calls.
    expect(accepted).toBeLessThan(5 + (performance.now() - begun) / 50);
    server.close();
  });

  it("a client that cannot be duplicated for a moment is a master that is unreachable for a moment", async () => {
    const [master] = fleet.masters as [Master];
    const client = open({ socket: at(master) });
    const duplicate = client.duplicate.bind(client);
    // When the Redlock is made, and when it connects.
    let refusals = 2;
    client.duplicate = ((options: Options) => {
      refusals -= 1;
      if (refusals >= 0) throw new Error("no duplicate");
      return duplicate(options);
    }) as typeof client.duplicate;
    const redlock = lockOver([client]);
    await expect(redlock.acquire(fresh(), ttl)).rejects.toThrow("UNREACHABLE");
    await until("it votes", async () => (await redlock.inspect("anything"))[0]?.unreachable === undefined);
  });

  it("a release that was asked for before its client was destroyed reaches its master", async () => {
    const [master] = fleet.masters as [Master];
    const resource = fresh();
    const client = open({ socket: at(master) });
    await client.connect();
    const lock = await lockOver([client], { groupCommit: false }).acquire(resource, ttl);
    lock.release().catch(() => {});
    client.destroy();
    await fleet.untilGone(resource, [master]);
  });

  it("the user's reconnect strategy is asked once for each failure, and counts them", async () => {
    const retries: number[] = [];
    const reconnectStrategy = (count: number): number => {
      retries.push(count);
      return 0;
    };
    const nowhere = { host: "127.0.0.1", port: 1 };
    const redlock = lockOver([open({ socket: { ...nowhere, reconnectStrategy } })]);
    await expect(redlock.acquire(fresh(), ttl)).rejects.toThrow("quorum");
    await until("three attempts have failed", () => retries.length >= 3);
    expect(retries.slice(0, 3)).toEqual([0, 1, 2]);
  });

  it.each<[string, Options]>([
    ["with a full queue", { commandsQueueMaxLength: 6 }],
    ["whose commands overtake others", { commandOptions: { asap: true } }],
  ])("quit closes a client %s once its pending commands are answered", async (_how, options) => {
    const [master] = fleet.masters as [Master];
    const client = open({ socket: at(master), ...options });
    await client.connect();
    const redlock = lockOver([client]);
    const pings = Array.from({ length: 5 }, () => client.ping());
    const answers = Promise.all([client.blPop(fresh(), 0.5), ...pings]);
    answers.catch(() => {});
    await redlock.quit();
    expect(client.isOpen).toBe(false);
    expect(await answers).toEqual([null, ...pings.map(() => "PONG")]);
  });

  it("a select of the user's client moves no lock", async () => {
    const [master] = fleet.masters as [Master];
    const client = open({ socket: at(master), database: 1 });
    await client.connect();
    const redlock = lockOver([client]);
    const resource = fresh();
    await client.select(2);
    const lock = await redlock.acquire(resource, ttl);
    const admin = fleet.admin(master).duplicate({ db: 1 });
    expect(await admin.get(resource)).toBe(lock.value);
    admin.disconnect();
    expect(await client.exists(resource)).toBe(0);
    await lock.release();
  });

  it("an idle connection of the user's client that closes itself ends no lock", async () => {
    const [master] = fleet.masters as [Master];
    const client = open({ socket: { ...at(master), socketTimeout: 50 } });
    await client.connect();
    const redlock = lockOver([client]);
    await acquired(redlock, fresh(), 1);
    await until("it is closed", () => !client.isOpen);
    await acquired(redlock, fresh(), 1);
  });

  it("locks end with the user's client, and come back with it", async () => {
    const [master] = fleet.masters as [Master];
    const client = open({ socket: at(master) });
    await client.connect();
    const redlock = lockOver([client]);
    await acquired(redlock, fresh(), 1);
    client.destroy();
    await expect(redlock.acquire(fresh(), ttl)).rejects.toThrow("quorum");
    // A connection that is made now has not seen it end.
    const late = lockOver(withoutScripts([client]));
    await expect(late.acquire(fresh(), ttl)).rejects.toThrow("quorum");
    expect(client.isOpen).toBe(false);
    await client.connect();
    for (const each of [redlock, late]) await acquired(each, fresh(), 1);
  });

  it("a client whose close is interrupted takes our connection with it", async () => {
    const [master] = fleet.masters as [Master];
    const admin = fleet.admin(master);
    const client = open({ socket: at(master) });
    await client.connect();
    await acquired(lockOver([client]), fresh(), 1);
    // (node-redis never settles it.)
    client.sendCommand(["BLPOP", fresh(), "0"]).catch(() => {});
    await until("it is sent", async () => String(await admin.client("LIST")).includes("cmd=blpop"));
    void client.close().catch(() => {});
    await admin.call("CLIENT", "KILL", "TYPE", "normal");
    const closed = performance.now();
    // The next attempt to connect would come before.
    await until("a second is over", () => performance.now() - closed > 1000);
    const connections = String(await admin.call("CLIENT", "LIST", "TYPE", "normal"))
      .trim()
      .split("\n");
    expect(connections).toHaveLength(1);
  });

  it("a client whose reconnect strategy gives up takes our connection with it", async () => {
    await using proxy = await startProxy(fleet.masters[0]!);
    await using ours = await startProxy(fleet.masters[0]!);
    const client = open({ socket: { ...at(proxy), reconnectStrategy: false } });
    await client.connect();
    // Only to make two ways of one: the duplicate's goes through the other proxy.
    client.options.socket = { ...client.options.socket, ...at(ours) };
    await acquired(lockOver([client]), fresh(), 1);
    proxy.reset();
    await ours.when(({ connections }) => connections === 0);
  });
});

it("a server that announces its maintenance gets no command at another place", async () => {
  const elsewhere = await startHostileServer("-ERR unknown\r\n", { greets: false });
  const text = `127.0.0.1:${elsewhere.port}`;
  const moving = `>4\r\n+MOVING\r\n:1\r\n:1\r\n$${text.length}\r\n${text}\r\n`;
  await using server = await startHostileServer((socket) => void socket.write(moving));
  const redlock = lockOver([kept(createClient({ socket: at(server) }))], { nodeTimeout: 400 });
  await expect(redlock.acquire(fresh(), ttl)).rejects.toThrow("quorum");
  await expect(redlock.acquire(fresh(), ttl)).rejects.toThrow("quorum");
  expect(server.asked).toBeGreaterThan(0);
  expect(elsewhere.asked).toBe(0);
  await elsewhere[Symbol.asyncDispose]();
});

describe("refused, and the way that works is named:", () => {
  const sentinel = { name: "main", sentinelRootNodes: [{ host: "127.0.0.1", port: 1 }] };
  it.each([
    ["a pool of 6", () => createClientPool(), "pass createClient()"],
    ["a pool of 5", () => createClientPool5(), "pass createClient()"],
    ["a Sentinel client of 6", () => createSentinel(sentinel), "new Redis({ sentinels, name })"],
    ["a Sentinel client of 5", () => createSentinel5(sentinel), "new Redis({ sentinels, name })"],
    ["GLIDE", () => ({ customCommand: () => {} }), "pass a client of ioredis or node-redis"],
    ["a legacy client", () => createClient().legacy(), "before version 5"],
  ])("%s", (_, make, way) => {
    expect(() => new Redlock([make() as never])).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT", message: expect.stringContaining(way) }),
    );
  });
});
