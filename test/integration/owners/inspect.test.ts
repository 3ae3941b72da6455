import type { Lock, Redlock } from "@quorlock/redlock";
import { ReadWriteLock } from "@quorlock/redlock/read-write-lock";
import { Semaphore } from "@quorlock/redlock/semaphore";
import { describe, expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet, fresh } from "../fleet/fleet.ts";

const fleet = Fleet.forTests(3);
const ttl = 60_000;

async function openNamed(...names: readonly string[]): Promise<readonly Redlock[]> {
  const opened = await Promise.all(names.map((owner) => fleet.openWarm({ owner })));
  return opened.map(({ redlock }) => redlock);
}

/** The calls that `act` leaves waiting end before the masters are emptied. */
async function whileWaiting(calls: readonly Promise<Lock>[], act: () => Promise<void>): Promise<void> {
  const ended = Promise.allSettled(calls);
  await act();
  await ended;
}

const names = (shown: readonly { readonly holder: { readonly name: string } | undefined }[]) =>
  shown.map(({ holder }) => holder?.name);

describe("inspect", () => {
  it("shows who waits in which place, without their tokens", async () => {
    await fleet.empty();
    const [holder, first, second] = (await openNamed("holder", "first", "second")) as [
      Redlock,
      Redlock,
      Redlock,
    ];
    const resource = fresh();
    const lock = await holder.acquire(resource, ttl);
    const calls = [first.acquire(resource, ttl, { waitTimeout: 30_000 })];
    await fleet.untilWaiting(resource);
    calls.push(second.acquire(resource, ttl, { waitTimeout: 30_000 }));
    await whileWaiting(calls, async () => {
      await until("both wait on each master", async () =>
        (await holder.inspect(resource)).every(({ waiters }) => waiters.length === 2),
      );
      // (The order of two calls is as exact as their readings of the masters' clocks.)
      const queued = await fleet.admins[0]!.zrange(`quorlock:queue:{${resource}}`, "0", "-1");
      for (const { waiters, disagrees } of await holder.inspect(resource)) {
        expect(new Set(names(waiters))).toEqual(new Set(["first", "second"]));
        expect(waiters.map(({ place, tag }) => [place, tag])).toEqual(
          queued.map((member, index) => [index + 1, member.slice(0, 8)]),
        );
        expect(disagrees).toBe(false);
      }
      await lock.release();
      await Promise.all(calls.map(async (call) => (await call).release()));
    });
  });

  it("shows the master that disagrees with the quorum, and all where no owner has one", async () => {
    await fleet.empty();
    const [redlock] = (await openNamed("holder")) as [Redlock];
    const resource = fresh();
    const lock = await redlock.acquire(resource, ttl);
    await Promise.all(lock.attempts);
    await fleet.admins[2]!.set(resource, "f".repeat(32), "PX", ttl);
    const disagree = async () => (await redlock.inspect(resource)).map(({ disagrees }) => disagrees);
    expect(await disagree()).toEqual([false, false, true]);
    await fleet.admins[2]!.del(resource);
    expect(await disagree()).toEqual([false, false, false]);
    await fleet.admins[2]!.set(resource, "f".repeat(32), "PX", ttl);
    await fleet.admins[1]!.set(resource, "e".repeat(32), "PX", ttl);
    expect(await disagree()).toEqual([true, true, true]);
  });

  it("of a semaphore shows its permits, and who waits for one", async () => {
    await fleet.empty();
    const redlocks = await openNamed("one", "two", "three", "four");
    const name = fresh();
    const [one, two, three, four] = redlocks.map((redlock) => new Semaphore(redlock, name, 2)) as [
      Semaphore,
      Semaphore,
      Semaphore,
      Semaphore,
    ];
    const permits = [await one.acquire(ttl), await two.acquire(ttl)];
    const calls = [three.acquire(ttl, { waitTimeout: 30_000 })];
    const waiting = async () => (await four.inspect()).waiting;
    await until("the first one waits", async () =>
      names(await waiting()).every((holder) => holder === "three"),
    );
    calls.push(four.acquire(ttl, { waitTimeout: 30_000 }));
    await whileWaiting(calls, async () => {
      await until("the second one waits", async () =>
        (await waiting()).every(({ waiters }) => names(waiters).join() === "four"),
      );
      const inspection = await one.inspect();
      // A quorum has each: a vote that came late leaves a key on its master to the one that waits.
      const holders = inspection.permits.map(({ masters }) => {
        const own = names(masters);
        return own.find((holder, index) => own.indexOf(holder) !== index);
      });
      expect(new Set(holders)).toEqual(new Set(["one", "two"]));
      expect(names(inspection.waiting)).toEqual(["three", "three", "three"]);
      for (const permit of permits) await permit.release();
      for (const call of calls) await (await call).release();
    });
  });

  it("of a readers-writer lock shows the readers or the writer, and who waits", async () => {
    await fleet.empty();
    const redlocks = await openNamed("one", "two", "writer");
    const name = fresh();
    const [one, two, three] = redlocks.map((redlock) => new ReadWriteLock(redlock, name)) as [
      ReadWriteLock,
      ReadWriteLock,
      ReadWriteLock,
    ];
    const reading = [await one.read(2 * ttl), await two.read(ttl)];
    await Promise.all(reading.flatMap(({ attempts }) => attempts));
    const calls = [three.write(ttl, { waitTimeout: 30_000 })];
    await whileWaiting(calls, async () => {
      await until("the writer waits", async () =>
        (await one.inspect()).every(({ waiters }) => names(waiters).join() === "writer"),
      );
      for (const { owner, holder, readers } of await one.inspect()) {
        expect([owner, holder]).toEqual([undefined, undefined]);
        expect(names(readers)).toEqual(["one", "two"]);
        for (const { remaining } of readers) expect(remaining).toBeGreaterThan(0);
      }
      for (const lock of reading) await lock.release();
      const writing = await calls[0]!;
      for (const { holder, readers } of await one.inspect())
        if (holder) expect([holder.name, readers]).toEqual(["writer", []]);
      expect(names(await one.inspect())).toContain("writer");
      await writing.release();
    });
  });
});
