import { diag, type Span, SpanStatusCode, trace } from "@opentelemetry/api";
import { Redlock, type RedlockOptions } from "@quorlock/redlock";
import { Semaphore } from "@quorlock/redlock/semaphore";
import { type Masters, startMasters } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { instrument } from "./instrument.ts";
import { Recorder } from "./recorder.ts";
import { type RegisterOptions, register } from "./register.ts";

// The real SDK, in memory, on real masters.

let masters: Masters;
let admins: readonly Redis[];
const opened: Redlock[] = [];
let recorder: Recorder;
let stop = (): void => {};
let count = 0;

beforeAll(async () => {
  masters = await startMasters(3, { say: () => {} });
  admins = masters.urls.map((url) => new Redis(url).on("error", () => {}));
});
beforeEach(() => {
  recorder = new Recorder();
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((redlock) => redlock.quit()));
  stop();
  await recorder.stop();
  vi.restoreAllMocks();
});
afterAll(async () => {
  for (const client of admins) client.disconnect();
  await masters.stop();
});

function begin(options: RegisterOptions = {}): void {
  stop = register({
    tracerProvider: recorder.tracerProvider,
    meterProvider: recorder.meterProvider,
    ...options,
  });
}

async function open(options: RedlockOptions = {}): Promise<Redlock> {
  const redlock = new Redlock(
    masters.urls.map((url) => new Redis(url).on("error", () => {})),
    { retryCount: -1, nodeTimeout: 5000, ...options },
  );
  opened.push(redlock);
  await redlock.ready();
  return redlock;
}

function silent(): void {}

/** However busy the machine: the limit only ends a test that would hang. */
function untilOneWaits(): Promise<unknown> {
  return vi.waitUntil(async () => (await recorder.points("quorlock.client.waiters"))[0]?.[1] === 1, 60_000);
}

function fresh(): string {
  count += 1;
  return `observed:${count}`;
}

describe("spans", () => {
  test("of a lock are children of the caller's span, and have outcomes", async () => {
    const redlock = await open();
    begin();
    const parent = await recorder.inside(async () => {
      const lock = await redlock.acquire(fresh(), 20_000);
      await lock.extend(20_000);
      await lock.release();
    });
    const [hold] = recorder.named("quorlock hold");
    const told = recorder.spans
      .filter(({ name }) => name !== "application")
      .map(({ name, attributes, parentSpanContext }) => [
        name,
        attributes["quorlock.outcome"],
        parentSpanContext?.spanId,
      ]);
    expect(told).toHaveLength(4);
    expect(told).toEqual(
      expect.arrayContaining([
        ["quorlock acquire", "acquired", parent],
        ["quorlock hold", "released", parent],
        ["quorlock extend", "extended", hold!.spanContext().spanId],
        ["quorlock release", "released", parent],
      ]),
    );
    expect(hold!.attributes).toEqual({ "quorlock.outcome": "released", "quorlock.ttl": 20 });
    expect(recorder.spans.map(({ status }) => status.code)).toEqual(Array(5).fill(SpanStatusCode.UNSET));
  });

  test("end with the result, and not when the call has returned", async () => {
    const [redlock, other] = [await open(), await open()];
    begin();
    const resource = fresh();
    const lock = await redlock.acquire(resource, 20_000);
    const waiting = other.acquire(resource, 20_000);
    await untilOneWaits();
    expect(recorder.named("quorlock acquire")).toHaveLength(1);
    await lock.release();
    await (await waiting).release();
    const { attributes } = recorder.named("quorlock acquire")[1]!;
    expect(attributes["quorlock.outcome"]).toBe("acquired");
    expect(attributes["quorlock.waits"]).toBeGreaterThan(0);
  });

  test("tell contention without an error, and masters that do not answer with one", async () => {
    const redlock = await open({ retryCount: 0 });
    begin();
    const resource = fresh();
    const lock = await redlock.acquire(resource, 20_000);
    await expect(redlock.acquire(resource, 20_000)).rejects.toThrow("locked");
    await lock.release();
    await Promise.all(masters.list.slice(1).map((master) => master.hang()));
    await expect(redlock.acquire(fresh(), 20_000, { nodeTimeout: 50 })).rejects.toThrow();
    await Promise.all(masters.list.slice(1).map((master) => master.resume()));
    const told = recorder
      .named("quorlock acquire")
      .map(({ attributes, status }) => [
        attributes["quorlock.outcome"],
        attributes["error.type"],
        status.code,
      ]);
    expect(told).toEqual([
      ["acquired", undefined, SpanStatusCode.UNSET],
      ["locked", undefined, SpanStatusCode.UNSET],
      ["no_quorum", "NO_QUORUM", SpanStatusCode.ERROR],
    ]);
    const requests = await recorder.points("quorlock.master.request.duration");
    expect(requests.map(([attributes]) => attributes)).toContainEqual({
      "server.address": masters.list[1]!.host,
      "server.port": masters.list[1]!.port,
      "quorlock.operation": "vote",
      "error.type": "TIMEOUT",
    });
  });

  test("tell a lock that its masters have lost", async () => {
    const redlock = await open();
    begin();
    const resource = fresh();
    const lock = await redlock.acquire(resource, 20_000);
    await Promise.all(admins.map((client) => client.set(resource, "another")));
    await expect(lock.extend(20_000)).rejects.toThrow("lost");
    for (const name of ["quorlock hold", "quorlock extend"]) {
      expect(recorder.named(name)[0]).toMatchObject({
        attributes: { "quorlock.outcome": "lost", "error.type": "LOCK_LOST" },
        status: { code: SpanStatusCode.ERROR },
      });
    }
    expect(await recorder.points("quorlock.client.hold.duration")).toEqual([[{ outcome: "lost" }, 1]]);
  });

  test("tell a lock that is resumed from its confirmation, once", async () => {
    const redlock = await open();
    const detached = await (await redlock.acquire(fresh(), 20_000)).detach();
    begin();
    const lock = redlock.resume(detached);
    await Promise.all([lock.extend(20_000), lock.verify()]);
    await lock.release();
    expect(recorder.named("quorlock hold")).toHaveLength(1);
  });
});

describe("instrument", () => {
  test("runs the routine of using inside the span of its lock, whose renewals are its children", async () => {
    const redlock = await open();
    begin();
    instrument(redlock);
    let active: string | undefined;
    let inner: string | undefined;
    const parent = await recorder.inside(() =>
      redlock.using(fresh(), 20_000, { automaticExtensionThreshold: 19_000 }, async () => {
        active = recorder.active;
        await redlock.using(fresh(), 20_000, async () => {
          inner = recorder.active;
        });
        await vi.waitUntil(() => recorder.named("quorlock extend").length > 0, 60_000);
      }),
    );
    const [innerHold, hold] = recorder.named("quorlock hold");
    expect(hold!.parentSpanContext!.spanId).toBe(parent);
    expect(active).toBe(hold!.spanContext().spanId);
    expect(inner).toBe(innerHold!.spanContext().spanId);
    expect(innerHold!.parentSpanContext!.spanId).toBe(active);
    expect(recorder.named("quorlock extend")[0]!.parentSpanContext!.spanId).toBe(active);
  });

  test.each([
    ["with its Redlock", { permits: 1, isBoth: true, otherHolds: 2 }],
    ["for two permits", { permits: 2, isBoth: false, otherHolds: 4 }],
  ])("runs the routine of a semaphore that has waited inside the span of its permits: %s", async (_, run) => {
    const { permits, isBoth, otherHolds } = run;
    const redlock = await open();
    begin();
    const semaphore = new Semaphore(redlock, fresh(), 2);
    if (isBoth) instrument(redlock);
    instrument(semaphore);
    const holder = await semaphore.acquire(20_000, { permits: 2 });
    let active: Span | undefined;
    const waiting = semaphore.using(20_000, { permits }, async () => {
      active = trace.getActiveSpan();
      // The holder, the lock that orders the waiters, and slots that become one lock.
      await vi.waitUntil(() => recorder.named("quorlock hold").length >= otherHolds, 60_000);
      expect(active?.isRecording()).toBe(true);
    });
    const waiters = async () => (await recorder.points("quorlock.client.waiters"))[0]?.[1] ?? 0;
    await vi.waitUntil(async () => (await waiters()) > 0, 60_000);
    await holder.release();
    await waiting;
    expect(recorder.named("quorlock hold").at(-1)!.spanContext()).toEqual(active?.spanContext());
  });

  test("changes nothing else of using", async () => {
    const redlock = await open();
    begin();
    const undo = instrument(redlock);
    expect(Object.hasOwn(redlock, "using")).toBe(true);
    await expect(
      redlock.using(fresh(), 20_000, async (signal, lock) => [signal.aborted, lock.state]),
    ).resolves.toEqual([false, "held"]);
    await expect(
      redlock.using(fresh(), 20_000, async () => Promise.reject(new Error("mine"))),
    ).rejects.toThrow("mine");
    undo();
    expect(Object.hasOwn(redlock, "using")).toBe(false);
  });
});

test.each([
  ["in their order", [0, 1]],
  ["in reverse", [1, 0]],
])("instrument twice is undone by both functions, %s", async (_, order) => {
  const redlock = await open();
  begin();
  const undo = [instrument(redlock), instrument(redlock)];
  for (const index of order) undo[index]!();
  await redlock.using(fresh(), 20_000, async () => expect(recorder.active).toBeUndefined());
});

describe("metrics", () => {
  test("count locks and waiters while there are any, in seconds and by outcome", async () => {
    const [redlock, other] = [await open(), await open()];
    begin({ tracerProvider: false });
    const resource = fresh();
    const lock = await redlock.acquire(resource, 20_000);
    const waiting = other.acquire(resource, 20_000);
    await untilOneWaits();
    expect(await recorder.points("quorlock.client.locks")).toEqual([[{}, 1]]);
    await lock.extend(20_000);
    await lock.release();
    await (await waiting).release();
    expect(await recorder.points("quorlock.client.locks")).toEqual([[{}, 0]]);
    expect(await recorder.points("quorlock.client.waiters")).toEqual([[{}, 0]]);
    expect(await recorder.points("quorlock.client.acquire.duration")).toEqual([[{ outcome: "acquired" }, 2]]);
    expect(await recorder.points("quorlock.client.hold.duration")).toEqual([[{ outcome: "released" }, 2]]);
    const margin = (await recorder.metrics()).find(
      ({ descriptor }) => descriptor.name === "quorlock.client.renewal.margin",
    )!;
    const { min, max } = margin.dataPoints[0]!.value as { min: number; max: number };
    expect([min > 10, max <= 20, margin.descriptor.unit]).toEqual([true, true, "s"]);
    expect(recorder.spans).toEqual([]);
  });
});

describe("resourceClass", () => {
  test("names the class of a lock in spans and metrics", async () => {
    const redlock = await open();
    begin({ resourceClass: ([resource]) => resource?.split(":")[0] });
    const ofClass = { "quorlock.resource.class": "observed" };
    const lock = await redlock.acquire([fresh(), fresh()], 20_000);
    expect(await recorder.points("quorlock.client.locks")).toEqual([[ofClass, 1]]);
    await lock.release();
    expect(recorder.spans.map(({ attributes }) => attributes)).toEqual(
      Array(3).fill(expect.objectContaining(ofClass)),
    );
    expect(await recorder.points("quorlock.client.acquire.duration")).toEqual([
      [{ outcome: "acquired", ...ofClass }, 1],
    ]);
    expect(await recorder.points("quorlock.client.locks")).toEqual([[ofClass, 0]]);
  });

  test("that throws is reported, and the lock has no class", async () => {
    const redlock = await open();
    const error = vi.fn();
    diag.setLogger({ error, warn: silent, info: silent, debug: silent, verbose: silent });
    error.mockClear();
    begin({
      resourceClass: () => {
        throw new Error("of the user");
      },
    });
    await (await redlock.acquire(fresh(), 20_000)).release();
    diag.disable();
    expect(error).toHaveBeenCalled();
    expect(await recorder.points("quorlock.client.acquire.duration")).toEqual([[{ outcome: "acquired" }, 1]]);
  });
});

describe("a registration", () => {
  test("is the only one, and ends", async () => {
    const redlock = await open();
    begin();
    expect(() => register()).toThrow("was called before");
    await (await redlock.acquire(fresh(), 20_000)).release();
    stop();
    stop();
    const before = recorder.spans.length;
    const lock = await redlock.acquire(fresh(), 20_000);
    begin();
    await lock.release();
    // The lock was acquired without it, so nobody tells its end.
    expect(recorder.spans.slice(before).map(({ name }) => name)).toEqual(["quorlock release"]);
    expect(await recorder.points("quorlock.client.hold.duration")).toEqual([[{ outcome: "released" }, 1]]);
  });
});

test("spans and metrics of a whole run hold no token, member, inbox or resource", async () => {
  // Before anything is sent: ioredis takes a command that it hears before the reply to MONITOR for that reply.
  const monitors = await Promise.all(admins.map((client) => client.monitor()));
  const [redlock, other] = [await open(), await open()];
  begin();
  instrument(redlock);
  const secrets = new Set<string>();
  for (const monitor of monitors) {
    monitor.on("monitor", (_time: string, words: string[]) => {
      for (const word of words) for (const [secret] of word.matchAll(/[0-9a-f]{24,}/g)) secrets.add(secret);
    });
  }
  const resource = fresh();
  const lock = await redlock.acquire(resource, 20_000);
  secrets.add(lock.value);
  const waiting = other.using(resource, 20_000, async (_, mine) => void (await mine.extend(20_000)));
  await expect(other.tryAcquire(resource, 20_000)).resolves.toBeNull();
  await untilOneWaits();
  await lock.release();
  await waiting;
  await redlock.using(resource, 20_000, async () => {});
  await (await new Semaphore(redlock, fresh(), 2).acquire(20_000)).release();
  const stolen = await redlock.acquire(fresh(), 20_000);
  await Promise.all(admins.map((client) => client.set(stolen.resources[0]!, "another")));
  await expect(stolen.extend(20_000)).rejects.toThrow("lost");
  for (const monitor of monitors) monitor.disconnect();
  const spans = recorder.spans.map(({ name, attributes, events, links, status }) => ({
    name,
    attributes,
    events,
    links,
    status,
  }));
  const text = JSON.stringify([spans, await recorder.metrics()]);
  expect(secrets.size).toBeGreaterThan(5);
  expect([...secrets].filter((secret) => text.includes(secret))).toEqual([]);
  expect(text).not.toContain("observed:");
  expect(text).toMatch(/"quorlock hold".*"quorlock\.master\.request\.duration"/);
});
