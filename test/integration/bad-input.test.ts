import { InvalidArgumentError, Redlock, RedlockError } from "@quorlock/redlock";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Fleet, fresh, type Opened, rejection } from "./fleet.ts";
import { WireTap } from "./wire-tap.ts";

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
const using: Call = (resources, ttl, settings) =>
  opened.redlock.using(resources as string, ttl as number, settings, () => "not reached");
const calls: Record<string, Call> = {
  acquire: (resources, ttl, settings) => opened.redlock.acquire(resources as string, ttl as number, settings),
  tryAcquire: (resources, ttl, settings) =>
    opened.redlock.tryAcquire(resources as string, ttl as number, settings),
  using,
};

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
    ["an empty name", "", "empty string"],
    ["an empty name among others", ["a", ""], "empty string"],
    ["one name twice", ["a", "b", "a"], '"a" is named twice'],
    ["a number", 7, "number 7"],
    ["a number among names", ["a", 7], "number 7"],
    ["undefined", undefined, "undefined"],
    ["null", null, "null"],
    ["null among names", [null], "null"],
    ["a hole", Object.assign([], { length: 1 }), "undefined"],
    ["a list in a list", [["a"]], "object"],
    ["an object", {}, "object"],
    ["an object without a prototype", Object.create(null), "object"],
    ["a symbol", Symbol("s"), "symbol"],
    ["bytes", Buffer.from("a"), "object"],
  ])("%s", async (_what, resources, message) => {
    await expectRefused(() => call(resources, 5000), "resource", message);
  });

  it.each<[string, unknown, string]>([
    ["none", undefined, "undefined"],
    ["0", 0, "0"],
    ["a negative one", -1, "-1"],
    ["a fraction", 1000.5, "1000.5"],
    ["NaN", Number.NaN, "NaN"],
    ["Infinity", Number.POSITIVE_INFINITY, "Infinity"],
    ["text", "5000", "5000"],
    ["a bigint", 5000n, "5000"],
    ["null", null, "null"],
    ["an object without a prototype", Object.create(null), "object"],
    ["above 2^53", 2 ** 53, "9007199254740992"],
    ["less than drift takes off", 1, "drift"],
    ["as much as drift takes off", 2, "drift"],
  ])("as ttl %s", async (_what, ttl, message) => {
    await expectRefused(() => call(fresh(), ttl), "ttl", message);
  });

  it.each<[string, object, string[]]>([
    ["a nodeTimeout as long as the ttl", { nodeTimeout: 5000 }, ["nodeTimeout", "ttl", "5000"]],
    ["a nodeTimeout of what drift leaves", { nodeTimeout: 4950 }, ["nodeTimeout", "ttl", "4950"]],
    ["a nodeTimeout of 0", { nodeTimeout: 0 }, ["nodeTimeout", "0"]],
    ["a minimumValidity above the ttl", { minimumValidity: 6000 }, ["minimumValidity", "6000"]],
    ["a negative minimumValidity", { minimumValidity: -1 }, ["minimumValidity", "-1"]],
    ["a driftFactor that leaves nothing", { driftFactor: 1 }, ["driftFactor", "1"]],
    ["a negative driftFactor", { driftFactor: -0.1 }, ["driftFactor", "-0.1"]],
    ["a driftFactor that is NaN", { driftFactor: Number.NaN }, ["driftFactor", "NaN"]],
    ["a retryCount of -2", { retryCount: -2 }, ["retryCount", "-2"]],
    ["a retryCount of one and a half", { retryCount: 1.5 }, ["retryCount", "1.5"]],
    ["a retryCount that is text", { retryCount: "3" }, ["retryCount", "3"]],
    [
      "a retryCount without end, spelled differently",
      { retryCount: Number.POSITIVE_INFINITY },
      ["retryCount"],
    ],
    ["a negative retryDelay", { retryDelay: -1 }, ["retryDelay", "-1"]],
    ["a negative retryJitter", { retryJitter: -1 }, ["retryJitter", "-1"]],
    ["a negative waitTimeout", { waitTimeout: -1 }, ["waitTimeout", "-1"]],
    ["a waitTimeout that is NaN", { waitTimeout: Number.NaN }, ["waitTimeout", "NaN"]],
    ["a maxHoldTime of 0", { maxHoldTime: 0 }, ["maxHoldTime", "0"]],
    ["a backoff that is no function", { backoff: 5 }, ["backoff", "5"]],
    ["null for a number", { retryDelay: null }, ["retryDelay", "null"]],
    ["a signal that is none", { signal: "abort" }, ["signal"]],
  ])("%s", async (_what, settings, inMessage) => {
    await expectRefused(() => call(fresh(), 5000, settings), ...inMessage);
  });
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

describe("extend and inspect refuse", () => {
  it.each([0, -1, 1.5, Number.NaN, 2 ** 53, "1000", undefined])("a ttl of %s", async (ttl) => {
    const lock = await opened.redlock.acquire(fresh(), 5000);
    await expectRefused(() => lock.extend(ttl as number), "ttl");
    await expectRefused(() => opened.redlock.extend(lock, ttl as number), "ttl");
    expect(lock.state).toBe("held");
    await lock.release();
  });

  it.each<unknown[]>([[""], [7], [undefined], [["a", "b"]], [[]]])("the resource %j", async (resource) => {
    await expectRefused(() => opened.redlock.inspect(resource as string), "resource");
  });

  it.each([null, {}, "lock", { resources: ["a"], value: "x" }])("a lock that is %j", async (lock) => {
    for (const call of ["extend", "release", "verify"] as const) {
      await expectRefused(async () => opened.redlock[call](lock as never, 1000), "lock");
    }
  });
});

function idle(): Redis {
  return new Redis({ lazyConnect: true });
}

describe("the constructor refuses", () => {
  const twice = idle();

  it.each<[string, unknown, object, string]>([
    ["no clients", [], {}, "at least one"],
    ["one client twice", [twice, idle(), twice], {}, "twice"],
    ["something that is no client", [{}], {}, "client 0"],
    ["a URL", ["redis://localhost"], {}, "client 0"],
    ["null among the clients", [idle(), null], {}, "client 1"],
    ["an acquireConcurrency of 0", [idle()], { acquireConcurrency: 0 }, "acquireConcurrency"],
    ["a negative driftFactor", [idle()], { driftFactor: -1 }, "driftFactor"],
    ["a nodeTimeout that is text", [idle()], { nodeTimeout: "50" }, "nodeTimeout"],
  ])("%s", (_, clients, options, message) => {
    const construct = () => new Redlock(clients as Redis[], options);
    expect(construct).toThrow(InvalidArgumentError);
    expect(construct).toThrow(message);
  });

  it.each([undefined, null, 7, {}])("%s in the place of the clients", (clients) => {
    const construct = () => new Redlock(clients as never);
    expect(construct).toThrow(InvalidArgumentError);
    expect(construct).toThrow("clients");
  });

  it("custom scripts, which redlock 5 takes", () => {
    const scripts = { acquireScript: "return 1" } as never;
    expect(() => new Redlock([idle()], {}, scripts)).toThrow("scripts");
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

  it("an unknown setting is left alone", async () => {
    const lock = await opened.redlock.acquire(fresh(), 5000, { somethingElse: 1 } as object);
    await lock.release();
  });

  it("the longest ttl there is", async () => {
    const lock = await opened.redlock.acquire(fresh(), Number.MAX_SAFE_INTEGER);
    expect(lock.remaining()).toBeGreaterThan(2 ** 52);
    await lock.extend(Number.MAX_SAFE_INTEGER);
    await lock.release();
  });

  it("a list that the caller changes later", async () => {
    const resources = [fresh(), fresh()];
    const given = [...resources];
    const acquiring = opened.redlock.acquire(given, 5000);
    given.length = 0;
    given.push("another");
    const lock = await acquiring;
    expect(lock.resources).toEqual(resources);
    await lock.release();
    for (const resource of resources) expect(await fleet.values(resource)).toEqual([null]);
  });
});
