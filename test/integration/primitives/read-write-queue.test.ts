import type { Lock } from "@quorlock/redlock";
import { ReadWriteLock } from "@quorlock/redlock/read-write-lock";
import { describe, expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet, fresh, rejection, timed } from "../fleet/fleet.ts";

// Readers and writers wait in the queue of all locks (PROTOCOL 10.4).

const fleet = Fleet.forTests(3);

const ttl = 20_000;
/** No call is served by asking again. */
const patient = { waitTimeout: 30_000, retryDelay: 30_000, nodeTimeout: ttl / 4 };

function untilWaiting(name: string, count: number): Promise<void> {
  const queue = `quorlock:queue:tagged:quorlock:rw:{${name}}:write`;
  return until(`${count} wait`, async () => {
    const lengths = await Promise.all(fleet.admins.map((admin) => admin.zcard(queue)));
    return lengths.filter((length) => length === count).length >= 2;
  });
}

describe("calls that wait", () => {
  it("are served in their order, and readers that follow each other together", async () => {
    const name = fresh("report");
    // (Calls of two clients may be as close as their readings of the masters' clocks.)
    const lock = new ReadWriteLock((await fleet.openWarm(patient)).redlock, name);
    const holding = await new ReadWriteLock((await fleet.openWarm(patient)).redlock, name).write(ttl);
    const served: string[] = [];
    const held = new Map<string, Lock>();
    const wait = (call: string): void => {
      const acquiring: Promise<Lock> = call.startsWith("read") ? lock.read(ttl) : lock.write(ttl);
      void acquiring.then((granted) => {
        served.push(call);
        held.set(call, granted);
      });
    };
    for (const call of ["write 0", "read 1", "read 2", "write 3", "read 4"]) wait(call);
    // Of the writers of one process only the first has an entry.
    await untilWaiting(name, 4);
    await holding.release();
    for (const together of [["write 0"], ["read 1", "read 2"], ["write 3"], ["read 4"]]) {
      const { net } = await timed(() =>
        until(`${together.join(" and ")} are served`, () => together.every((call) => held.has(call))),
      );
      // By messages: a heartbeat finds it after a second.
      expect(net).toBeLessThan(900);
      expect(served.splice(0).sort()).toEqual(together);
      for (const call of together) await held.get(call)!.release();
      if (!together.includes("write 0")) continue;
      // By the release itself: two masters have all entries, and two have answered it.
      const readers = fleet.admins.map((admin) => admin.zcard(`quorlock:rw:{${name}}:readers`));
      expect(Math.max(...(await Promise.all(readers)))).toBe(2);
    }
  });

  it("get the lock by a message: a writer from the last reader, and readers from a writer that gives up", async () => {
    const name = fresh("report");
    const [one, other] = [await fleet.openWarm(patient), await fleet.openWarm(patient)].map(
      ({ redlock }) => new ReadWriteLock(redlock, name),
    );
    const reading = await one!.read(ttl);
    const { result: writing, net } = await timed(async () => {
      const waiting = other!.write(ttl);
      await untilWaiting(name, 1);
      await reading.release();
      return waiting;
    });
    // A heartbeat finds it after a second.
    expect(net).toBeLessThan(900);
    await writing.release();
    const again = await one!.read(ttl);
    const controller = new AbortController();
    const leaving = rejection(one!.write(ttl, { signal: controller.signal }));
    await untilWaiting(name, 1);
    const behind = one!.read(ttl);
    await untilWaiting(name, 2);
    const { net: wait } = await timed(async () => {
      controller.abort();
      await (await behind).release();
    });
    expect(wait).toBeLessThan(900);
    expect(await leaving).toMatchObject({ code: "ABORTED" });
    await again.release();
  });

  it("are let in by a downgrade if they read, and writers of its process follow when all readers have left", async () => {
    const name = fresh("report");
    const [one, other] = [await fleet.openWarm(patient), await fleet.openWarm(patient)].map(
      ({ redlock }) => new ReadWriteLock(redlock, name),
    );
    const before = await other!.read(ttl);
    const waiting = one!.write(ttl);
    await untilWaiting(name, 1);
    await before.release();
    const writing = await waiting;
    const reader = one!.read(ttl);
    await untilWaiting(name, 1);
    const next = one!.write(ttl);
    const { result: reading, net } = await timed(async () => {
      const downgraded = await writing.downgrade();
      await (await reader).release();
      return downgraded;
    });
    expect(net).toBeLessThan(900);
    expect(await reading.verify()).toBe(true);
    await reading.release();
    await (await next).release();
  });

  it("for a lease that is handed on in their process enter the queue when it is downgraded", async () => {
    const name = fresh("report");
    const [one, other] = [await fleet.openWarm(patient), await fleet.openWarm(patient)].map(
      ({ redlock }) => new ReadWriteLock(redlock, name),
    );
    const before = await other!.read(ttl);
    const [first, second] = [one!.write(ttl), one!.write(ttl)];
    await untilWaiting(name, 1);
    await before.release();
    const reading = await (await first).downgrade();
    await untilWaiting(name, 1);
    await reading.release();
    await (await second).release();
  });
});
