import { EventEmitter } from "node:events";
import {
  exponentialBackoff,
  fixedBackoff,
  InvalidArgumentError,
  Redlock,
  RedlockError,
} from "@quorlock/redlock";
import { lead } from "@quorlock/redlock/lead";
import { once, runCoordinator } from "@quorlock/redlock/once";
import { ReadWriteLock } from "@quorlock/redlock/read-write-lock";
import { Semaphore } from "@quorlock/redlock/semaphore";
import { Redis as Upstash } from "@upstash/redis";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Fleet, fresh, type Opened, rejection } from "./fleet/fleet.ts";
import { WireTap } from "./fleet/wire-tap.ts";

// PROTOCOL 1.8.

// The values that a name, a ttl or a number may have are tested beside the code, in packages/redlock/src/settings and
// redlock.test.ts: these are about each call that takes them.

let fleet: Fleet;
let opened: Opened;
let tap: WireTap;

beforeAll(async () => {
  fleet = await Fleet.start(1);
  opened = await fleet.openWarm();
  tap = await WireTap.on(fleet.admins[0]!);
});
afterAll(async () => {
  await tap?.[Symbol.asyncDispose]();
  await fleet?.stop();
});

/** Every call that takes resources, a ttl and settings. */
type Call = (resources: unknown, ttl: unknown, settings?: object) => Promise<unknown>;
const routine = (): string => "not reached";
const using: Call = (resources, ttl, settings) =>
  opened.redlock.using(resources as string, ttl as number, settings, routine);
const calls: Record<string, Call> = {
  acquire: (resources, ttl, settings) => opened.redlock.acquire(resources as string, ttl as number, settings),
  tryAcquire: (resources, ttl, settings) =>
    opened.redlock.tryAcquire(resources as string, ttl as number, settings),
  using,
};

const thrown = new Error("no such setting");

/** An object whose property can be listed, and not read. */
function unreadable<T extends object>(target: T, name: PropertyKey): T {
  return Object.defineProperty(target, name, {
    enumerable: true,
    get(): never {
      throw thrown;
    },
  });
}

function raise(error: Error): never {
  throw error;
}

function revoked(target: object): unknown {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}

async function expectRefused(work: () => Promise<unknown>, ...inMessage: string[]): Promise<void> {
  const before = (await tap.commands()).length;
  const error = await rejection(work());
  expect(error).toBeInstanceOf(InvalidArgumentError);
  expect(error).toBeInstanceOf(RedlockError);
  expect(error).toMatchObject({ code: "INVALID_ARGUMENT" });
  for (const text of [...inMessage, "[INVALID_ARGUMENT]"]) expect((error as Error).message).toContain(text);
  expect((await tap.commands()).slice(before)).toEqual([]);
}

describe.each(Object.entries(calls))("%s refuses, before a byte is sent,", (_, call) => {
  it.each<[string, unknown, string]>([
    ["no resources", [], "at least one"],
    ["a revoked Proxy", revoked([]), "revoked Proxy"],
    ["a revoked Proxy among names", ["a", revoked({})], "revoked Proxy"],
    ["a list that cannot be read", unreadable(["a"], 0), "cannot be read"],
    ["a queue of the library", "quorlock:queue:{account}", '"quorlock:queue:{account}"'],
  ])("%s", async (_what, resources, message) => {
    await expectRefused(() => call(resources, 5000), "resource", message);
  });

  it.each<[string, unknown, string[]]>([
    ["a misspelt option", { retrycount: 3 }, ['"retrycount"', '"retryCount"']],
    ["an option of the client", { db: 1 }, ['"db"', "retryCount"]],
    ["an option of the constructor", { fencing: true }, ['"fencing"', "new Redlock"]],
    ["an option of the semaphore", { permits: 2 }, ['"permits"', "Semaphore"]],
    ["text for options", "fast", ["options", '"fast"']],
    ["a list for options", [{ retryCount: 3 }], ["options", "array"]],
    ["a signal for options", new AbortController().signal, ["options", "{ signal }"]],
    ["an inherited option", Object.create({ retryCount: 3 }), ['"retryCount"', "inherited"]],
    ["a Map for options", new Map([["retryCount", 3]]), ["options", "a Map"]],
    ["an option that cannot be read", unreadable({}, "retryCount"), ["options", "cannot be read"]],
    ["an inherited one that cannot be read", Object.create(unreadable({}, "retryCount")), ["retryCount"]],
    ["a revoked Proxy for options", revoked({}), ["options", "a revoked Proxy"]],
    ["a revoked Proxy for a number", { retryCount: revoked({}) }, ["retryCount", "a revoked Proxy"]],
    ["a revoked Proxy for a signal", { signal: revoked({}) }, ["signal", "a revoked Proxy"]],
    ["a revoked Proxy for a parent", { parent: revoked({}) }, ["parent"]],
    ["0 for a parent", { parent: 0 }, ["parent"]],
    ["0 for a signal", { signal: 0 }, ["signal"]],
  ])("%s", async (_what, options, inMessage) => {
    await expectRefused(() => call(fresh(), 5000, options as object), ...inMessage);
  });

  it("a getter that throws, with its error as the cause", async () => {
    for (const work of [
      call(fresh(), 5000, unreadable({}, "retryCount")),
      call(fresh(), 5000, unreadable({}, "signal")),
      call(fresh(), 5000, new Proxy({}, { ownKeys: () => raise(thrown) })),
      call(unreadable(["a", "b"], 1), 5000),
    ]) {
      expect(await rejection(work)).toMatchObject({ code: "INVALID_ARGUMENT", cause: thrown });
    }
  });

  it.each<[string, unknown, string]>([
    ["0", 0, "0"],
    ["options in its place", { retryCount: 3 }, "an object"],
    ["seconds, perhaps", 2, "in milliseconds"],
  ])("as ttl %s", async (_what, ttl, message) => {
    await expectRefused(() => call(fresh(), ttl), "ttl", message);
  });

  it.each<[string, object, string[]]>([
    ["a nodeTimeout as long as the ttl", { nodeTimeout: 5000 }, ["nodeTimeout", "ttl", "5000"]],
    ["a retryCount of -2", { retryCount: -2 }, ["retryCount", "-2"]],
  ])("%s", async (_what, settings, inMessage) => {
    await expectRefused(() => call(fresh(), 5000, settings), ...inMessage);
  });
});

it.each(["signal", "parent"])("an absent %s may be null", async (name) => {
  const options = { [name]: null } as object;
  const { redlock } = opened;
  await (await redlock.acquire(fresh(), 5000, options)).release();
  await (await redlock.tryAcquire(fresh(), 5000, options))!.release();
  expect(await redlock.using(fresh(), 5000, options, routine)).toBe("not reached");
  await (
    await new Semaphore(redlock, fresh(), 2).acquire(5000, { ...options, permits: null as never })
  ).release();
  await (await new ReadWriteLock(redlock, fresh()).write(5000, options)).release();
});

describe("using refuses, before a byte is sent,", () => {
  it("a threshold that leaves no time before it", async () => {
    await expectRefused(
      () => using(fresh(), 1000, { automaticExtensionThreshold: 1000 }),
      "automaticExtensionThreshold",
      "1000",
    );
  });

  it("a maxHoldTime below the ttl", async () => {
    await expectRefused(() => using(fresh(), 1000, { maxHoldTime: 999 }), "maxHoldTime", "999", "1000");
  });
});

describe("a routine without a ttl", () => {
  it("is told of the ttl, in each of the calls that take one", async () => {
    const { redlock } = opened;
    const semaphore = new Semaphore(redlock, fresh(), 2);
    const report = new ReadWriteLock(redlock, fresh());
    const without = [
      () => redlock.using(fresh(), routine as never, undefined as never),
      () => redlock.using(fresh(), routine as never, routine),
      () => semaphore.using(routine as never, undefined as never),
      () => report.usingRead(routine as never, undefined as never),
      () => report.usingWrite(routine as never, undefined as never),
      () => lead(redlock, fresh(), routine as never, undefined as never),
    ];
    for (const call of without) await expectRefused(call, "ttl", "before the routine");
  });
});

describe("a ttl that may have been meant in seconds", () => {
  it("is taken, and where it has failed the error says that it is in milliseconds", async () => {
    const ping = new Redis({ lazyConnect: true, port: 1, retryStrategy: null });
    ping.on("error", () => {});
    const redlock = new Redlock([ping], { retryCount: 0 });
    const error = await rejection(redlock.acquire(fresh(), 5));
    expect(error).toMatchObject({ code: "NO_QUORUM" });
    expect((error as Error).message).toContain("ttl is in milliseconds");
    expect((error as Error).message).toContain("5 ms");
    const long = await rejection(redlock.acquire(fresh(), 5000));
    expect((long as Error).message).not.toContain("ttl is in milliseconds");
  });

  it("is named where the lock was lost", async () => {
    const lock = await opened.redlock.acquire(fresh(), 60, { retryCount: 50, nodeTimeout: 40 });
    await new Promise<void>((resolve) => {
      lock.signal.addEventListener("abort", () => resolve());
      if (lock.signal.aborted) resolve();
    });
    const lost = lock.signal.reason as Error;
    expect(lost.message).toContain("ttl is in milliseconds");
  });
});

describe("every other call refuses, before a byte is sent,", () => {
  const reserved = "quorlock:queue:{account}";

  it("names of the library's own keys", async () => {
    const { redlock } = opened;
    const serialized = { resources: [reserved], value: "abcdefgh", ttl: 5000 };
    await expectRefused(() => redlock.inspect(reserved), "quorlock:");
    await expectRefused(async () => redlock.resume(serialized), "quorlock:");
    await expectRefused(() => lead(redlock, reserved, 5000, () => {}), "quorlock:");
    await expectRefused(async () => new Semaphore(redlock, reserved, 2), "quorlock:");
    await expectRefused(async () => new ReadWriteLock(redlock, reserved), "quorlock:");
  });

  it("keys that are the library's own with the client's keyPrefix", async () => {
    for (const [keyPrefix, resource] of [
      ["quorlock:", "fence:y"],
      ["quor", "lock:guard"],
    ] as const) {
      const { redlock } = fleet.open({ client: { keyPrefix } });
      await expectRefused(() => redlock.acquire(resource, 5000), `"quorlock:`, "keyPrefix");
      await expectRefused(() => redlock.inspect(resource), `"quorlock:`, "keyPrefix");
    }
    const { redlock } = fleet.open({ client: { keyPrefix: "quor" } });
    await (await redlock.acquire(fresh(), 5000)).release();
  });

  it("options that they do not know", async () => {
    const { redlock } = opened;
    const lock = await redlock.acquire(fresh(), 5000);
    const semaphore = new Semaphore(redlock, fresh(), 2);
    const report = new ReadWriteLock(redlock, fresh());
    const calls: Array<[() => Promise<unknown>, string, string]> = [
      [() => redlock.extend(lock, 5000, { retrycount: 1 } as object), '"retrycount"', '"retryCount"'],
      [
        () => redlock.extend(lock, 5000, { signal: undefined, parent: lock } as object),
        '"parent"',
        "acquire",
      ],
      [() => redlock.release(lock, { nodetimeout: 50 } as object), '"nodetimeout"', '"nodeTimeout"'],
      [() => redlock.release(lock, 50 as never), "options", "50"],
      [() => semaphore.acquire(5000, { permit: 2 } as object), '"permit"', '"permits"'],
      [() => semaphore.tryAcquire(5000, { limit: 2 } as object), '"limit"', "permits"],
      [() => semaphore.using(5000, { permit: 2 } as object, routine), '"permit"', '"permits"'],
      [() => report.read(5000, { form: lock } as object), '"form"', "retryCount"],
      [() => report.write(5000, { form: lock } as object), '"form"', '"from"'],
      [() => report.tryWrite(5000, { From: lock } as object), '"From"', '"from"'],
      [() => report.usingWrite(5000, { permits: 1 } as object, routine), '"permits"', "Semaphore"],
      [() => lead(redlock, fresh(), 5000, routine, { onstart: routine } as object), '"onstart"', '"onStart"'],
      [() => lead(redlock, fresh(), 5000, routine, { retryCount: 3 } as object), '"retryCount"', "lead"],
      [() => lead(redlock, fresh(), 5000, routine, { onStart: 5 as never }), "onStart", "function"],
      [() => once(redlock, fresh(), { keepfor: 5000 } as never, routine), '"keepfor"', '"keepFor"'],
      [
        () => once(redlock, fresh(), { keepFor: 5000, parent: lock } as object as never, routine),
        '"parent"',
        "once",
      ],
      [async () => runCoordinator(redlock, { ttl: 5000 } as object), '"ttl"', "runCoordinator"],
    ];
    for (const [call, ...inMessage] of calls) await expectRefused(call, ...inMessage);
    expect(lock.state).toBe("held");
    await lock.release();
  });

  it("what is no Redlock", async () => {
    for (const redlock of [undefined, {}, Redlock]) {
      await expectRefused(
        async () => new Semaphore(redlock as never, "name", 2),
        "redlock must be a Redlock",
      );
      await expectRefused(
        async () => new ReadWriteLock(redlock as never, "name"),
        "redlock must be a Redlock",
      );
      await expectRefused(() => lead(redlock as never, "name", 5000, () => {}), "redlock must be a Redlock");
    }
  });

  it("a semaphore of more slots than can be waited for", async () => {
    for (const limit of [1e9, Number.POSITIVE_INFINITY]) {
      await expectRefused(async () => new Semaphore(opened.redlock, "name", limit), "limit", String(limit));
    }
    await expectRefused(async () => new Semaphore(opened.redlock, "name", "5" as never), "limit", '"5"');
  });

  it("a backoff that cannot be one", async () => {
    const backoffs: Array<[() => unknown, string]> = [
      [() => fixedBackoff(undefined as never), "delay"],
      [() => fixedBackoff("100" as never), '"100"'],
      [() => fixedBackoff(100, -1), "jitter"],
      [() => exponentialBackoff({ initial: -1 }), "initial"],
      [() => exponentialBackoff({ maximum: Number.NaN }), "maximum"],
      [() => exponentialBackoff({ max: 5 } as object), '"max"'],
      [() => exponentialBackoff(5 as never), "options"],
    ];
    for (const [call, inMessage] of backoffs) await expectRefused(async () => call(), inMessage);
  });
});

describe("extend, release and verify refuse", () => {
  it.each([0, "1000"])("a ttl of %s", async (ttl) => {
    const lock = await opened.redlock.acquire(fresh(), 5000);
    await expectRefused(() => lock.extend(ttl as number), "ttl");
    await expectRefused(() => opened.redlock.extend(lock, ttl as number), "ttl");
    expect(lock.state).toBe("held");
    await lock.release();
  });

  it.each([null, {}, "lock", { resources: ["a"], value: "x" }])("a lock that is %j", async (lock) => {
    for (const call of ["extend", "release", "verify"] as const) {
      await expectRefused(async () => opened.redlock[call](lock as never, 1000), "lock");
    }
  });
});

describe("resume refuses, before a byte is sent,", () => {
  it.each([
    [null, "a resource"],
    [{ resources: ["r"], ttl: 1000 }, "value"],
    [{ resources: ["r"], value: "", ttl: 1000 }, "value"],
    [{ resources: ["r"], value: "t", ttl: -1 }, "ttl"],
    [{ resources: ["r"], value: "t", ttl: 1000, fencingToken: 0 }, "fencingToken"],
  ])("%j", async (detached, message) => {
    await expectRefused(async () => opened.redlock.resume(detached as never), message);
  });
});

/** One of version 4, without `destroy`. */
function oldNodeRedisClient(): object {
  const methods = { duplicate: () => oldNodeRedisClient(), sendCommand: () => Promise.resolve() };
  return Object.assign(new EventEmitter(), { isOpen: false, isReady: false, options: {}, ...methods });
}

function idle(): Redis {
  return new Redis({ lazyConnect: true });
}

describe("the constructor refuses", () => {
  it.each<[string, unknown, object, string]>([
    [
      "a nodeTimeout that is text",
      [idle()],
      { nodeTimeout: "50" },
      'nodeTimeout must be milliseconds, 1 or more, but is "50"',
    ],
    [
      "a misspelt option",
      [idle()],
      { reentrent: true },
      'unknown option "reentrent" of new Redlock: did you mean "reentrant"?',
    ],
    [
      "an option of the client",
      [idle()],
      { db: 1 },
      "locks are in the database of the clients that you pass",
    ],
    ["a signal", [idle()], { signal: new AbortController().signal }, '"signal" is an option of acquire'],
    ["options that are a number", [idle()], 5 as never, "options must be an object, but is 5"],
    ["a queue that is text", [idle()], { queue: "no" }, 'queue must be true or false, but is "no"'],
    [
      "a reentrant that is another word",
      [idle()],
      { reentrant: "yes" },
      'reentrant must be true, false or "handle"',
    ],
    ["a clockWatch that is text", [idle()], { clockWatch: "yes" }, "clockWatch must be"],
    ["an unknown option of clockWatch", [idle()], { clockWatch: { exclud: true } }, '"exclude"'],
    [
      "an exclude that is text",
      [idle()],
      { clockWatch: { exclude: "no" } },
      "clockWatch.exclude must be true or false",
    ],
    ["a restartGuard that is a number", [idle()], { restartGuard: 60_000 }, "restartGuard must be"],
    ["an unknown option of restartGuard", [idle()], { restartGuard: { maxTTL: 1 } }, '"maxTtl"'],
    [
      "a durable that is text",
      [idle()],
      { restartGuard: { maxTtl: 9, durable: "a:1" } },
      "restartGuard.durable must be",
    ],
    ["a runtime without clocks", [idle()], { runtime: {} }, "runtime must have"],
    [
      "a client of node-redis 4",
      [oldNodeRedisClient()],
      {},
      "client 0 is a client of node-redis before version 5",
    ],
  ])("%s", (_, clients, options, message) => {
    const construct = () => new Redlock(clients as Redis[], options);
    expect(construct).toThrow(InvalidArgumentError);
    expect(construct).toThrow(message);
  });

  it("a URL, and does not repeat it: there may be a password in it", async () => {
    const clients = ["redis://user:hunter2@localhost" as never];
    const error = await rejection(Promise.resolve().then(() => new Redlock(clients)));
    expect((error as Error).message).toContain("client 0 is a string");
    expect((error as Error).message).not.toContain("hunter2");
  });

  it("a client that speaks HTTP, alone or in a list, and names the client to use instead", () => {
    const client = new Upstash({ url: "https://example.invalid", token: "hunter2" });
    for (const clients of [client, [client]]) {
      const construct = () => new Redlock(clients as never);
      expect(construct).toThrow(InvalidArgumentError);
      expect(construct).toThrow(/client 0 is a client of @upstash\/redis, which speaks HTTP.* ioredis/);
    }
  });

  it.each([undefined, null, 7, {}])("%s in the place of the clients", (clients) => {
    const construct = () => new Redlock(clients as never);
    expect(construct).toThrow(InvalidArgumentError);
    expect(construct).toThrow(/clients must be a list|client 0 is an object/);
  });
});

describe("what is not refused", () => {
  it("undefined for a setting means that it is not given", async () => {
    const lock = await opened.redlock.acquire(fresh(), 5000, {
      retryCount: undefined as never,
      nodeTimeout: undefined,
      waitTimeout: undefined,
      signal: undefined,
    });
    await lock.release();
  });

  it("an unknown option that is not given either", async () => {
    const lock = await opened.redlock.acquire(fresh(), 5000, { somethingElse: undefined } as object);
    await lock.release();
  });

  it("null for options, as redlock 5's callers may pass", async () => {
    const lock = await opened.redlock.acquire(fresh(), 5000, null as never);
    await opened.redlock.release(lock, null as never);
    await (await new Semaphore(opened.redlock, fresh(), 2).acquire(5000, null as never)).release();
    await (await new ReadWriteLock(opened.redlock, fresh()).write(5000, null as never)).release();
    const coordinators = [null, { keepFor: null }].map((none) =>
      runCoordinator(opened.redlock, none as never),
    );
    for (const coordinator of coordinators) expect(await coordinator.shouldRun(fresh(), 5000)).toBe(true);
    const failure = new Error("it leads");
    const routine = () => Promise.reject(failure);
    for (const none of [null, { onStart: null, onStop: null, onError: null }])
      await expect(lead(opened.redlock, fresh(), 5000, routine, none as never)).rejects.toBe(failure);
  });

  it("readers, writers and permits, whose keys the library makes itself", async () => {
    const report = new ReadWriteLock(opened.redlock, fresh());
    const reading = await report.read(5000, { retryCount: 0 });
    const again = report.resume(await reading.detach());
    expect(await again.verify()).toBe(true);
    await again.release();
    await report.usingWrite(5000, { retryCount: 0, from: undefined }, () => {});
    const semaphore = new Semaphore(opened.redlock, fresh(), 2);
    await (await semaphore.acquire(5000, { permits: 2 })).release();
  });

  it("the longest ttl there is", async () => {
    const lock = await opened.redlock.acquire(fresh(), Number.MAX_SAFE_INTEGER);
    expect(lock.remaining()).toBeGreaterThan(2 ** 52);
    await lock.extend(Number.MAX_SAFE_INTEGER);
    await lock.release();
    const report = new ReadWriteLock(opened.redlock, fresh());
    // A reader's expiry by the master's clock is rounded, one time up and another time down.
    for (let reads = 0; reads < 20; reads += 1) {
      const reading = await report.read(Number.MAX_SAFE_INTEGER, { retryCount: 0 });
      await reading.extend(Number.MAX_SAFE_INTEGER);
      await reading.release();
    }
  });
});
