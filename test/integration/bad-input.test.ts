import { EventEmitter } from "node:events";
import { fixedBackoff, InvalidArgumentError, Redlock, RedlockError } from "@quorlock/redlock";
import { lead } from "@quorlock/redlock/lead";
import { once, runCoordinator } from "@quorlock/redlock/once";
import { ReadWriteLock } from "@quorlock/redlock/read-write-lock";
import { Semaphore } from "@quorlock/redlock/semaphore";
import { withoutScripts } from "@quorlock/redlock/without-scripts";
import { Redis as Upstash } from "@upstash/redis";
import { Cluster, Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { Fleet, fresh, type Opened, rejection } from "./fleet/fleet.ts";
import { WireTap } from "./fleet/wire-tap.ts";

// PROTOCOL 1.8.

// The values that a name, a ttl or a number may have are tested beside the code, in packages/redlock/src/settings and
// redlock.test.ts: these are about the calls that take them.

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
    ["a revoked Proxy", revoked([]), "cannot be read"],
    ["a revoked Proxy among names", ["a", revoked({})], "cannot be read"],
    ["a queue of the library", "quorlock:queue:{account}", '"quorlock:queue:{account}"'],
  ])("%s", async (_what, resources, message) => {
    await expectRefused(() => call(resources, 5000), "resource", message);
  });

  it.each<[string, unknown, string[]]>([
    ["a misspelt option", { retrycount: 3 }, ['"retrycount"', "it takes", "retryCount"]],
    ["an option of the client", { db: 1 }, ['"db"', "retryCount"]],
    ["an option of the constructor", { fencing: true }, ['"fencing"', "new Redlock"]],
    ["text for options", "fast", ["options", '"fast"']],
    ["a signal for options", new AbortController().signal, ["options", "{ signal }"]],
    ["an inherited option", Object.create({ retryCount: 3 }), ['"retryCount"', "inherited"]],
    ["a Map for options", new Map([["retryCount", 3]]), ["options", "a Map"]],
    ["a revoked Proxy for options", revoked({}), ["options", "cannot be read"]],
    ["a revoked Proxy for a number", { retryCount: revoked({}) }, ["retryCount", "cannot be read"]],
    ["a revoked Proxy for a signal", { signal: revoked({}) }, ["signal", "cannot be read"]],
    ["a revoked Proxy for a parent", { parent: revoked({}) }, ["parent"]],
    ["0 for a parent", { parent: 0 }, ["parent"]],
    ["0 for a signal", { signal: 0 }, ["signal"]],
    ["a nodeTimeout as long as the ttl", { nodeTimeout: 5000 }, ["nodeTimeout", "ttl", "5000"]],
  ])("%s", async (_what, options, inMessage) => {
    await expectRefused(() => call(fresh(), 5000, options as object), ...inMessage);
  });

  it("a getter that throws, with its error as the cause", async () => {
    for (const work of [
      call(fresh(), 5000, unreadable({}, "retryCount")),
      call(unreadable(["a", "b"], 1), 5000),
    ]) {
      expect(await rejection(work)).toMatchObject({ code: "INVALID_ARGUMENT", cause: thrown });
    }
  });

  it("a ttl that is perhaps in seconds, and says so", () =>
    expectRefused(() => call(fresh(), 2), "ttl", "in milliseconds"));
});

it("a routine without a ttl is told of the ttl, in each of the calls that take one", async () => {
  const { redlock } = opened;
  const semaphore = new Semaphore(redlock, fresh(), 2);
  const report = new ReadWriteLock(redlock, fresh());
  const without = [
    () => redlock.using(fresh(), routine as never, undefined as never),
    () => semaphore.using(routine as never, undefined as never),
    () => report.usingRead(routine as never, undefined as never),
    () => report.usingWrite(routine as never, undefined as never),
    () => lead(redlock, fresh(), routine as never, undefined as never),
  ];
  for (const call of without) await expectRefused(call, "ttl", "before the routine");
});

it("options behind the routine are told where they go, in each of the calls that take one", async () => {
  const { redlock } = opened;
  const [semaphore, report] = [new Semaphore(redlock, fresh(), 2), new ReadWriteLock(redlock, fresh())];
  const [options, name] = [{ waitTimeout: 50, keepFor: 5000 }, fresh()];
  const misplaced: ((...given: never[]) => Promise<unknown>)[] = [
    redlock.using.bind(redlock, name, 5000),
    semaphore.using.bind(semaphore, 5000),
    report.usingRead.bind(report, 5000),
    report.usingWrite.bind(report, 5000),
    once.bind(null, redlock, name),
  ];
  for (const call of misplaced)
    await expectRefused(() => call(routine as never, options as never), "options before the routine");
  for (const call of misplaced.slice(0, 4))
    await expectRefused(() => call({} as never, routine as never, options as never), "before the routine");
  const leading = () => lead(redlock, name, 5000, options as never, routine as never);
  await expectRefused(leading, "options after the routine");
});

describe.each([5, 30, 60, 99])("a time of %i ms is perhaps meant in seconds:", (ttl) => {
  /** Each call that makes a lock. */
  function callsOf(redlock: Redlock, options: object): readonly (() => Promise<unknown>)[] {
    const [semaphore, report] = [new Semaphore(redlock, fresh(), 2), new ReadWriteLock(redlock, fresh())];
    return [
      () => redlock.acquire(fresh(), ttl, options),
      () => redlock.tryAcquire(fresh(), ttl, options),
      () => redlock.using(fresh(), ttl, options, routine),
      () => semaphore.acquire(ttl, options),
      () => semaphore.tryAcquire(ttl, options),
      () => semaphore.using(ttl, options, routine),
      () => report.read(ttl, options),
      () => report.tryRead(ttl, options),
      () => report.write(ttl, options),
      () => report.tryWrite(ttl, options),
      () => report.usingRead(ttl, options, routine),
      () => report.usingWrite(ttl, options, routine),
      () => lead(redlock, fresh(), ttl, routine, { ...options, signal: AbortSignal.timeout(1) }),
      () => once(redlock, fresh(), { ...options, keepFor: ttl }, routine),
      () => once(redlock, fresh(), { ...options, keepFor: 5000, ttl }, routine),
    ];
  }

  it("each call that makes a lock refuses it, and names nodeTimeout and the milliseconds", async () => {
    const words = ["must be 100 ms or more", "nodeTimeout", `${ttl} ms`, "in milliseconds", `${ttl}000 for`];
    const redlock = new Redlock([...opened.redlock.clients]);
    for (const call of callsOf(redlock, {})) await expectRefused(call, ...words);
    await expectRefused(async () => runCoordinator(redlock, { keepFor: ttl }), "keepFor", ...words);
  });

  it("with a nodeTimeout, of the call or of the constructor, none does; and no extension or limit", async () => {
    // (On a master of its own: what they send late is on no tap.)
    const other = await Fleet.start(1);
    const { clients } = (await other.openWarm()).redlock;
    const redlock = new Redlock([...clients]);
    const withDefault = new Redlock([...clients], { nodeTimeout: 1 });
    const all = [...callsOf(redlock, { nodeTimeout: 1 }), ...callsOf(withDefault, {})];
    // (Whether the master answers within it is another question.)
    for (const call of all) {
      const [outcome] = await Promise.allSettled([call()]);
      expect(outcome).not.toMatchObject({ reason: { code: "INVALID_ARGUMENT" } });
    }
    const lock = await redlock.acquire(fresh(), 5000, { maxHoldTime: ttl, waitTimeout: ttl });
    await lock.extend(ttl);
    await lock.release();
    await other.stop();
  });
});

describe("a short ttl that is taken may have been meant in seconds all the same:", () => {
  it("where it has failed the error says that it is in milliseconds", async () => {
    const ping = new Redis({ lazyConnect: true, port: 1, retryStrategy: null });
    ping.on("error", () => {});
    const redlock = new Redlock([ping], { retryCount: 0, nodeTimeout: 1 });
    const error = await rejection(redlock.acquire(fresh(), 5));
    expect((error as Error).message).toContain("ttl is in milliseconds");
    const long = await rejection(redlock.acquire(fresh(), 5000));
    expect((long as Error).message).not.toContain("ttl is in milliseconds");
  });

  it("it is named where the lock was lost", async () => {
    const lock = await opened.redlock.acquire(fresh(), 60, { retryCount: 50, nodeTimeout: 40 });
    await new Promise<void>((resolve) => {
      lock.signal.addEventListener("abort", () => resolve());
      if (lock.signal.aborted) resolve();
    });
    expect((lock.signal.reason as Error).message).toContain("ttl is in milliseconds");
  });
});

describe("every other call refuses, before a byte is sent,", () => {
  it("names of the library's own keys", async () => {
    const { redlock } = opened;
    const reserved = "quorlock:queue:{account}";
    const serialized = { resources: [reserved], value: "abcdefgh", ttl: 5000 };
    await expectRefused(() => redlock.inspect(reserved), "quorlock:");
    await expectRefused(async () => redlock.resume(serialized), "quorlock:");
    await expectRefused(() => lead(redlock, reserved, 5000, () => {}), "quorlock:");
    const { redlock: prefixed } = fleet.open({ client: { keyPrefix: "quor" } });
    await expectRefused(() => prefixed.acquire("lock:guard", 5000), `"quorlock:`, "keyPrefix");
    await expectRefused(() => prefixed.inspect("lock:guard"), `"quorlock:`, "keyPrefix");
  });

  it("options that they do not know", async () => {
    const { redlock } = opened;
    const lock = await redlock.acquire(fresh(), 5000);
    const semaphore = new Semaphore(redlock, fresh(), 2);
    const report = new ReadWriteLock(redlock, fresh());
    const unknown: Array<[() => Promise<unknown>, string, string]> = [
      [() => redlock.extend(lock, 5000, { retrycount: 1 } as object), '"retrycount"', "retryCount"],
      [() => redlock.release(lock, { nodetimeout: 50 } as object), '"nodetimeout"', "nodeTimeout"],
      [() => redlock.release(lock, 50 as never), "options", "50"],
      [() => semaphore.acquire(5000, { permit: 2 } as object), '"permit"', "permits"],
      [() => semaphore.tryAcquire(5000, { limit: 2 } as object), '"limit"', "permits"],
      [() => semaphore.using(5000, { permit: 2 } as object, routine), '"permit"', "permits"],
      [() => report.read(5000, { form: lock } as object), '"form"', "retryCount"],
      [() => report.write(5000, { form: lock } as object), '"form"', "from"],
      [() => report.tryWrite(5000, { From: lock } as object), '"From"', "from"],
      [() => report.usingWrite(5000, { permits: 1 } as object, routine), '"permits"', "Semaphore"],
      [() => lead(redlock, fresh(), 5000, routine, { onstart: routine } as object), '"onstart"', "onStart"],
      [() => lead(redlock, fresh(), 5000, routine, { onStart: 5 as never }), "onStart", "function"],
      [() => once(redlock, fresh(), { keepfor: 5000 } as never, routine), '"keepfor"', "keepFor"],
      [async () => runCoordinator(redlock, { ttl: 5000 } as object), '"ttl"', "runCoordinator"],
    ];
    for (const [call, ...inMessage] of unknown) await expectRefused(call, ...inMessage);
    expect(lock.state).toBe("held");
    await lock.release();
  });

  it("what is no Redlock, and a semaphore of more slots than can be waited for", async () => {
    for (const none of [undefined, {}, Redlock] as never[]) {
      await expectRefused(async () => new Semaphore(none, "name", 2), "redlock must be a Redlock");
      await expectRefused(async () => new ReadWriteLock(none, "name"), "redlock must be a Redlock");
      await expectRefused(() => lead(none, "name", 5000, () => {}), "redlock must be a Redlock");
    }
    for (const limit of [1e9, "5"] as never[])
      await expectRefused(async () => new Semaphore(opened.redlock, "name", limit), "limit");
    await expectRefused(async () => void fixedBackoff("100" as never), '"100"');
  });

  it.each([
    [null, "a detached lock must be the object that detach returned, but is null"],
    [
      JSON.stringify({ resources: ["r"], value: "t", ttl: 1000 }),
      "a detached lock must be the object that detach returned, but is text: parse it",
    ],
    [["r"], "but is an array"],
    [{ value: "t", ttl: 1000 }, "a resource"],
    [{ resources: ["r"], ttl: 1000 }, "value"],
    [{ resources: ["r"], value: "t", ttl: -1 }, "ttl"],
    [{ resources: ["r"], value: "t", ttl: 1000, fencingToken: 0 }, "fencingToken"],
  ])("as a lock to resume %j", async (detached, message) => {
    await expectRefused(async () => opened.redlock.resume(detached as never), message);
    await expectRefused(async () => new ReadWriteLock(opened.redlock, "name").resume(detached as never));
  });
});

/** One of version 4, without `destroy`. */
function oldNodeRedisClient(): object {
  const methods = { duplicate: () => oldNodeRedisClient(), sendCommand: () => Promise.resolve() };
  return Object.assign(new EventEmitter(), { isOpen: false, isReady: false, options: {}, ...methods });
}

describe("the constructor refuses", () => {
  it.each<[unknown, string]>([
    [{ db: 1 }, "locks are in the database of the clients that you pass"],
    [{ signal: new AbortController().signal }, '"signal" is an option of acquire'],
    [5, "options must be an object, but is 5"],
    [{ queue: "no" }, 'queue must be true or false, but is "no"'],
    [{ reentrant: "yes" }, 'reentrant must be true, false or "handle"'],
    [{ clockWatch: "yes" }, "clockWatch must be"],
    [{ clockWatch: { exclud: true } }, "it takes maxOffset, exclude, maxTtl"],
    [{ clockWatch: { exclude: "no" } }, "clockWatch.exclude must be true or false"],
    [{ restartGuard: 60_000 }, "restartGuard must be"],
    [{ restartGuard: { maxTTL: 1 } }, "it takes maxTtl, durable"],
    [{ restartGuard: { maxTtl: 9, durable: "a:1" } }, "restartGuard.durable must be"],
    [{ clockWatch: { maxOffset: -1 } }, "clockWatch.maxOffset"],
    [{ clockWatch: { maxTtl: 0 } }, "clockWatch.maxTtl"],
    [{ restartGuard: {} }, "restartGuard.maxTtl"],
    [{ runtime: {} }, "runtime must be an object with the methods monotonic"],
  ])("the options %j", (options, message) => {
    const construct = () => new Redlock([new Redis({ lazyConnect: true })], options as object);
    expect(construct).toThrow(InvalidArgumentError);
    expect(construct).toThrow(message);
  });

  it.each([{ clockWatch: true }, { restartGuard: { maxTtl: 9 } }])(
    "%j without scripts, or on a Cluster",
    (options) => {
      const clients = withoutScripts([new Redis({ lazyConnect: true })]);
      expect(() => new Redlock(clients, options)).toThrow("without scripts");
      const cluster = new Cluster([{ port: 1 }], { lazyConnect: true });
      expect(() => new Redlock([cluster], options)).toThrow(/Redis Cluster/);
    },
  );

  it("a URL, and does not repeat it: there may be a password in it", async () => {
    const clients = ["redis://user:hunter2@localhost" as never];
    const error = await rejection(Promise.resolve().then(() => new Redlock(clients)));
    expect((error as Error).message).toContain("client 0 is a string");
    expect((error as Error).message).not.toContain("hunter2");
  });

  it("clients that cannot serve, and names those to use instead", () => {
    const http = new Upstash({ url: "https://example.invalid", token: "hunter2" });
    for (const [client, message] of [
      [http, /client 0 is a client of @upstash\/redis, which speaks HTTP.* ioredis/],
      [oldNodeRedisClient(), /client 0 is a client of node-redis before version 5/],
    ] as const) {
      const construct = () => new Redlock([client as never]);
      expect(construct).toThrow(InvalidArgumentError);
      expect(construct).toThrow(message);
    }
  });
});

it("null for options counts as none, as redlock 5's callers may pass, and for an option", async () => {
  const { redlock } = opened;
  for (const options of [null, { signal: null }, { parent: null }] as never[]) {
    await redlock.release(await redlock.acquire(fresh(), 5000, options), null as never);
    await (await redlock.tryAcquire(fresh(), 5000, options))!.release();
    expect(await redlock.using(fresh(), 5000, options, routine)).toBe("not reached");
    await (await new Semaphore(redlock, fresh(), 2).acquire(5000, options)).release();
    await (await new ReadWriteLock(redlock, fresh()).write(5000, options)).release();
  }
  const coordinators = [null, { keepFor: null }].map((none) => runCoordinator(redlock, none as never));
  for (const coordinator of coordinators) expect(await coordinator.shouldRun(fresh(), 5000)).toBe(true);
  const failure = new Error("it leads");
  const fails = () => Promise.reject(failure);
  for (const none of [null, { onStart: null, onStop: null, onError: null }])
    await expect(lead(redlock, fresh(), 5000, fails, none as never)).rejects.toBe(failure);
});

it("a reader has the longest ttl there is: its expiry by the master's clock is rounded, up or down", async () => {
  const report = new ReadWriteLock(opened.redlock, fresh());
  for (let reads = 0; reads < 20; reads += 1) {
    const reading = await report.read(Number.MAX_SAFE_INTEGER, { retryCount: 0 });
    await reading.extend(Number.MAX_SAFE_INTEGER);
    await reading.release();
  }
});

function clients(): Redis[] {
  return fleet.masters.map(({ host, port }) => new Redis(port, host));
}

describe("two copies of the package", () => {
  it("are told where an object of one comes to the other", async () => {
    vi.resetModules();
    const other = await import("@quorlock/redlock");
    const settings = { reentrant: "handle", nodeTimeout: 900 } as const;
    const redlock = new other.Redlock(clients(), settings);
    const [own, third] = [new Redlock(clients(), settings), new Redlock(clients(), settings)];
    onTestFinished(async () => void (await Promise.all([redlock.quit(), own.quit(), third.quit()])));
    const [name, theirs] = [fresh(), await redlock.acquire(fresh(), 5000)];
    const told = await Promise.all([
      rejection((async () => new Semaphore(redlock, name, 1))()),
      rejection((async () => new ReadWriteLock(redlock, name))()),
      rejection((async () => lead(redlock, name, 5000, routine))()),
      rejection(once(redlock, name, { keepFor: 5000 }, routine)),
      rejection(own.acquire(name, 5000, { parent: theirs })),
      rejection(own.extend(theirs, 5000)),
      rejection(own.release(theirs)),
    ]);
    for (const error of told) {
      expect(error).toBeInstanceOf(InvalidArgumentError);
      expect((error as Error).message).toContain("is of another copy of the package: install one version");
    }
    // A lock of another Redlock of this copy, and what is none, are told as before.
    const ours = await own.acquire(fresh(), 5000);
    const plain = await rejection(redlock.acquire(name, 5000, { parent: ours }));
    expect((plain as Error).message).toContain("another copy");
    expect(((await rejection(third.acquire(name, 5000, { parent: ours }))) as Error).message).toContain(
      "parent must be a lock of this Redlock",
    );
    expect(((await rejection(own.release({} as typeof ours))) as Error).message).toContain(
      "but is an object",
    );
  });
});
