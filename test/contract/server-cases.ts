import { type ExecutionError, Redlock } from "@quorlock/redlock";
import { Redis } from "ioredis";
import { expect, it } from "vitest";
import type { RedisClient } from "../../packages/redlock/src/adapters/client-libraries.ts";
import { type Link, type MovingAddress, movingAddress } from "./moving-address.ts";
import { until } from "./until.ts";

/** The cases need this of a client library. */
export interface Library {
  /** A client of the server at this port, which reconnects. */
  open(port: number): RedisClient;
  /** The value of a key, read by the client. */
  get(client: never, key: string): Promise<unknown>;
  close(client: never): void;
  /** Whether its connections ask for the id of their server. */
  readonly asksServer: boolean;
}

interface Server {
  readonly host: string;
  readonly port: number;
}

const ttl = 60_000;

let count = 0;
function fresh(): string {
  count += 1;
  return `server-${process.pid}-${count}`;
}

/** A client, connected to the first of two servers, and a Redlock over it, connected too. */
class Scene {
  readonly client: RedisClient;
  readonly redlock: Redlock;
  readonly address: MovingAddress;
  readonly #library: Library;
  readonly #admins: readonly Redis[];
  readonly #faults: string[] = [];

  constructor(library: Library, address: MovingAddress, admins: readonly Redis[]) {
    this.#library = library;
    this.address = address;
    this.#admins = admins;
    this.client = library.open(address.port);
    this.redlock = new Redlock([this.client], { nodeTimeout: 2000, retryCount: 0 });
    this.redlock.on("error", ({ message }) => this.#faults.push(message));
  }

  /** The messages of the master's faults so far. */
  async lastFaults(): Promise<readonly string[]> {
    await until("a fault is reported", () => Promise.resolve(this.#faults.length > 0));
    return this.#faults;
  }

  /** Until the user's client is connected to this server. */
  async clientIsAt(server: number): Promise<void> {
    await until(`the client is at ${server}`, async () => {
      const where = this.#library.get(this.client as never, "where").catch(() => undefined);
      return (await where) === `${server}`;
    });
  }

  /** Acquires a lock, and returns the servers that have its key; `undefined` if it is not granted. */
  async placeOfLock(): Promise<number[] | undefined> {
    const resource = fresh();
    const lock = await this.redlock.acquire(resource, ttl).catch(() => undefined);
    const keys = await Promise.all(this.#admins.map((admin) => admin.get(resource)));
    await lock?.release();
    if (!lock) return undefined;
    return keys.flatMap((key, server) => (key === null ? [] : [server]));
  }

  /** Until a waiter has subscribed to its grants at this server. */
  async waiterIsHeardAt(server: number): Promise<void> {
    const other = new Redlock([this.client], { nodeTimeout: 2000 });
    await this.locksAreAt(server);
    const resource = fresh();
    const held = await this.redlock.acquire(resource, ttl);
    const waiting = other.acquire(resource, ttl, { waitTimeout: 30_000 });
    await until(`the waiter listens at ${server}`, async () => {
      const channels = await this.#admins[server]!.pubsub("CHANNELS", "quorlock:inbox:*");
      return channels.length > 0;
    });
    await held.release();
    await (await waiting).release();
  }

  async locksAreAt(server: number): Promise<void> {
    await until(`locks are at ${server}`, async () => String(await this.placeOfLock()) === `${server}`);
  }

  /** The connection that is made after `change`. */
  async next(change: () => void): Promise<Link> {
    const { links } = this.address;
    const { length } = links;
    change();
    await until("a connection is made", () => Promise.resolve(links.length > length));
    return links[length]!;
  }

  end(): void {
    void this.redlock.quit();
    this.#library.close(this.client as never);
  }
}

/**
 * Cases about the server that a connection leads to: the address of a master moves to another one (PROTOCOL 2.18), or a
 * server cannot say at the moment which one it is (PROTOCOL 2.9). `serversOf`: two of them, which are this suite's
 * alone.
 */
export function serverCases(library: Library, serversOf: () => readonly [Server, Server]): void {
  async function scene(play: (scene: Scene, user: Link, own: Link) => Promise<void>): Promise<void> {
    const servers = serversOf();
    const admins = servers.map(({ host, port }) => new Redis(port, host));
    await Promise.all(admins.map((admin, server) => admin.set("where", server)));
    const address = await movingAddress(servers[0]);
    const made = new Scene(library, address, admins);
    try {
      await made.clientIsAt(0);
      await made.locksAreAt(0);
      const [user, own] = address.links as [Link, Link];
      await play(made, user, own);
    } finally {
      made.end();
      for (const admin of admins) admin.disconnect();
      await address[Symbol.asyncDispose]();
    }
  }

  it("a connection that the previous server greets late is not used: locks are where the client is", () =>
    scene(async (made, user, own) => {
      const { address } = made;
      address.isSlow = true;
      // Both look for the address while it leads to the first server, which is slow.
      const userAgain = await made.next(() => user.cut());
      const ownAgain = await made.next(() => own.cut());
      address.isSlow = false;
      address.moveTo(serversOf()[1]);
      userAgain.cut();
      await made.clientIsAt(1);
      ownAgain.release();
      const places: unknown[] = [];
      await until("it is followed", async () => {
        const place = await made.placeOfLock();
        if (place) places.push(place);
        return places.length === 3;
      });
      expect(places).toEqual([[1], [1], [1]]);
    }));

  it("a connection for grants that the previous server greets late is made again: waiters are notified", () =>
    scene(async (made, user) => {
      const { address } = made;
      await made.waiterIsHeardAt(0);
      address.isSlow = true;
      const { length } = address.links;
      const userAgain = await made.next(() => user.cut());
      for (const link of address.links.slice(1, length)) link.cut();
      await until("all look for the address", () => Promise.resolve(address.links.length === 2 * length));
      address.isSlow = false;
      address.moveTo(serversOf()[1]);
      userAgain.cut();
      await made.clientIsAt(1);
      for (const link of address.links.slice(length)) link.release();
      await made.waiterIsHeardAt(1);
    }));

  it("the client reconnects to another server while the previous one serves on: locks follow", () =>
    scene(async (made, user) => {
      made.address.moveTo(serversOf()[1]);
      user.cut();
      await made.clientIsAt(1);
      await made.locksAreAt(1);
      for (let time = 0; time < 3; time += 1) expect(await made.placeOfLock()).toEqual([1]);
    }));

  it("the client finds another server late in one dial, after the connection of the locks has: locks follow", () =>
    scene(async (made, user, own) => {
      const { address } = made;
      address.isUndecided = true;
      const userAgain = await made.next(() => user.cut());
      const began = performance.now();
      address.isUndecided = false;
      await made.next(() => own.cut());
      await made.locksAreAt(0);
      // Only then is the first packet of a connection sent again.
      await until("a second has passed", () => Promise.resolve(performance.now() - began > 1100));
      address.moveTo(serversOf()[1]);
      userAgain.release();
      await made.clientIsAt(1);
      await made.locksAreAt(1);
      for (let time = 0; time < 3; time += 1) expect(await made.placeOfLock()).toEqual([1]);
    }));

  it("no further connection can be made while the client is at another server: nothing is locked at the previous one", () =>
    scene(async (made, user) => {
      const { address } = made;
      address.isSlow = true;
      address.moveTo(serversOf()[1]);
      const userAgain = await made.next(() => user.cut());
      userAgain.release();
      await made.clientIsAt(1);
      for (let time = 0; time < 2; time += 1) expect(await made.placeOfLock()).toBe(undefined);
    }));

  it("the error of a command whose connection is lost advises no option", () =>
    scene(async (made, _, own) => {
      const { host, port } = serversOf()[0];
      const admin = new Redis(port, host);
      await admin.call("CLIENT", "PAUSE", 60_000, "WRITE");
      try {
        const resource = fresh();
        const acquiring = made.redlock.acquire(resource, ttl).catch((error: unknown) => error);
        await until("it is asked for", () => Promise.resolve(own.hasSent(resource)));
        own.cut();
        const { message } = (await acquiring) as Error;
        const faults = await made.lastFaults();
        expect(faults.length > 0 && /UNREACHABLE/.test(message)).toBe(true);
        expect(faults.filter((fault) => /maxRetries|enableOfflineQueue|option/.test(fault))).toEqual([]);
      } finally {
        await admin.call("CLIENT", "UNPAUSE");
        admin.disconnect();
      }
    }));

  // A connection whose server cannot be compared is replaced.
  if (!library.asksServer) return;

  it("one server as two masters votes once, also if it refused INFO with BUSY while connections were made", async () => {
    const [shared, other] = serversOf();
    await using first = await movingAddress(shared);
    await using second = await movingAddress(shared);
    const clients = [first, second, other].map(({ port }) => library.open(port));
    const redlock = new Redlock(clients, { nodeTimeout: 2000, retryCount: 0 });
    const admin = new Redis(shared.port, shared.host);
    const votes = async (): Promise<number> => {
      const lock = await redlock.acquire(fresh(), ttl).catch(() => undefined);
      if (!lock) return 0;
      const [stats] = await Promise.all(lock.attempts);
      await Promise.all((await lock.release()).attempts);
      return stats!.votesFor.size;
    };
    try {
      await until("two of three vote", async () => (await votes()) === 2);
      await whileBusy(admin, shared, async () => {
        for (const { links } of [first, second]) {
          const known = new Set(links);
          for (const link of known) link.cut();
          const isAsked = (): boolean => links.some((link) => !known.has(link) && link.hasSent("info"));
          await until("the server is asked which one it is", () => Promise.resolve(isAsked()));
        }
      });
      let most = 0;
      await until("both servers vote again", async () => {
        most = Math.max(most, await votes());
        return most >= 2;
      });
      for (let time = 0; time < 5; time += 1) most = Math.max(most, await votes());
      expect(most).toBe(2);
    } finally {
      void redlock.quit();
      admin.disconnect();
      for (const client of clients) library.close(client as never);
    }
  });

  it("the client reconnects to the same server: the connection of the locks stays, and no call fails", () =>
    scene(async (made, user, own) => {
      user.cut();
      const places: unknown[] = [];
      const reconnected = made.clientIsAt(0);
      for (let time = 0; time < 20; time += 1) places.push(await made.placeOfLock());
      await reconnected;
      for (let time = 0; time < 20; time += 1) places.push(await made.placeOfLock());
      expect(places).toEqual(places.map(() => [0]));
      expect(own.isOpen).toBe(true);
    }));

  it("the client reconnects, and further connections are dropped on the way: the connection of the locks stays", () =>
    scene(async (made, user, own) => {
      made.address.isSlow = true;
      const userAgain = await made.next(() => user.cut());
      userAgain.release();
      await made.clientIsAt(0);
      for (let time = 0; time < 3; time += 1) expect(await made.placeOfLock()).toEqual([0]);
      expect(own.isOpen).toBe(true);
    }));

  it("the client reconnects before a vote in flight is refused: the server is asked who refused it, and no call fails", () =>
    scene(async (made, user, own) => {
      const { address } = made;
      const [server] = serversOf();
      const admin = new Redis(server.port, server.host);
      const redlock = new Redlock([made.client], { nodeTimeout: 10_000, retryCount: 0 });
      const resource = fresh();
      await admin.set(resource, "another-client", "PX", ttl);
      await admin.call("CLIENT", "PAUSE", 60_000, "WRITE");
      try {
        const acquiring = redlock.acquire(resource, ttl).catch((error: unknown) => error);
        await until("it is asked for", () => Promise.resolve(own.hasSent(resource)));
        address.isSlow = true;
        const userAgain = await made.next(() => user.cut());
        const { length } = address.links;
        userAgain.release();
        await until("a second connection is made", () => Promise.resolve(address.links.length > length));
        const replies = own.replies;
        await admin.call("CLIENT", "UNPAUSE");
        await until("the vote is refused", () => Promise.resolve(own.replies > replies));
        await made.clientIsAt(0);
        for (const link of address.links.slice(length)) link.release();
        const { attempts } = (await acquiring) as ExecutionError;
        const [stats] = await Promise.all(attempts);
        expect([...stats!.votesAgainst.values()].map(({ name }) => name)).toEqual(["ResourceLockedError"]);
      } finally {
        await admin.call("CLIENT", "UNPAUSE");
        admin.disconnect();
      }
    }));

  it("an extension in flight while the client reconnects counts", () =>
    scene(async (made, user, own) => {
      const lock = await made.redlock.acquire(fresh(), ttl);
      user.cut();
      for (let time = 0; time < 20; time += 1) await lock.extend(ttl);
      await made.clientIsAt(0);
      await lock.extend(ttl);
      expect((await lock.release()).outcome).toBe("released");
      expect(own.isOpen).toBe(true);
    }));
}

/** While a script runs, a server answers almost every command with BUSY. */
async function whileBusy(admin: Redis, { host, port }: Server, run: () => Promise<void>): Promise<void> {
  await admin.config("SET", "lua-time-limit", 5);
  const blocker = new Redis(port, host);
  const blocked = blocker.eval("while true do end", 0).catch(() => {});
  const isBusy = (): Promise<boolean> =>
    admin.get("where").then(
      () => false,
      (error: Error) => error.message.startsWith("BUSY"),
    );
  await until("it is busy", isBusy);
  try {
    await run();
  } finally {
    await admin.script("KILL");
    await blocked;
    blocker.disconnect();
    await admin.config("SET", "lua-time-limit", 5000);
  }
}
