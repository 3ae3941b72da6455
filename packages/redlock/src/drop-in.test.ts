import { EventEmitter } from "node:events";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { ExecutionError, InvalidArgumentError, type LockLostError, ResourceLockedError } from "./errors.ts";
import { Lock } from "./holding/lock.ts";
import { Redlock } from "./redlock.ts";
import { claimScript, releaseScript } from "./scripts.generated.ts";
import { virtualSetting } from "./virtual-time.test.ts";

// The members that users of redlock 5 touch; `test/drop-in` runs both libraries side by side.

describe("a Redlock", () => {
  test("shows its settings, which are frozen", () => {
    const { redlock, nodes } = virtualSetting(3, { retryCount: 3, driftFactor: null as never });
    expect(redlock.settings).toMatchObject({
      retryCount: 3,
      driftFactor: 0.01,
      automaticExtensionThreshold: 500,
    });
    expect(() => Object.assign(redlock.settings, { retryCount: 5 })).toThrow(TypeError);
    expect(new Redlock(nodes, { retryCount: Number.POSITIVE_INFINITY }).settings.retryCount).toBe(-1);
  });

  test("shows the clients that its votes name, as a copy, and prints none of them", () => {
    const { redlock, nodes } = virtualSetting(3);
    expect([...redlock.clients]).toEqual(nodes.map(({ client }) => client));
    redlock.clients.clear();
    expect(redlock.clients.size).toBe(3);
    expect(inspect(redlock, { depth: 5 })).not.toMatch(/master|client|settings/);
  });

  test("has room for a subclass's own members with names of redlock 4", () => {
    const { nodes } = virtualSetting(1);
    class Mine extends Redlock {
      declare static Lock: unknown;
      constructor() {
        super(nodes);
        Object.assign(this, { lock: 1, servers: 2, disposer: 3 });
      }
    }
    Mine.Lock = 4;
    expect([Object.fromEntries(Object.entries(new Mine())), Mine.Lock]).toMatchObject([
      { lock: 1, servers: 2, disposer: 3 },
      4,
    ]);
    expect(() => Reflect.get(Redlock, "Lock") as unknown).toThrow("redlock-4.md");
  });

  test("shows its scripts", () => {
    const { scripts } = virtualSetting(1).redlock;
    const [claim, release] = [claimScript, releaseScript].map(({ source, sha1 }) => ({
      value: source,
      hash: sha1,
    }));
    expect(scripts).toEqual({ acquireScript: claim, extendScript: claim, releaseScript: release });
  });

  test("is an EventEmitter", () => {
    expect(virtualSetting(1).redlock).toBeInstanceOf(EventEmitter);
  });

  test.each(["lock", "lockWithOptions", "acquireWithOptions", "unlock", "disposer"])(
    "without %s of redlock 4 names the page",
    (name) => {
      const { redlock } = virtualSetting(1);
      const call = () => (redlock as unknown as Record<string, () => unknown>)[name]!();
      expect(call).toThrow(InvalidArgumentError);
      expect(call).toThrow(new RegExp(`^${name}\\(\\) is a method of redlock 4: .*docs/redlock-4\\.md`));
      expect(Object.keys(redlock)).not.toContain(name);
    },
  );

  test("refuses a callback of redlock 4, and names the page", async () => {
    const { redlock, time } = virtualSetting(1);
    const callback = (() => {}) as never;
    await expect(redlock.acquire("r", 1000, callback)).rejects.toThrow("see docs/redlock-4.md");
    const lock = await time.run(redlock.acquire("r", 1000));
    await expect(redlock.extend(lock, 1000, callback)).rejects.toThrow("see docs/redlock-4.md");
    await expect(redlock.release(lock, callback)).rejects.toThrow("see docs/redlock-4.md");
    await expect(lock.extend(1000, callback)).rejects.toThrow("see docs/redlock-4.md");
    expect(() => void redlock.quit(callback)).toThrow("see docs/redlock-4.md");
    expect(lock.state).toBe("held");
  });

  test.each(["lockScript", "unlockScript", "extendScript"])("with %s of redlock 4 names the page", (name) => {
    const { nodes } = virtualSetting(1);
    expect(() => new Redlock(nodes, { [name]: String })).toThrow("see docs/redlock-4.md");
  });

  test("has no properties of redlock 4: reading one names the page", () => {
    const { redlock } = virtualSetting(1);
    for (const [target, name] of [
      [redlock, "servers"],
      [Redlock, "LockError"],
      [Redlock, "Lock"],
    ] as const) {
      expect(() => Reflect.get(target, name)).toThrow(
        new RegExp(`^${name} is a property of redlock 4: use .+ instead, see docs/redlock-4\\.md`),
      );
      expect(Object.keys(target)).not.toContain(name);
    }
  });

  test.each(["on", "once", "addListener", "prependListener", "prependOnceListener"] as const)(
    "refuses a listener of clientError with %s, and no other",
    (method) => {
      const { redlock } = virtualSetting(1);
      const listen = redlock[method].bind(redlock) as (event: string, listener: () => void) => Redlock;
      expect(() => listen("clientError", () => {})).toThrow("use error instead, see docs/redlock-4.md");
      expect(listen("clock", () => {})).toBe(redlock);
      expect(redlock.listenerCount("clock")).toBe(1);
    },
  );

  test("refuses the db of sesamecare's redlock, and says which database it uses", () => {
    const { nodes } = virtualSetting(1);
    expect(() => new Redlock(nodes, { db: 2 } as object)).toThrow(
      "in the database of the clients that you pass",
    );
  });
});

async function held() {
  const setting = virtualSetting(3);
  const lock = await setting.time.run(setting.redlock.acquire(["a", "b"], 10_000));
  return { ...setting, lock };
}

test("a ResourceLockedError is made of a text alone", () => {
  expect(new ResourceLockedError("a").remaining).toBe(Number.POSITIVE_INFINITY);
});

describe("a lock", () => {
  test("knows its Redlock, and has no unlock of redlock 4", async () => {
    const { lock, redlock } = await held();
    expect(lock.redlock).toBe(redlock);
    const { unlock } = lock as unknown as { unlock: () => unknown };
    expect(unlock).toThrow("call release() instead, see docs/redlock-4.md");
    expect(() => Reflect.get(lock, "resource")).toThrow("use resources instead, see docs/redlock-4.md");
    expect(() => Reflect.get(lock, "attemptsRemaining")).toThrow("see docs/redlock-4.md");
  });

  test("gives a copy of its resources", async () => {
    const { lock } = await held();
    lock.resources.push("c");
    expect(lock.resources).toEqual(["a", "b"]);
  });

  test("ends at the expiration that is written, and is prolonged by none", async () => {
    const { lock, time } = await held();
    const { expiration } = lock;
    lock.expiration = expiration + 5000;
    expect(lock.expiration).toBe(expiration);
    lock.expiration = expiration - 5000;
    expect(lock.expiration).toBe(expiration - 5000);
    lock.expiration = expiration - 1000;
    expect(lock.expiration).toBe(expiration - 5000);
    lock.expiration = 0;
    expect([lock.expiration, lock.state, lock.signal.aborted]).toEqual([0, "lost", true]);
    const error = await lock.extend(5000).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ExecutionError);
    expect((error as LockLostError).why).toBe("its expiration was set");
    expect((await time.run(lock.release())).outcome).toBe("released");
  });

  test("ends at once if no number is written as its expiration, and the holder of another lock is told in time", async () => {
    const { lock, redlock, time } = await held();
    const other = await time.run(redlock.acquire("other", 1000));
    let told: number | undefined;
    other.signal.addEventListener("abort", () => {
      told = time.now();
    });
    lock.expiration = Number.NaN;
    await time.advance(1000);
    expect(told).toBeLessThan(1000);
    expect([lock.loss?.why, lock.expiration]).toEqual(["its expiration was set", 0]);
  });

  test("is built by hand, extended and released", async () => {
    const { lock, redlock, time } = await held();
    const again = new Lock(redlock, lock.resources, lock.value, [], lock.expiration);
    expect([again.resources, again.value, again.attempts]).toEqual([["a", "b"], lock.value, []]);
    expect(await time.run(again.extend(10_000))).toBe(again);
    expect(again.state).toBe("held");
    expect((await time.run(again.release())).outcome).toBe("released");
    expect(await time.run(lock.verify())).toBe(false);
  });

  test.each([false, true])(
    "that was built by hand is the one that the event names, reentrant: %s",
    async (reentrant) => {
      const { time, redlock, client } = virtualSetting(3, { reentrant });
      const { value } = await time.run(redlock.acquire("r", 1000));
      const byHand = new Lock(redlock, ["r"], value, [], 0);
      await time.run(byHand.verify());
      byHand.expiration = 0;
      expect(byHand.state).toBe("lost");
      expect(client.lost).toHaveLength(1);
      expect(client.lost[0]).toBe(byHand);
    },
  );

  test("is released at a time of the wall clock", async () => {
    const { lock, time, redlock } = await held();
    const [machine] = [Lock.leaseOf(lock).context.runtime];
    const before = machine.wall();
    const { start } = await time.run(lock.release());
    expect(start).toBe(before);
    const again = await time.run(redlock.acquire("c", 10_000));
    await time.run(again.detach());
    expect((await again.release()).start).toBe(machine.wall());
  });
});
