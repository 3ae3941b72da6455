import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { inspect } from "node:util";
import { type Lock, Redlock, type RedlockOptions } from "@quorlock/redlock";
import { lead } from "@quorlock/redlock/lead";
import { ReadWriteLock } from "@quorlock/redlock/read-write-lock";
import { Semaphore } from "@quorlock/redlock/semaphore";
import { channelNames, tracingChannelNames } from "@quorlock/redlock/tracing";
import { withoutScripts } from "@quorlock/redlock/without-scripts";
import { clusterConfig, formCluster, type Masters, startMasters } from "@quorlock/testbed";
import { Cluster, Redis } from "ioredis";
import { Cluster as Cluster5, Redis as Redis5 } from "ioredis-5";
import { Cluster as ClusterOfValkey, Redis as RedisOfValkey } from "iovalkey";
import { createClient } from "redis";
import { createClient as createClient5 } from "redis-5";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { callingClient } from "../contract/calling-client.ts";
import { Fleet, fresh, rejection } from "../integration/fleet/fleet.ts";

// A token is enough to release a lock, a queue member is a token without its round, and whoever knows an inbox can grant locks.
// All primitives run with each library while every error, event, inspection, record of an owner, diagnostics channel and
// line of the console is recorded. The secrets are those that the masters were sent, so none is forgotten. The tag, the
// first eight digits, is none.

const ttl = 20_000;
const username = "locks";
const password = "a-password-of-these-tests";
const fleet = Fleet.forTests(3);

beforeAll(async () => {
  const rule = ["reset", "on", `>${password}`, "~*", "&*", "+@all"];
  for (const admin of fleet.admins) await admin.acl("SETUSER", username, ...rule);
});

// `initialize` is for new masters.
beforeEach(() => Promise.all(fleet.admins.map((admin) => admin.flushall())));

const url = (port: number): string => `redis://${username}:${password}@127.0.0.1:${port}`;
const libraries: Record<string, (port: number) => object> = {
  "ioredis 6": (port) => new Redis(url(port)),
  "ioredis 5": (port) => new Redis5(url(port)),
  "ioredis 6, by call": (port) => callingClient(port),
  iovalkey: (port) => new RedisOfValkey(url(port)),
  "node-redis 6": (port) => createClient({ url: url(port) }),
  "node-redis 6, RESP 2": (port) => createClient({ url: url(port), RESP: 2 }),
  "node-redis 5": (port) => createClient5({ url: url(port) }),
};

/** Buffers as their text, which is what a tool makes of them: those of commands hide theirs. */
function textIn(value: unknown): unknown {
  const { type, data } = (value ?? {}) as { type?: unknown; data?: unknown };
  return type === "Buffer" && Array.isArray(data) ? Buffer.from(data as number[]).toString("latin1") : value;
}

/** As objects come into a log, clients and their options aside. */
function printed(value: unknown): string {
  const json = (() => {
    try {
      return JSON.stringify(value, (_, inner: unknown) => textIn(inner));
    } catch {
      return "";
    }
  })();
  const stack =
    value instanceof Error ? `${value.stack} ${inspect(Object.entries(value))} ${inspect(value.cause)}` : "";
  return [String(value), inspect(value, { depth: 9 }), json, stack].join("\n");
}

const subjects = ["ioredis", "iovalkey", "node-redis"];
const ownTraces = Object.values<string>(tracingChannelNames);
const ownEvents = Object.values<string>(channelNames);
const events = ["error", "connection:ready", "connection:closed", "pubsub", "command:reply", "maintenance"];

interface Published {
  readonly client?: unknown;
  readonly socket?: unknown;
  readonly direction?: unknown;
  channel?: unknown;
  args?: unknown;
}

interface Overheard {
  readonly text: string;
  /** With what is hidden, such as the clients in the votes of an error, whose options have the password. */
  readonly hidden: string;
  /** The channels of this package that had a message. */
  readonly channels: ReadonlySet<string>;
}

/** The channels of the events of these traces. */
function phases(names: readonly string[]): readonly string[] {
  const events = ["start", "end", "asyncStart", "asyncEnd", "error"];
  return names.flatMap((name) => events.map((event) => `tracing:${name}:${event}`));
}

/** Everything that is published or written while `act` runs. */
async function overheard(act: (tell: (value: unknown) => void) => Promise<void>): Promise<Overheard> {
  const texts: string[] = [];
  const hidden: string[] = [];
  const heard = new Set<string>();
  const tell = (value: unknown): void => {
    texts.push(printed(value));
    hidden.push(inspect(value, { depth: 9, showHidden: true }));
  };
  // Replies included: only clients and sockets are left out.
  const see = (message: unknown): void => {
    const { client: _, socket: __, ...seen } = message as Published;
    // node-redis publishes the channel of each message that it gets, whatever its clients do: see docs/clients.md.
    if ("direction" in seen) delete seen.channel;
    // Buffers in commands print as "?" (their toString).
    if (Array.isArray(seen.args)) seen.args = seen.args.map(String);
    tell(seen);
  };
  const seeOwn = (message: unknown, name: string | symbol): void => {
    heard.add(String(name));
    texts.push(inspect(message, { depth: 9, showHidden: true, getters: true }));
  };
  const commands = subjects.flatMap((name) =>
    ["command", "batch", "connect"].map((subject) => `${name}:${subject}`),
  );
  const listeners = [
    ...phases(commands).map((name) => [name, see] as const),
    ...subjects.flatMap((name) => events.map((event) => [`${name}:${event}`, see] as const)),
    ...[...phases(ownTraces), ...ownEvents].map((name) => [name, seeOwn] as const),
  ];
  const spies = (["log", "info", "warn", "error", "debug"] as const).map((method) =>
    vi.spyOn(console, method).mockImplementation((...words: unknown[]) => words.forEach(tell)),
  );
  for (const [name, listener] of listeners) subscribe(name, listener);
  try {
    await act(tell);
  } finally {
    for (const [name, listener] of listeners) unsubscribe(name, listener);
    for (const spy of spies) spy.mockRestore();
  }
  return { text: texts.join("\n"), hidden: hidden.join("\n"), channels: heard };
}

/** Tokens, queue members and inboxes in the commands that the masters are sent while `act` runs. */
async function secretsOf(
  act: () => Promise<void>,
  { masters, admins }: Pick<Fleet, "masters" | "admins"> = fleet,
): Promise<ReadonlySet<string>> {
  const secrets = new Set<string>();
  const monitors = await Promise.all(
    masters.map(async ({ port }) => {
      // (ioredis's own monitor fails on a command that is shown in one packet with the reply to MONITOR.)
      const socket = connect(port, "127.0.0.1");
      const lines = createInterface(socket);
      lines.on("line", (line) => {
        for (const [secret] of line.matchAll(/(?<![\da-f])[\da-f]{32}(?![\da-f])/g)) secrets.add(secret);
        for (const [inbox] of line.matchAll(/quorlock:inbox:[\da-f]+/g)) secrets.add(inbox);
      });
      const isHeard = once(lines, "line");
      socket.write("MONITOR\r\n");
      await isHeard;
      return socket;
    }),
  );
  try {
    await act();
    for (const admin of admins) await admin.ping();
  } finally {
    for (const monitor of monitors) monitor.destroy();
  }
  return secrets;
}

class Run {
  readonly #open: () => readonly object[];
  readonly #tell: (value: unknown) => void;
  readonly #redlocks: Redlock[] = [];

  constructor(open: () => readonly object[], tell: (value: unknown) => void) {
    this.#open = open;
    this.#tell = tell;
  }

  redlock({ scripts = true, ...options }: RedlockOptions & { readonly scripts?: boolean } = {}): Redlock {
    const clients = this.#open() as Redis[];
    for (const client of clients) client.on("error", this.#tell);
    const masters = scripts ? clients : withoutScripts(clients);
    const redlock = new Redlock(masters, { nodeTimeout: 2500, ...options });
    redlock.on("error", this.#tell);
    redlock.on("lost", this.#tell);
    this.#redlocks.push(redlock);
    return redlock;
  }

  async refused(attempt: Promise<unknown>): Promise<void> {
    const error = await rejection(attempt);
    this.#tell(error);
    const { attempts = [] } = error as Partial<Lock>;
    for (const { votesAgainst } of await Promise.all(attempts))
      for (const vote of votesAgainst.values()) this.#tell(vote);
  }

  async locks(): Promise<void> {
    const [one, other] = [this.redlock(), this.redlock()];
    for (const resources of [[fresh()], [fresh(), fresh()]]) {
      let lock = await one.acquire(resources, ttl);
      // On a master that votes for `other`, the waiter would hold the keys and have no queue entry. (The values are secret.)
      await fleet.untilAll(
        "the lock is held",
        () => Promise.all(fleet.admins.map((admin) => admin.exists(...resources))),
        resources.length,
      );
      await this.refused(other.acquire(resources, ttl, { retryCount: 0 }));
      this.#tell(await other.tryAcquire(resources, ttl));
      await this.refused(other.acquire(resources, ttl, { waitTimeout: 100 }));
      const waiting = other.acquire(resources, ttl, { waitTimeout: 15_000 });
      await fleet.untilWaiting(resources[0]!);
      this.#tell(await other.inspect(resources[0]!));
      lock = await lock.extend(ttl);
      for (const shown of [one, lock, Object.entries(lock), lock.signal]) this.#tell(shown);
      this.#tell(await one.inspect(resources[0]!));
      await lock.release();
      const granted = await waiting;
      this.#tell(granted);
      this.#tell(await granted.verify());
      // A rival's key: the lock is lost.
      for (const admin of fleet.admins) await admin.set(resources[0]!, "rival");
      await this.refused(granted.extend(ttl));
      this.#tell(granted.signal);
    }
    await one.using(fresh(), ttl, async (...given) => given.forEach(this.#tell));
  }

  async primitives(): Promise<void> {
    const [one, other] = [this.redlock(), this.redlock()];
    const name = fresh();
    const [mine, theirs] = [one, other].map((redlock) => new ReadWriteLock(redlock, name)) as [
      ReadWriteLock,
      ReadWriteLock,
    ];
    const writer = await mine.write(ttl);
    await this.refused(theirs.read(ttl, { retryCount: 0 }));
    await this.refused(theirs.write(ttl, { retryCount: 0 }));
    const reader = await writer.downgrade();
    this.#tell(await theirs.inspect());
    await this.refused(theirs.write(ttl, { retryCount: 0 }));
    await (await theirs.read(ttl)).release();
    await reader.release();
    const semaphores = [one, other].map((redlock) => new Semaphore(redlock, fresh(), 1));
    const permit = await semaphores[0]!.acquire(ttl);
    await this.refused(new Semaphore(other, semaphores[0]!.name, 1).acquire(ttl, { retryCount: 0 }));
    this.#tell([await semaphores[0]!.inspect(), await mine.inspect()]);
    await permit.release();
    const resign = new AbortController();
    await lead(one, fresh(), ttl, () => resign.abort(), { signal: resign.signal, onError: this.#tell });
  }

  async safeguards(): Promise<void> {
    const fencing = this.redlock({ fencing: true });
    const resource = fresh();
    const fenced = await fencing.acquire(resource, ttl);
    await this.refused(fencing.acquire(resource, ttl, { retryCount: 0 }));
    await fenced.release();
    const guarded = this.redlock({ restartGuard: { maxTtl: ttl } });
    await guarded.initialize();
    const lock = await guarded.acquire(resource, ttl);
    await this.refused(guarded.acquire(resource, ttl, { retryCount: 0 }));
    await lock.release();
  }

  async withoutQueues(options: RedlockOptions & { readonly scripts?: boolean }): Promise<void> {
    const [one, other] = [this.redlock(options), this.redlock(options)];
    const names = [fresh(), fresh()].map((name) => `{tag}${name}`);
    for (const resources of [names.slice(1), names]) {
      const lock = await one.acquire(resources, ttl);
      await this.refused(other.acquire(resources, ttl, { retryCount: 0 }));
      await this.refused(other.acquire(resources, ttl, { retryCount: 2, retryDelay: 10 }));
      this.#tell(await other.inspect(resources[0]!));
      this.#tell(await lock.extend(ttl));
      this.#tell(await lock.verify());
      this.#tell(await lock.release());
    }
  }

  /** The records that the owners of this run have written. */
  async records(): Promise<void> {
    for (const admin of fleet.admins) {
      const keys = await admin.keys("quorlock:owner:*");
      expect(keys.length).toBeGreaterThan(0);
      for (const key of keys) this.#tell([key, await admin.get(key)]);
      this.#tell(await admin.zrange("quorlock:owners", "0", "-1", "WITHSCORES"));
    }
  }

  /** Closes the clients as well. */
  async quit(): Promise<void> {
    await Promise.all(this.#redlocks.map((redlock) => redlock.quit()));
  }
}

/** The surroundings of the secrets in a text. */
function placesIn(text: string, secrets: Iterable<string>): string[] {
  const shown = [...secrets].filter((secret) => text.includes(secret));
  return shown.map((secret) =>
    text.slice(Math.max(0, text.indexOf(secret) - 300), text.indexOf(secret) + 60),
  );
}

describe.each(Object.entries(libraries))("with %s", (name, open) => {
  const publishesReplies = name.startsWith("node-redis");

  it("no error, event, inspection, record, diagnostics channel or line of the console holds a token, member, inbox or password", async () => {
    let told: Overheard | undefined;
    const tokens = await secretsOf(async () => {
      told = await overheard(async (tell) => {
        const run = new Run(() => fleet.masters.map(({ port }) => open(port)), tell);
        try {
          await run.locks();
          await run.primitives();
          await run.safeguards();
          await run.withoutQueues({ queue: false });
          await run.withoutQueues({ queue: false, groupCommit: false });
          // (Without scripts the client reads the value, and the library publishes replies.)
          if (!publishesReplies) await run.withoutQueues({ scripts: false });
          await run.records();
        } finally {
          await run.quit();
        }
      });
    });
    expect(tokens.size).toBeGreaterThan(15);
    const { text, hidden, channels } = told!;
    // The channels are the right ones: ioredis publishes other commands, such as those of `records`.
    expect(text.includes(publishesReplies ? "EVALSHA" : "command: 'zrange'")).toBe(true);
    expect([...channels]).toEqual(expect.arrayContaining(ownEvents));
    expect(placesIn(text, [...tokens, password])).toEqual([]);
    expect(placesIn(hidden, tokens)).toEqual([]);
  }, 60_000);
});

describe("where SUBSCRIBE is unknown, and Redis quotes its arguments", () => {
  let masters: Masters;
  let admin: Redis;
  beforeAll(async () => {
    masters = await startMasters(1, { config: ["--rename-command", "SUBSCRIBE", ""], say: () => {} });
    admin = new Redis(masters.list[0]!.port);
    await admin.acl("SETUSER", username, "reset", "on", `>${password}`, "~*", "&*", "+@all");
  });
  afterAll(async () => {
    admin.disconnect();
    await masters.stop();
  });

  it.each(["ioredis 6", "ioredis 5", "iovalkey", "node-redis 6", "node-redis 5"])(
    "no error shows an inbox, with %s",
    async (name) => {
      const { port } = masters.list[0]!;
      const plain = libraries[name]!(port) as Redis;
      const errors: unknown[] = [];
      const redlock = new Redlock([plain], { owner: false });
      redlock.on("error", (error) => errors.push(error));
      await admin.set("held", "by another");
      const refused = rejection(redlock.acquire("held", ttl, { waitTimeout: 60_000 }));
      const text = () => errors.map(printed).join("\n");
      await vi.waitFor(() => expect(text()).toMatch(/unknown command.*SUBSCRIBE/i), 30_000);
      await Promise.all([redlock.quit(), refused]);
      expect(text()).toContain("quorlock:inbox:(token)");
      expect(text()).not.toMatch(/inbox:[\da-f]/);
    },
  );
});

const clusters: Record<string, (port: number) => object> = {
  "ioredis 6": (port) => new Cluster([{ host: "127.0.0.1", port }]),
  "ioredis 5": (port) => new Cluster5([{ host: "127.0.0.1", port }]),
  iovalkey: (port) => new ClusterOfValkey([{ host: "127.0.0.1", port }]),
};

describe("on a Cluster", () => {
  let masters: Masters;
  let admin: Redis;
  beforeAll(async () => {
    masters = await startMasters(1, { config: clusterConfig, say: () => {} });
    admin = new Redis(masters.list[0]!.port);
    await formCluster([admin]);
  });
  afterAll(async () => {
    admin.disconnect();
    await masters.stop();
  });

  it.each(Object.entries(clusters))(
    "no error, event, diagnostics channel or line of the console holds a token, with %s",
    async (_, open) => {
      let told: Overheard | undefined;
      const act = async (): Promise<void> => {
        told = await overheard(async (tell) => {
          const run = new Run(() => masters.list.map(({ port }) => open(port)), tell);
          try {
            await run.withoutQueues({});
          } finally {
            await run.quit();
          }
        });
      };
      const tokens = await secretsOf(act, { masters: masters.list, admins: [admin] });
      expect(tokens.size).toBeGreaterThan(3);
      expect(placesIn(told!.text, tokens)).toEqual([]);
    },
    60_000,
  );
});
