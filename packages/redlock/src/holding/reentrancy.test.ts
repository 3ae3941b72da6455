import { afterEach, describe, expect, test, vi } from "vitest";
import type { RedlockOptions } from "../client.ts";
import {
  AbortError,
  ClosedError,
  InvalidArgumentError,
  LockLostError,
  ResourceLockedError,
} from "../errors.ts";
import { type AcquireOptions, Redlock } from "../redlock.ts";
import { fixedBackoff } from "../settings/backoff.ts";
import { Gate, VirtualClient, type VirtualSetting, virtualSetting } from "../virtual-time.test.ts";
import type { Lock } from "./lock.ts";

// PROTOCOL 10.6.

function setting(options: RedlockOptions = {}): VirtualSetting {
  return virtualSetting(3, { reentrant: true, ...options });
}

/** The votes and extensions that each master was asked for. */
function claims({ nodes }: VirtualSetting): number {
  return nodes[0]!.kinds.filter((kind) => kind === "vote").length;
}

/** The keys on the masters. */
function owners({ masters }: VirtualSetting, resource = "r"): ReadonlyArray<string | undefined> {
  return masters.map((master) => master.owner(resource));
}

const free = [undefined, undefined, undefined];

afterEach(() => {
  vi.unstubAllGlobals();
});

describe("inside of the routine of using", () => {
  test("acquire, tryAcquire and using come back at once, on the same hold, without a command", async () => {
    const at = setting();
    const { time, redlock, nodes } = at;
    const outer = redlock.using("r", 1000, async (_, outerLock) => {
      const begun = time.now();
      const sent = nodes[0]!.sent.length;
      const inner = await redlock.acquire("r", 1000);
      expect(inner).not.toBe(outerLock);
      expect([inner.value, inner.state, inner.resources]).toEqual([outerLock.value, "held", ["r"]]);
      expect(inner.remaining()).toBe(outerLock.remaining());
      await inner.release();
      const tried = await redlock.tryAcquire("r", 1000);
      expect(tried!.state).toBe("held");
      await tried!.release();
      const value = await redlock.using("r", 1000, (_signal, lock) => lock.value);
      expect(value).toBe(outerLock.value);
      expect([time.now() - begun, nodes[0]!.sent.length - sent]).toEqual([0, 0]);
      return "done";
    });
    expect(await time.run(outer)).toBe("done");
    await time.advance(5);
    expect([claims(at), owners(at)]).toEqual([1, free]);
  });

  test("it goes on through any depth, and through what is awaited or called back", async () => {
    const at = setting();
    const { time, redlock } = at;
    let deepest = 0;
    const deeper = async (depth: number): Promise<void> => {
      deepest = Math.max(deepest, depth);
      await new Promise<void>((resolve) => void time.timers(resolve, 10));
      if (depth < 20) await redlock.using("r", 1000, () => deeper(depth + 1));
    };
    await time.run(redlock.using("r", 1000, () => deeper(1)));
    expect([deepest, claims(at)]).toEqual([20, 1]);
  });

  test("some of the held resources may be entered, and are all that the handle names", async () => {
    const at = setting();
    const { time, redlock } = at;
    await time.run(
      redlock.using(["a", "b", "c"], 1000, async () => {
        const inner = await redlock.acquire(["c", "a"], 1000);
        expect(inner.resources).toEqual(["c", "a"]);
        await inner.release();
      }),
    );
    expect(claims(at)).toBe(1);
  });

  test("some that are held and some that are not are refused, before anything is sent", async () => {
    const at = setting();
    const { time, redlock } = at;
    const outer = redlock.using("a", 1000, () => redlock.acquire(["a", "b"], 1000));
    await expect(time.run(outer)).rejects.toThrow(InvalidArgumentError);
    await expect(outer).rejects.toThrow('"a" is held already and "b" is not');
    expect(claims(at)).toBe(1);
  });

  test("a resource that is not held is asked for, and what was held outside of it is still entered", async () => {
    const at = setting();
    const { time, redlock } = at;
    await time.run(
      redlock.using("a", 1000, (_, outer) =>
        redlock.using("b", 1000, async () => {
          const inner = await redlock.acquire("a", 1000);
          expect(inner.value).toBe(outer.value);
          await inner.release();
        }),
      ),
    );
    expect(claims(at)).toBe(2);
  });

  test("a lease with less than half of the requested ttl left is extended before it is entered", async () => {
    const { time, redlock, nodes } = setting();
    await time.run(
      redlock.using("r", 1000, async (_, outer) => {
        const inner = await redlock.acquire("r", 10_000);
        expect(inner.remaining()).toBeGreaterThan(9000);
        expect(outer.remaining()).toBe(inner.remaining());
        await inner.release();
      }),
    );
    expect(nodes[0]!.kinds).toEqual(["vote", "extend", "release"]);
  });

  test("a lease with no more than minimumValidity left is extended before it is entered", async () => {
    const { time, redlock, nodes } = setting();
    const outer = await time.run(redlock.acquire("r", 1000));
    await time.advance(600);
    expect(outer.remaining()).toBeLessThan(400);
    const options = { parent: outer, minimumValidity: 450 };
    for (const enter of ["acquire", "tryAcquire"] as const) {
      const inner = await time.run(redlock[enter]("r", 500, options));
      expect(inner!.remaining()).toBeGreaterThan(450);
      await inner!.release();
      await time.advance(100);
    }
    expect(nodes[0]!.kinds).toEqual(["vote", "extend", "extend"]);
  });

  test("a lease that cannot be extended to minimumValidity is not entered", async () => {
    const at = setting();
    const { time, redlock } = at;
    await time.run(
      redlock.using("r", 500, { maxHoldTime: 1000 }, async () => {
        await wait(at, 700);
        const refused = redlock.acquire("r", 600, { minimumValidity: 400 });
        await expect(refused).rejects.toMatchObject({ code: "NO_QUORUM" });
        await expect(refused).rejects.toThrow(/minimumValidity is 400 ms/);
        // A refused call does not block the next one.
        await (await redlock.acquire("r", 200)).release();
      }),
    );
    expect(owners(at)).toEqual(free);
  });

  test("an outer using that may hold only for so long caps those inside, and they do not lift it", async () => {
    const { time, redlock } = setting();
    await time.run(
      redlock.using("r", 300, { maxHoldTime: 900 }, () =>
        redlock.using("r", 300, async (signal) => {
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          expect(time.now()).toBeLessThanOrEqual(910);
          expect((signal.reason as LockLostError).why).toContain("maxHoldTime");
        }),
      ),
    );
  });
});

describe("the last handle releases", () => {
  test("inner ones do not, and each has its own released state", async () => {
    const at = setting();
    const { time, redlock } = at;
    await time.run(
      redlock.using("r", 1000, async (_, outer) => {
        const inner = await redlock.acquire("r", 1000);
        expect(await inner.release()).toMatchObject({ outcome: "released", attempts: [] });
        expect([inner.state, inner.remaining(), inner.expiration]).toEqual(["released", 0, 0]);
        expect(inner.signal.aborted).toBe(false);
        expect(await inner.verify()).toBe(false);
        await expect(inner.extend(1000)).rejects.toThrow(LockLostError);
        await expect(redlock.extend(inner, 1000)).rejects.toThrow("it was released");
        expect(await inner.release()).toMatchObject({ outcome: "released", attempts: [] });
        expect([outer.state, await outer.verify()]).toEqual(["held", true]);
        expect(owners(at)).toEqual([outer.value, outer.value, outer.value]);
      }),
    );
    await time.advance(5);
    expect(owners(at)).toEqual(free);
  });

  test("a nested one that is released later keeps the lease until then", async () => {
    const at = setting();
    const { time, redlock } = at;
    const inner = await time.run(redlock.using("r", 1000, () => redlock.acquire("r", 1000)));
    await time.advance(100);
    expect([inner.state, owners(at)]).toEqual(["held", [inner.value, inner.value, inner.value]]);
    const { outcome } = await time.run(inner.release());
    await time.advance(5);
    expect([outcome, inner.state, owners(at)]).toEqual(["released", "released", free]);
  });

  test("by redlock.release as by its own", async () => {
    const at = setting();
    const { time, redlock } = at;
    await time.run(
      redlock.using("r", 1000, async (_, outer) => {
        await redlock.release(await redlock.acquire("r", 1000));
        expect(await redlock.verify(outer)).toBe(true);
      }),
    );
    await time.advance(5);
    expect(owners(at)).toEqual(free);
  });

  test("a loss reaches every handle, by signal and by event, but none that was released", async () => {
    const { time, redlock, client, nodes } = setting();
    let left: Lock | undefined;
    await time.run(
      redlock.using("r", 1000, async (outerSignal, outer) => {
        left = await redlock.acquire("r", 1000);
        void left.signal;
        await left.release();
        const inner = await redlock.acquire("r", 1000);
        for (const node of nodes) node.cut();
        await new Promise((resolve) => inner.signal.addEventListener("abort", resolve));
        expect(outerSignal.aborted).toBe(true);
        expect([outer.state, inner.state, left.state]).toEqual(["lost", "lost", "released"]);
        expect(inner.signal.reason).toBeInstanceOf(LockLostError);
        expect(left.signal.aborted).toBe(false);
        expect(client.lost).toEqual([outer, inner]);
        // As of any lost lock: the masters are asked, and none answers.
        expect((await inner.release()).outcome).toBe("partial");
        expect(inner.state).toBe("lost");
      }),
    );
  });

  test("one that is lost and never released keeps no lease", async () => {
    const at = setting();
    const { time, redlock } = at;
    const outer = await time.run(redlock.acquire("r", 60_000));
    const inner = await redlock.acquire("r", 60_000, { parent: outer });
    inner.expiration = at.machine.wall() + 50;
    // No timer has noticed its end.
    time.skip(60);
    expect((await time.run(outer.release())).outcome).toBe("released");
    await time.advance(5);
    expect([outer.state, inner.state, owners(at)]).toEqual(["released", "lost", free]);
  });

  test("one that is lost keeps no lease that is lost as well", async () => {
    const at = setting();
    const { time, redlock } = at;
    const outer = await time.run(redlock.acquire("r", 60_000));
    const inner = await redlock.acquire("r", 60_000, { parent: outer });
    outer.expiration = at.machine.wall() + 50;
    await time.advance(60);
    expect([outer.state, inner.state]).toEqual(["lost", "lost"]);
    await time.run(outer.release());
    await time.advance(5);
    expect(owners(at)).toEqual(free);
  });

  test("a listener of one that is lost may release the outer one: those lost with it keep no lease", async () => {
    const at = setting();
    const { time, redlock } = at;
    const outer = await time.run(redlock.acquire("r", 60_000));
    const middle = await redlock.acquire("r", 60_000, { parent: outer });
    const inner = await redlock.acquire("r", 60_000, { parent: middle });
    let seen: string | undefined;
    middle.signal.addEventListener("abort", () => {
      seen = inner.state;
      void outer.release();
    });
    middle.expiration = at.machine.wall() + 50;
    await time.advance(60);
    expect([seen, outer.state, owners(at)]).toEqual(["lost", "released", free]);
  });

  test("a lease is detached by the last one that is held, even if one that was lost is never released", async () => {
    const at = setting();
    const { time, redlock } = at;
    const outer = await time.run(redlock.acquire("r", 60_000));
    const inner = await redlock.acquire("r", 60_000, { parent: outer });
    const refused = outer.detach();
    await expect(refused).rejects.toThrow("shares its lease with other handles");
    inner.expiration = at.machine.wall() + 50;
    await time.advance(60);
    const { value } = await time.run(outer.detach());
    expect((await inner.release()).outcome).toBe("detached");
    expect([outer.state, inner.state, owners(at)]).toEqual(["detached", "lost", [value, value, value]]);
  });
});

describe("siblings", () => {
  test.each(["using", "acquire"])(
    "by %s take turns, and what is inside of each enters at once",
    async (how) => {
      const at = setting({ retryCount: -1 });
      const { time, redlock } = at;
      let inside = 0;
      const order: number[] = [];
      const work = async (number: number): Promise<void> => {
        inside += 1;
        expect(inside).toBe(1);
        order.push(number);
        await new Promise<void>((resolve) => void time.timers(resolve, 50));
        inside -= 1;
      };
      const sibling = async (number: number): Promise<void> => {
        if (how === "using") {
          return redlock.using("r", 1000, () => redlock.using("r", 1000, () => work(number)));
        }
        const lock = await redlock.acquire("r", 1000);
        const nested = await redlock.acquire("r", 1000, { parent: lock });
        await work(number);
        await nested.release();
        await lock.release();
      };
      await time.run(redlock.using("r", 1000, () => Promise.all([1, 2, 3].map(sibling))));
      expect([order, claims(at)]).toEqual([[1, 2, 3], 1]);
    },
  );

  test("that want different resources do not wait for each other", async () => {
    const { time, redlock } = setting();
    await time.run(
      redlock.using(["a", "b"], 1000, async () => {
        const a = await redlock.acquire("a", 1000);
        const b = await redlock.acquire("b", 1000);
        expect([a.state, b.state]).toEqual(["held", "held"]);
        await Promise.all([a.release(), b.release()]);
      }),
    );
  });

  test("are refused when their time to wait is over, and the error names the owner", async () => {
    const { time, redlock } = setting();
    await time.run(
      redlock.using("r", 1000, async () => {
        const first = await redlock.acquire("r", 1000);
        expect(await redlock.tryAcquire("r", 1000)).toBeNull();
        const begun = time.now();
        const refused = redlock.acquire("r", 1000, { waitTimeout: 300 });
        await expect(refused).rejects.toThrow(ResourceLockedError);
        await expect(refused).rejects.toThrow("another call nested in the same lock");
        expect(time.now() - begun).toBe(300);
        await first.release();
        const second = await redlock.tryAcquire("r", 1000);
        expect(second!.state).toBe("held");
        await second!.release();
      }),
    );
  });

  test("stop waiting when their signal aborts, or with quit", async () => {
    const { time, redlock } = setting({ retryCount: -1 });
    const gate = new Gate();
    const using = redlock.using("r", 1000, async () => {
      await redlock.acquire("r", 1000);
      const controller = new AbortController();
      const aborted = redlock.acquire("r", 1000, { signal: controller.signal });
      controller.abort();
      await expect(aborted).rejects.toThrow(AbortError);
      const waiting = redlock.acquire("r", 1000);
      waiting.catch(() => {});
      const quit = redlock.quit();
      await expect(waiting).rejects.toThrow(ClosedError);
      await quit;
      gate.open();
    });
    await time.run(using);
    await gate.opened;
  });

  test("wait also for what a promise of the first one still holds", async () => {
    const { time, redlock } = setting({ retryCount: -1 });
    const gate = new Gate();
    let second = false;
    const outer = redlock.using("r", 1000, async () => {
      let detached: Promise<void> | undefined;
      await redlock.using("r", 1000, () => {
        detached = redlock.using("r", 1000, () => gate.opened);
      });
      const sibling = redlock.using("r", 1000, () => {
        second = true;
      });
      await new Promise<void>((resolve) => void time.timers(resolve, 100));
      expect(second).toBe(false);
      gate.open();
      await detached;
      await sibling;
    });
    await time.run(outer);
    expect(second).toBe(true);
  });
});

describe("a waiting sibling", () => {
  test("that leaves last ends the turn of the handle that it is nested in", async () => {
    const { time, redlock } = setting({ reentrant: "handle" });
    const outer = await time.run(redlock.acquire("r", 60_000));
    const middle = await redlock.acquire("r", 60_000, { parent: outer });
    const inner = await redlock.acquire("r", 60_000, { parent: middle });
    const waiting = redlock.acquire("r", 60_000, { parent: middle, waitTimeout: 3000 });
    waiting.catch(() => {});
    await middle.release();
    await inner.release();
    await expect(waiting).rejects.toThrow(LockLostError);
    const next = await time.run(redlock.acquire("r", 60_000, { parent: outer, waitTimeout: 100 }));
    expect(next.state).toBe("held");
  });

  test("waits for as long as its retries would take", async () => {
    const at = setting({ reentrant: "handle" });
    const { time, redlock } = at;
    const outer = await time.run(redlock.acquire("r", 60_000));
    const held = await redlock.acquire("r", 60_000, { parent: outer });
    const waiting = (options: AcquireOptions) =>
      time.measure(redlock.acquire("r", 60_000, { parent: outer, ...options }));
    const backoff = fixedBackoff(1000);
    const refused = await waiting({ retryCount: 3, backoff, retryDelay: 100 });
    expect(refused.error).toBeInstanceOf(ResourceLockedError);
    expect(refused.took).toBe(3000);
    expect((await waiting({ retryCount: 5, retryDelay: 100 })).took).toBe(500);
    const granted = redlock.acquire("r", 60_000, { parent: outer, retryCount: -1, backoff });
    await time.advance(20_000);
    void held.release();
    expect((await granted).state).toBe("held");
  });

  test("is refused with the time that the lease has left, even if the outer handle was released", async () => {
    const { time, redlock } = setting({ reentrant: "handle" });
    const outer = await time.run(redlock.acquire("r", 60_000));
    await redlock.acquire("r", 60_000, { parent: outer });
    const waiting = time.measure(redlock.acquire("r", 1000, { parent: outer, waitTimeout: 300 }));
    await outer.release();
    const { error } = await waiting;
    expect(error).toBeInstanceOf(ResourceLockedError);
    expect((error as ResourceLockedError).remaining).toBeGreaterThan(58_000);
  });

  test("rejects when its backoff returns no time, and leaves its turn", async () => {
    const { time, redlock } = setting({ reentrant: "handle" });
    const outer = await time.run(redlock.acquire("r", 60_000));
    const held = await redlock.acquire("r", 60_000, { parent: outer });
    const waiting = redlock.acquire("r", 60_000, { parent: outer, retryCount: 1, backoff: () => Number.NaN });
    await expect(waiting).rejects.toThrow(InvalidArgumentError);
    await held.release();
    const next = await redlock.acquire("r", 60_000, { parent: outer, retryCount: 0 });
    expect(next.state).toBe("held");
  });

  test.each([
    { retryCount: 5, retryDelay: 200, retryJitter: 0 },
    { retryCount: 5, backoff: fixedBackoff(200), retryDelay: 10 },
  ])("waits for its turn and then for the masters no longer than its retries would take", async (options) => {
    const { time, redlock, nodes } = setting();
    let held: Lock | undefined;
    let waiting: Promise<Lock> | undefined;
    let begun = 0;
    await time.run(
      redlock.using("r", 60_000, async () => {
        held = await redlock.acquire("r", 60_000);
        begun = time.now();
        waiting = redlock.acquire("r", 1000, options);
        waiting.catch(() => {});
      }),
    );
    await time.advance(begun + 900 - time.now());
    // A rival is there first.
    for (const node of nodes) {
      node.onSend = ({ kind }) => void (kind === "vote" && node.master.put("r", "rival"));
    }
    void held!.release();
    await expect(time.run(waiting!)).rejects.toThrow("someone else");
    expect(time.now() - begun).toBeGreaterThan(900);
    expect(time.now() - begun).toBeLessThan(1100);
  });

  test("asks the masters as soon as the lease is lost, even if the handle whose turn it was is never released", async () => {
    const at = setting();
    const { time, redlock, masters } = at;
    const lock = await time.run(
      redlock.using("r", 1000, async (signal) => {
        await redlock.acquire("r", 1000);
        const waiting = redlock.acquire("r", 1000, { waitTimeout: 5000 });
        await wait(at, 100);
        for (const master of masters) master.put("r", "rival");
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        for (const master of masters) master.delete("r");
        return waiting;
      }),
    );
    expect([lock.state, owners(at)]).toEqual(["held", [lock.value, lock.value, lock.value]]);
  });
});

describe("a promise that outlives its lease", () => {
  test("finds it dead: what it acquires is asked of the masters, and waits for the next holder", async () => {
    const at = setting({ retryCount: -1, retryDelay: 20 });
    const { time, redlock, masters } = at;
    const over = new Gate();
    let detached: Promise<Lock> | undefined;
    await time.run(
      redlock.using("r", 1000, () => {
        detached = over.opened.then(() => redlock.acquire("r", 1000));
      }),
    );
    const rival = new VirtualClient(masters, { retryCount: -1 }, 2);
    const held = await time.run(rival.redlock.acquire("r", 500));
    over.open();
    await time.advance(300);
    expect(owners(at)).toEqual([held.value, held.value, held.value]);
    const lock = await time.run(detached!);
    expect([rival.lost.length, held.state]).toEqual([1, "lost"]);
    expect(lock.value).not.toBe(held.value);
  });

  test("finds it ended even when another handle keeps the lease", async () => {
    const at = setting();
    const { time, redlock } = at;
    const over = new Gate();
    let detached: Promise<Lock | null> | undefined;
    const inner = await time.run(
      redlock.using(["a", "b"], 1000, () => {
        detached = over.opened.then(() => redlock.tryAcquire("a", 1000));
        return redlock.acquire("b", 1000);
      }),
    );
    over.open();
    expect([inner.state, claims(at)]).toEqual(["held", 1]);
    expect(await time.run(detached!)).toBeNull();
    expect(claims(at)).toBe(2);
  });

  test("that waited for its turn meanwhile asks the masters, in what is left of its waitTimeout", async () => {
    const at = setting();
    const { time, redlock, nodes } = at;
    let waiting: Promise<unknown> | undefined;
    let begun = 0;
    const first = await time.run(
      redlock.using("r", 10_000, async () => {
        const held = await redlock.acquire("r", 10_000);
        begun = time.now();
        waiting = redlock.acquire("r", 1000, { waitTimeout: 500 });
        return held;
      }),
    );
    await time.advance(300);
    expect(claims(at)).toBe(1);
    // A rival is there first.
    for (const node of nodes) {
      node.onSend = ({ kind }) => void (kind === "vote" && node.master.put("r", "rival"));
    }
    void first.release();
    await expect(time.run(waiting!)).rejects.toThrow("someone else");
    expect(claims(at)).toBeGreaterThan(1);
    expect(time.now() - begun).toBeLessThan(560);
  });

  test("of a lost lease asks the masters", async () => {
    const at = setting();
    const { time, redlock, nodes } = at;
    await time.run(
      redlock.using("r", 1000, async (signal) => {
        for (const node of nodes) node.cut();
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        for (const node of nodes) node.restore();
        await new Promise<void>((resolve) => void time.timers(resolve, 1000));
        const lock = await redlock.acquire("r", 1000);
        expect(lock.state).toBe("held");
        await lock.release();
      }),
    );
    expect(claims(at)).toBe(2);
  });
});

describe("by handle", () => {
  test("a lock is entered where it is named, in a Redlock without contexts too", async () => {
    const at = setting({ reentrant: "handle" });
    const { time, redlock } = at;
    const outer = await time.run(redlock.acquire("r", 1000));
    const inner = await redlock.acquire("r", 1000, { parent: outer });
    await redlock.using("r", 1000, { parent: inner }, async (_, lock) => {
      expect(lock.value).toBe(outer.value);
    });
    expect((await outer.release()).attempts).toEqual([]);
    expect([outer.state, inner.state, claims(at)]).toEqual(["released", "held", 1]);
    await time.run(inner.release());
    await time.advance(5);
    expect(owners(at)).toEqual(free);
  });

  test("an inner using goes on extending when the outer handle is released", async () => {
    const at = setting({ reentrant: "handle" });
    const { time, redlock } = at;
    const outer = await time.run(redlock.acquire("r", 1000));
    await time.run(
      redlock.using("r", 1000, { parent: outer }, async (signal, lock) => {
        await outer.release();
        await new Promise<void>((resolve) => void time.timers(resolve, 5000));
        expect([signal.aborted, lock.state]).toEqual([false, "held"]);
      }),
    );
    await time.advance(5);
    expect(owners(at)).toEqual(free);
  });

  test("contexts do not count there", async () => {
    const { time, redlock } = setting({ reentrant: "handle" });
    const inner = time.run(redlock.using("r", 1000, () => redlock.tryAcquire("r", 1000)));
    expect(await inner).toBeNull();
  });

  test.each([
    ["released", (lock: Lock) => lock.release()],
    ["detached", (lock: Lock) => lock.detach()],
  ])("one that is %s is not entered", async (_, end) => {
    const at = setting();
    const { time, redlock } = at;
    const outer = await time.run(redlock.acquire("r", 1000));
    await time.run<unknown>(end(outer));
    await expect(redlock.acquire("r", 1000, { parent: outer })).rejects.toThrow(LockLostError);
    expect(claims(at)).toBe(1);
  });

  test("only a lock of the same Redlock that holds the resources can be the parent", async () => {
    const at = setting();
    const { time, redlock, masters } = at;
    const lock = await time.run(redlock.acquire("r", 1000));
    const foreign = await time.run(
      new VirtualClient(masters, { reentrant: true }, 2).redlock.acquire("s", 1000),
    );
    for (const parent of [foreign, {}, "r"] as Lock[]) {
      await expect(redlock.acquire("r", 1000, { parent })).rejects.toThrow(InvalidArgumentError);
    }
    await expect(redlock.acquire("s", 1000, { parent: foreign })).rejects.toThrow("of this Redlock");
    await expect(redlock.acquire("s", 1000, { parent: lock })).rejects.toThrow('does not hold "s"');
    const plain = virtualSetting(3).redlock;
    await expect(plain.acquire("r", 1000, { parent: lock })).rejects.toThrow(InvalidArgumentError);
    expect(claims(at)).toBe(1);
  });
});

function wait({ time }: VirtualSetting, delay: number): Promise<void> {
  return new Promise((resolve) => void time.timers(resolve, delay));
}

describe("maxHoldTime of a nested using", () => {
  test("ends with it: the outer one is held on", async () => {
    const at = setting();
    const { time, redlock, client } = at;
    await time.run(
      redlock.using("r", 300, async (signal, outer) => {
        await redlock.using("r", 300, { maxHoldTime: 400 }, () => wait(at, 100));
        await wait(at, 2000);
        expect([signal.aborted, outer.state]).toEqual([false, "held"]);
      }),
    );
    await time.advance(5);
    expect([client.lost, owners(at)]).toEqual([[], free]);
  });

  test("ends its own handle, those inside of it, and no other", async () => {
    const at = setting();
    const { time, redlock, client } = at;
    const lost: Lock[] = [];
    await time.run(
      redlock.using("r", 300, async (outerSignal, outer) => {
        const begun = time.now();
        await redlock.using("r", 300, { maxHoldTime: 900 }, async (signal, middle) => {
          await redlock.using("r", 300, async (innerSignal, inner) => {
            await new Promise((resolve) => innerSignal.addEventListener("abort", resolve));
            expect(time.now() - begun).toBeLessThanOrEqual(900);
            expect(time.now() - begun).toBeGreaterThan(870);
            for (const one of [signal, innerSignal]) {
              expect(one.aborted).toBe(true);
              expect(one.reason).toMatchObject({ why: "it was held for maxHoldTime, 900 ms" });
            }
            for (const lock of [middle, inner]) {
              expect([lock.state, lock.remaining(), lock.expiration]).toEqual(["lost", 0, 0]);
              const why = "it was held for maxHoldTime, 900 ms";
              await expect(lock.extend(300)).rejects.toMatchObject({ code: "LOCK_LOST", why });
              expect(await lock.verify()).toBe(false);
              await expect(redlock.acquire("r", 300, { parent: lock })).rejects.toThrow(LockLostError);
            }
            lost.push(middle, inner);
            expect([outerSignal.aborted, outer.state]).toEqual([false, "held"]);
            await wait(at, 500);
          });
        });
        // Its turn is over when it has left: another one may come in.
        await redlock.using("r", 300, () => wait(at, 1000));
        expect([outerSignal.aborted, outer.state]).toEqual([false, "held"]);
      }),
    );
    await time.advance(5);
    expect(new Set(client.lost)).toEqual(new Set(lost));
    expect([client.lost.length, claims(at), owners(at)]).toEqual([2, 1, free]);
  });

  test("ends its turn: the next sibling enters while its routine still runs, after its signal has aborted", async () => {
    const at = setting();
    const { time, redlock, client } = at;
    const over = new Gate();
    await time.run(
      redlock.using("r", 300, async () => {
        const begun = time.now();
        let aborted = false;
        const first = redlock.using("r", 300, { maxHoldTime: 400 }, async (signal) => {
          signal.addEventListener("abort", () => {
            aborted = true;
          });
          await over.opened;
        });
        await redlock.using("r", 300, { waitTimeout: 1000 }, async (signal, lock) => {
          expect([aborted, lock.state]).toEqual([true, "held"]);
          expect(time.now() - begun).toBeLessThanOrEqual(400);
          over.open();
          await first;
          // The first one leaves, and the second one stays held, in its turn.
          await wait(at, 1000);
          expect([signal.aborted, lock.state]).toEqual([false, "held"]);
        });
      }),
    );
    expect([client.lost.length, claims(at)]).toEqual([1, 1]);
  });

  test("ends its part in the lease: the outer one releases it while the routine still runs", async () => {
    const at = setting();
    const { time, redlock } = at;
    const over = new Gate();
    let nested: Promise<string> | undefined;
    await time.run(
      redlock.using("r", 60_000, async () => {
        nested = redlock.using("r", 300, { maxHoldTime: 400 }, async (signal) => {
          await over.opened;
          expect(signal.aborted).toBe(true);
          return "done";
        });
        await wait(at, 500);
      }),
    );
    await time.advance(5);
    expect(owners(at)).toEqual(free);
    over.open();
    expect(await time.run(nested!)).toBe("done");
  });

  test("bounds what a nested using with a longer ttl asks for: the innermost limit that applies", async () => {
    const at = setting();
    const { time, redlock, nodes } = at;
    const begun = time.now();
    await time.run(
      redlock.using("r", 500, { maxHoldTime: 800 }, async (signal) => {
        await wait(at, 400);
        await redlock.using("r", 6000, async (_, inner) => {
          expect(inner.remaining()).toBeLessThanOrEqual(400);
          await inner.extend(6000);
          expect(inner.remaining()).toBeLessThanOrEqual(400);
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          expect(signal.reason).toMatchObject({ why: "it was held for maxHoldTime, 800 ms" });
        });
      }),
    );
    expect(nodes[0]!.kinds).toContain("extend");
    const until = nodes[0]!.sent.filter(({ kind }) => kind === "extend").map(({ at, ttl }) => at + ttl);
    expect(Math.max(...until) - begun).toBeLessThanOrEqual(805);
  });

  test.each([
    [400, 400],
    [2000, 800],
  ])("of %i ms in an outer one of 800 ms ends it after %i ms", async (maxHoldTime, earlier) => {
    const at = setting();
    const { time, redlock } = at;
    await time.run(
      redlock.using("r", 300, { maxHoldTime: 800 }, async () => {
        const begun = time.now();
        await redlock.using("r", 300, { maxHoldTime }, async (signal, inner) => {
          await inner.extend(5000);
          expect(inner.remaining()).toBeLessThanOrEqual(earlier);
          expect(inner.remaining()).toBeGreaterThan(earlier - 30);
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          expect(time.now() - begun).toBeLessThanOrEqual(earlier);
          expect(signal.reason).toMatchObject({ why: `it was held for maxHoldTime, ${earlier} ms` });
        });
      }),
    );
  });

  test("bounds its own extensions, and not those of the outer one", async () => {
    const at = setting();
    const { time, redlock, masters } = at;
    await time.run(
      redlock.using("r", 1000, async (_, outer) => {
        await redlock.using("r", 500, { maxHoldTime: 700 }, async (_, inner) => {
          await inner.extend(60_000);
          expect(masters[0]!.remaining("r")).toBeLessThanOrEqual(1000);
          await outer.extend(60_000);
          expect(masters[0]!.remaining("r")).toBeGreaterThan(59_000);
          expect(inner.remaining()).toBeLessThanOrEqual(700);
        });
        expect(outer.remaining()).toBeGreaterThan(59_000);
      }),
    );
  });

  test("is not needed to be noticed by a timer", async () => {
    const at = setting();
    const { time, redlock, machine } = at;
    await time.run(
      redlock.using("r", 30_000, async (_, outer) => {
        await redlock.using("r", 1000, { maxHoldTime: 2000 }, async (signal, inner) => {
          machine.block(3000);
          expect([signal.aborted, inner.remaining(), inner.state]).toEqual([true, 0, "lost"]);
        });
        expect(outer.state).toBe("held");
      }),
    );
  });

  test("of an outer one that has ended does not bound what was nested in it and works on", async () => {
    const at = setting();
    const { time, redlock } = at;
    let inner: Promise<unknown> | undefined;
    await time.run(
      redlock.using("r", 300, { maxHoldTime: 900 }, async () => {
        inner = redlock.using("r", 300, async (signal, lock) => {
          await wait(at, 3000);
          expect([signal.aborted, lock.state]).toEqual([false, "held"]);
        });
        await wait(at, 870);
      }),
    );
    await time.run(inner!);
    await time.advance(5);
    expect(owners(at)).toEqual(free);
  });

  test("is no reason where the masters were silent", async () => {
    const at = setting({ nodeTimeout: 50 });
    const { time, redlock, nodes } = at;
    await time.run(
      redlock.using("r", 1000, async (signal) => {
        await redlock.using("r", 1000, { maxHoldTime: 5000 }, async (innerSignal) => {
          await wait(at, 3950);
          for (const node of nodes) node.cut();
          await new Promise((resolve) => innerSignal.addEventListener("abort", resolve));
          for (const one of [signal, innerSignal]) {
            expect((one.reason as LockLostError).why).toContain("its time ran out");
          }
        });
      }),
    );
  });
});

describe("without asking for it", () => {
  test.each([{ waitTimeout: 300 }, { retryCount: 3, retryDelay: 50 }])(
    "a nested call that has waited for itself gets an error that says so",
    async (options) => {
      const { time, redlock, masters } = virtualSetting(3);
      const nested = redlock.using(["q", "r"], 1000, () => redlock.acquire("r", 1000, options));
      await expect(time.run(nested)).rejects.toThrow(ResourceLockedError);
      await expect(nested).rejects.toThrow(/"r" is locked by this same Redlock .*reentrant/);
      // Not where another one has it.
      masters.forEach((master) => {
        master.put("s", "another");
      });
      const other = redlock.using("r", 1000, () => redlock.acquire("s", 1000, options));
      await expect(time.run(other)).rejects.toThrow('"s" is locked by someone else');
    },
  );

  test.each([true, "handle"] as const)(
    "with reentrant: %s the error of a call from elsewhere does not suggest to switch it on",
    async (reentrant) => {
      const { time, redlock } = setting({ reentrant });
      await time.run(redlock.acquire("r", 5000));
      const waiting = redlock.acquire("r", 1000, { waitTimeout: 300 });
      await expect(time.run(waiting)).rejects.toThrow(/this same Redlock \(.* lock as parent\)/);
      await expect(waiting).rejects.not.toThrow("reentrant");
    },
  );

  test("nothing is entered", async () => {
    const { time, redlock } = virtualSetting(3);
    const inner = await time.run(redlock.using("r", 1000, () => redlock.tryAcquire("r", 1000)));
    expect(inner).toBeNull();
  });
});

describe("where there is no AsyncLocalStorage", () => {
  test("contexts are refused when the Redlock is made, and handles work", async () => {
    vi.stubGlobal("process", undefined);
    const { nodes, machine } = virtualSetting(3);
    const contexts = () => new Redlock(nodes, { runtime: machine, reentrant: true });
    expect(contexts).toThrow(InvalidArgumentError);
    expect(contexts).toThrow('reentrant: "handle"');
    vi.unstubAllGlobals();
    expect(new Redlock(nodes, { runtime: machine, reentrant: "handle" })).toBeInstanceOf(Redlock);
  });
});

describe("a nested call whose lease has to be extended first", () => {
  test.each([
    [{ waitTimeout: 100 }, 100 + 500],
    [{ waitTimeout: 0 }, 500],
    [{ retryCount: 0 }, 500],
    [{ retryCount: 0, nodeTimeout: 50 }, 50],
  ])("settles within its own time with %j, though no master answers", async (options, longest) => {
    const { time, redlock, nodes } = setting({ retryCount: 10, retryDelay: 200 });
    const lock = await time.run(redlock.acquire("r", 60_000));
    await time.advance(31_000);
    for (const node of nodes) node.mute = true;
    const nested = redlock.acquire("r", 60_000, { ...options, parent: lock });
    const { took, error } = await time.measure(nested);
    expect(error).toMatchObject({ code: "NO_QUORUM" });
    expect(took).toBeLessThanOrEqual(longest);
    expect(lock.state).toBe("unknown");
  });

  test.each([{ retryCount: 0 }, { waitTimeout: 200 }, { retryCount: 0, nodeTimeout: 100 }])(
    "is granted with %j after a stall of its process in which the masters have answered",
    async (options) => {
      const { time, machine, redlock } = setting();
      const lock = await time.run(redlock.acquire("r", 10_000));
      await time.advance(5500);
      const nested = redlock.acquire("r", 10_000, { ...options, parent: lock });
      machine.block(900);
      expect((await time.run(nested)).state).toBe("held");
    },
  );

  test("settles within its own time, though another extension of that lease is under way", async () => {
    const { time, redlock, nodes } = setting();
    const lock = await time.run(redlock.acquire("r", 60_000));
    await time.advance(31_000);
    for (const node of nodes) node.mute = true;
    const extending = redlock.extend(lock, 60_000, { nodeTimeout: 5000, retryCount: 0 });
    extending.catch(() => {});
    const nested = redlock.tryAcquire("r", 60_000, { nodeTimeout: 50, parent: lock });
    expect((await time.measure(nested)).took).toBeLessThanOrEqual(50);
    await time.advance(6000);
  });
});

describe("a nested handle that ends while the masters are asked", () => {
  test("is neither extended nor verified", async () => {
    const { time, machine, redlock, nodes } = setting();
    const seen: unknown[] = [];
    const outer = redlock.using("r", 3000, () =>
      redlock.using("r", 400, { maxHoldTime: 500 }, async (_, lock) => {
        for (const node of nodes) node.fromMaster = 60;
        await new Promise<void>((resolve) => void machine.setTimer(resolve, 460));
        const asked = [lock.verify(), lock.extend(400).catch((error: LockLostError) => error.code)];
        seen.push(...(await Promise.all(asked)));
      }),
    );
    await time.run(outer.catch(() => {}));
    expect(seen).toEqual([false, "LOCK_LOST"]);
  });
});

describe("quit with a drain in the turn of a nested call", () => {
  test.each(["acquire", "tryAcquire"] as const)(
    "refuses the %s and leaves the outer lock alone",
    async (method) => {
      const at = setting();
      const { time, redlock } = at;
      const lock = await time.run(redlock.acquire("r", 10_000));
      const nested = redlock[method]("r", 1000, { parent: lock });
      const quitting = redlock.quit({ drain: 5000 });
      expect((await time.measure(nested)).error).toBeInstanceOf(ClosedError);
      await time.advance(10);
      expect([lock.state, owners(at)]).toEqual(["held", [lock.value, lock.value, lock.value]]);
      await time.run(lock.release());
      expect((await time.measure(quitting)).took).toBeLessThan(10);
    },
  );
});
