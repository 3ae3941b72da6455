import { AbortError } from "@quorlock/redlock";
import { ReadWriteLock } from "@quorlock/redlock/read-write-lock";
import { startProxy } from "@quorlock/testbed";
import { describe, expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet, fresh, type OpenOptions, rejection } from "../fleet/fleet.ts";

// PROTOCOL 10.4.

const fleet = Fleet.forTests(3);
const four = Fleet.forTests(4);

const ttl = 30_000;
/** Far above the 2 s for which a master keeps readers out without a renewal. */
const longPause = 3200;

function open(name: string, options: OpenOptions = {}): ReadWriteLock {
  const { redlock } = fleet.open({ nodeTimeout: 5000, waitTimeout: 30_000, ...options });
  return new ReadWriteLock(redlock, name);
}

async function isShutOut(reader: ReadWriteLock): Promise<boolean> {
  const reading = await reader.tryRead(ttl);
  await reading?.release();
  return reading === null;
}

async function untilNoneWaits(name: string, { admins } = fleet): Promise<void> {
  const queue = `quorlock:queue:tagged:quorlock:rw:{${name}}:write`;
  await until("nobody waits", async () => {
    const counts = await Promise.all(admins.map((admin) => admin.zcard(queue)));
    return counts.every((count) => count === 0);
  });
}

/** Whether later readers stay out until the writer is granted, as they are asked again and again. */
async function staysFirst(name: string, writer: ReadWriteLock): Promise<void> {
  const reading = await open(name).read(ttl);
  const reader = open(name);
  const seen = { isGranted: false };
  const writing = writer.write(ttl).then((lock) => {
    seen.isGranted = true;
    return lock;
  });
  await until("readers are refused", () => isShutOut(reader));
  const begun = performance.now();
  let hasReleased = false;
  while (!seen.isGranted) {
    expect(await isShutOut(reader)).toBe(true);
    if (!hasReleased && performance.now() - begun > longPause * 0.75) {
      hasReleased = true;
      await reading.release();
    }
  }
  await (await writing).release();
  await (await reader.read(ttl)).release();
  await untilNoneWaits(name);
}

describe("a waiting writer comes before readers that call later", () => {
  it("with a backoff of 3.2 s", async () => {
    const name = fresh("report");
    await staysFirst(name, open(name, { backoff: () => longPause }));
  });

  it("with a retryDelay of 3.2 s", async () => {
    const name = fresh("report");
    await staysFirst(name, open(name, { retryDelay: longPause, retryJitter: 0 }));
  });

  it("all calls of different clients are served in their order", async () => {
    const name = fresh("report");
    const holding = await open(name).write(ttl);
    await Promise.all(holding.attempts);
    const served: string[] = [];
    const calls = ["write 0", "read 1", "write 2", "read 3", "write 4"].map(async (call, index) => {
      const since = performance.now();
      // Calls that are closer than two readings of the masters' time may be wrong are served in either order (PROTOCOL 7.2).
      await until("the call before it is long ago", () => performance.now() - since > 500 * index);
      const lock = open(name, { nodeTimeout: ttl / 4 });
      const granted = call.startsWith("read") ? await lock.read(ttl) : await lock.write(ttl);
      served.push(call);
      await granted.release();
    });
    const queue = `quorlock:queue:tagged:quorlock:rw:{${name}}:write`;
    await until("all wait", async () => (await fleet.admins[0]!.zcard(queue)) === calls.length);
    await holding.release();
    await Promise.all(calls);
    expect(served).toEqual(["write 0", "read 1", "write 2", "read 3", "write 4"]);
  });

  it("readers come in although writers of one client wait without a gap", async () => {
    const name = fresh("report");
    const writer = open(name, { retryDelay: 20, retryJitter: 10 });
    const [reading, reader] = [await open(name).read(ttl), open(name, { retryDelay: 10, retryJitter: 5 })];
    const stream = { isOver: false };
    // Two at a time, so one always waits: only those that readers refused keep readers out.
    const streams = [0, 1].map(async () => {
      while (!stream.isOver) await (await writer.write(ttl)).release();
    });
    await until("readers are refused", () => isShutOut(reader));
    await reading.release();
    await (await reader.read(ttl, { waitTimeout: 20_000 })).release();
    stream.isOver = true;
    await Promise.all(streams);
    await untilNoneWaits(name);
  });
});

describe("a waiting writer that could not be granted lets readers in", () => {
  /** For readers, and for a writer that asks often. */
  const soon: OpenOptions = { retryDelay: 50, retryJitter: 20, waitTimeout: 30_000 };
  /** Far below the time for which the writer waits. */
  const early = { waitTimeout: 10_000 };

  it("while it reaches two of four masters, and comes before them again when it reaches all", async () => {
    const name = fresh("report");
    const openAt = (options: OpenOptions) =>
      new ReadWriteLock(four.open({ ...soon, ...options }).redlock, name);
    const [first, second, ...others] = four.masters;
    const lines = await Promise.all(others.map((master) => startProxy(master)));
    const reading = await openAt({}).read(ttl);
    const [reader, writer] = [openAt({}), openAt({ on: [first!, second!, ...lines], nodeTimeout: 200 })];
    const writing = writer.write(ttl);
    await until("readers are refused", () => isShutOut(reader));
    for (const line of lines) line.hold("requests");
    // A heartbeat later it knows that it is cut off.
    await (await reader.read(ttl, early)).release();
    // It stands in the queues of two masters for one nodeTimeout of each attempt, and leaves them.
    const begun = performance.now();
    let reads = 0;
    for (; performance.now() - begun < 1000; reads += 1) await (await reader.read(ttl, early)).release();
    expect(reads).toBeGreaterThan(2);
    const next = writer.write(ttl);
    for (const line of lines) line.release();
    await until("readers are refused again", () => isShutOut(reader));
    await reading.release();
    await Promise.all([writing, next].map(async (call) => (await call).release()));
    await untilNoneWaits(name, four);
    await Promise.all(lines.map((line) => line.stop()));
  });

  it("when its votes leave less validity than it demands", async () => {
    const name = fresh("report");
    const lines = await Promise.all(fleet.masters.map((master) => startProxy(master)));
    for (const line of lines) line.delay(40, "replies");
    const [reading, reader] = [await open(name, soon).read(ttl), open(name, soon)];
    const controller = new AbortController();
    const { signal } = controller;
    // All but 20 ms of what a lock of this ttl can have.
    const demanding = { minimumValidity: ttl * 0.99 - 20, signal };
    const over = rejection(open(name, { ...soon, on: lines }).write(ttl, demanding));
    await until("readers are refused", () => isShutOut(reader));
    await reading.release();
    await (await reader.read(ttl, early)).release();
    controller.abort();
    expect(await over).toBeInstanceOf(AbortError);
    await untilNoneWaits(name);
    await Promise.all(lines.map((line) => line.stop()));
  });
});
