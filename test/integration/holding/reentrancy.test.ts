import { type Lock, LockLostError, type Redlock, ResourceLockedError } from "@quorlock/redlock";
import { describe, expect, it } from "vitest";
import { turn, until } from "../../contract/until.ts";
import { Fleet, fresh, rejection } from "../fleet/fleet.ts";
import { WireTap } from "../fleet/wire-tap.ts";

const fleet = Fleet.forTests(3);

const open = (): Redlock => fleet.open({ reentrant: true, retryCount: -1, retryDelay: 20 }).redlock;

describe("a nested call", () => {
  it("holds the same resources as the outer one, and sends nothing", async () => {
    const { redlock } = await fleet.openWarm({ reentrant: true });
    const resource = fresh();
    await using tap = await WireTap.on(fleet.admins[0]!);
    await redlock.using([resource, `${resource}-b`], 20_000, async (_, outer) => {
      await Promise.all(outer.attempts);
      const before = (await tap.commands()).length;
      for (let count = 0; count < 100; count += 1) {
        const inner = await redlock.acquire(resource, 20_000);
        expect([inner.value, inner.state]).toEqual([outer.value, "held"]);
        await inner.release();
      }
      await redlock.using(`${resource}-b`, 20_000, async (_signal, inner) => {
        expect(inner.value).toBe(outer.value);
      });
      expect((await tap.commands()).length).toBe(before);
      expect(await fleet.values(resource)).toEqual([outer.value, outer.value, outer.value]);
      expect(await fleet.open().redlock.tryAcquire(resource, 20_000)).toBeNull();
    });
    await fleet.untilGone(resource);
  });

  it("keeps the lease when it outlives the outer one; the last one releases", async () => {
    const redlock = open();
    const resource = fresh();
    const outer = await redlock.acquire(resource, 20_000);
    const inner = await redlock.acquire(resource, 20_000, { parent: outer });
    await outer.release();
    expect([outer.state, inner.state, await inner.verify()]).toEqual(["released", "held", true]);
    expect(await fleet.open().redlock.tryAcquire(resource, 20_000)).toBeNull();
    expect(await rejection(outer.extend(20_000))).toBeInstanceOf(LockLostError);
    await inner.extend(30_000);
    expect(inner.remaining()).toBeGreaterThan(25_000);
    expect((await inner.release()).outcome).toBe("released");
    await fleet.untilGone(resource);
  });

  it("is notified when the lease is lost, as the outer one is", async () => {
    const redlock = fleet.open({ reentrant: true, nodeTimeout: 300 }).redlock;
    const resource = fresh();
    const lost: Lock[] = [];
    redlock.on("lost", (lock) => lost.push(lock));
    await redlock.using(resource, 1200, (outerSignal, outer) =>
      redlock.using(resource, 1200, async (signal, inner) => {
        await Promise.all(outer.attempts);
        await fleet.occupy(resource);
        await until("both are told", () => signal.aborted && outerSignal.aborted);
        expect([outer.state, inner.state]).toEqual(["lost", "lost"]);
        expect(lost).toEqual([outer, inner]);
      }),
    );
    await fleet.free(resource);
  });
});

describe("siblings", () => {
  it.each(["using", "acquire"])("by %s run one at a time, under one lease", async (how) => {
    const redlock = open();
    const resource = fresh();
    let inside = 0;
    let most = 0;
    const values = new Set<string>();
    const work = async (lock: Lock): Promise<void> => {
      inside += 1;
      most = Math.max(most, inside);
      values.add(lock.value);
      await fleet.values(resource);
      await turn();
      inside -= 1;
    };
    const sibling = async (): Promise<void> => {
      if (how === "using") return redlock.using(resource, 20_000, (_, lock) => work(lock));
      await using lock = await redlock.acquire(resource, 20_000);
      await work(lock);
    };
    await redlock.using(resource, 20_000, () => Promise.all(Array.from({ length: 10 }, sibling)));
    expect([most, values.size]).toEqual([1, 1]);
    await fleet.untilGone(resource);
  });

  it("of two processes' worth of clients exclude each other as well", async () => {
    const resource = fresh();
    let inside = 0;
    let done = 0;
    const work = async (): Promise<void> => {
      inside += 1;
      expect(inside).toBe(1);
      await turn();
      inside -= 1;
      done += 1;
    };
    await Promise.all(
      [open(), open()].map((redlock) =>
        Promise.all(
          Array.from({ length: 5 }, () =>
            redlock.using(resource, 20_000, () =>
              Promise.all([1, 2].map(() => redlock.using(resource, 20_000, work))),
            ),
          ),
        ),
      ),
    );
    expect(done).toBe(20);
    await fleet.untilGone(resource);
  });
});

describe("a promise that outlives its lease", () => {
  it("waits for the masters like every other call", async () => {
    const redlock = open();
    const resource = fresh();
    let proceed!: () => void;
    const over = new Promise<void>((resolve) => {
      proceed = resolve;
    });
    let detached: Promise<Lock> | undefined;
    await redlock.using(resource, 20_000, () => {
      detached = over.then(() => redlock.acquire(resource, 20_000));
    });
    const rival = await open().acquire(resource, 20_000);
    proceed();
    let granted = false;
    const watched = detached!.then((lock) => {
      granted = true;
      return lock;
    });
    const end = performance.now() + 300;
    await until("some time has passed", () => performance.now() > end);
    expect(granted).toBe(false);
    await rival.release();
    const lock = await watched;
    expect(lock.value).not.toBe(rival.value);
    await lock.release();
  });

  it("does not enter what another handle still holds", async () => {
    const redlock = fleet.open({ reentrant: true }).redlock;
    const resource = fresh();
    let proceed!: () => void;
    const over = new Promise<void>((resolve) => {
      proceed = resolve;
    });
    let detached: Promise<unknown> | undefined;
    const inner = await redlock.using(resource, 20_000, () => {
      detached = rejection(over.then(() => redlock.acquire(resource, 20_000, { retryCount: 0 })));
      return redlock.acquire(resource, 20_000);
    });
    proceed();
    expect(await detached!).toBeInstanceOf(ResourceLockedError);
    expect(await inner.verify()).toBe(true);
    await inner.release();
    await fleet.untilGone(resource);
  });
});

describe("without reentrant", () => {
  it("a nested call that has waited in the queue for its own lock gets an error that says so", async () => {
    const { redlock } = fleet.open();
    const resource = fresh();
    const nested = redlock.using(resource, 30_000, () =>
      redlock.acquire(resource, 30_000, { waitTimeout: 300 }),
    );
    expect(String(await rejection(nested))).toContain(`"${resource}" is locked by this same Redlock`);
    // A call of another client does not get this message.
    await using held = await redlock.acquire(resource, 30_000);
    expect(held.state).toBe("held");
    const other = fleet.open().redlock.acquire(resource, 30_000, { waitTimeout: 300 });
    expect(String(await rejection(other))).toContain(`"${resource}" is locked by someone else`);
  });
});
