import { EventEmitter } from "node:events";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import type { RedlockOptions } from "./client.ts";
import { InvalidArgumentError, ResourceLockedError } from "./errors.ts";
import type { LockNode } from "./protocol/node.ts";
import { Redlock } from "./redlock.ts";
import { claimScript, releaseScript } from "./scripts.generated.ts";

// The members that users of redlock 5 touch; `test/drop-in` runs both libraries side by side.

/** Masters of which nobody hears. */
function silentNodes(count: number): readonly LockNode[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `master-${index}`,
    client: {},
    ask: () => {},
    onReady: () => () => {},
    close: () => Promise.resolve(),
    disconnect: () => {},
  }));
}

function redlockOf(count: number, options?: RedlockOptions): Redlock {
  return new Redlock(silentNodes(count), options);
}

const resumable = { resources: ["r"], value: "token", ttl: 1000 };

describe("a Redlock", () => {
  test("shows its settings, which are frozen", () => {
    const redlock = redlockOf(3, { retryCount: 3, driftFactor: null as never });
    expect(redlock.settings).toMatchObject({
      retryCount: 3,
      driftFactor: 0.01,
      automaticExtensionThreshold: 500,
    });
    expect(() => Object.assign(redlock.settings, { retryCount: 5 })).toThrow(TypeError);
    expect(redlockOf(3, { retryCount: Number.POSITIVE_INFINITY }).settings.retryCount).toBe(-1);
  });

  test("shows the clients that its votes name, as a copy, and prints none of them", () => {
    const nodes = silentNodes(3);
    const redlock = new Redlock(nodes);
    expect([...redlock.clients]).toEqual(nodes.map(({ client }) => client));
    redlock.clients.clear();
    expect(redlock.clients.size).toBe(3);
    expect(inspect(redlock, { depth: 5 })).not.toMatch(/master|client|settings/);
  });

  test("has room for a subclass's own members with names of redlock 4", () => {
    const nodes = silentNodes(1);
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
    const { scripts } = redlockOf(1);
    const [claim, release] = [claimScript, releaseScript].map(({ source, sha1 }) => ({
      value: source,
      hash: sha1,
    }));
    expect(scripts).toEqual({ acquireScript: claim, extendScript: claim, releaseScript: release });
  });

  test("is an EventEmitter", () => {
    expect(redlockOf(1)).toBeInstanceOf(EventEmitter);
  });

  test.each(["lock", "lockWithOptions", "acquireWithOptions", "unlock", "disposer"])(
    "without %s of redlock 4 names the page",
    (name) => {
      const redlock = redlockOf(1);
      const call = () => (redlock as unknown as Record<string, () => unknown>)[name]!();
      expect(call).toThrow(InvalidArgumentError);
      expect(call).toThrow(new RegExp(`^${name}\\(\\) is a method of redlock 4: .*docs/redlock-4\\.md`));
      expect(Object.keys(redlock)).not.toContain(name);
    },
  );

  test("refuses a callback of redlock 4, and names the page", async () => {
    const redlock = redlockOf(1);
    const callback = (() => {}) as never;
    await expect(redlock.acquire("r", 1000, callback)).rejects.toThrow("see docs/redlock-4.md");
    const lock = redlock.resume(resumable);
    await expect(redlock.extend(lock, 1000, callback)).rejects.toThrow("see docs/redlock-4.md");
    await expect(redlock.release(lock, callback)).rejects.toThrow("see docs/redlock-4.md");
    await expect(lock.extend(1000, callback)).rejects.toThrow("see docs/redlock-4.md");
    expect(() => void redlock.quit(callback)).toThrow("see docs/redlock-4.md");
    expect(lock.state).toBe("unknown");
  });

  test.each(["lockScript", "unlockScript", "extendScript"])("with %s of redlock 4 names the page", (name) => {
    expect(() => redlockOf(1, { [name]: String })).toThrow("see docs/redlock-4.md");
  });

  test("has no properties of redlock 4: reading one names the page", () => {
    const redlock = redlockOf(1);
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
      const redlock = redlockOf(1);
      const listen = redlock[method].bind(redlock) as (event: string, listener: () => void) => Redlock;
      expect(() => listen("clientError", () => {})).toThrow("use error instead, see docs/redlock-4.md");
      expect(listen("clock", () => {})).toBe(redlock);
      expect(redlock.listenerCount("clock")).toBe(1);
    },
  );

  test("refuses the db of sesamecare's redlock, and says which database it uses", () => {
    expect(() => redlockOf(1, { db: 2 } as object)).toThrow("in the database of the clients that you pass");
  });
});

test("a ResourceLockedError is made of a text alone", () => {
  expect(new ResourceLockedError("a").remaining).toBe(Number.POSITIVE_INFINITY);
});

test("a lock knows its Redlock, and has no unlock of redlock 4", () => {
  const redlock = redlockOf(1);
  const lock = redlock.resume(resumable);
  expect(lock.redlock).toBe(redlock);
  const { unlock } = lock as unknown as { unlock: () => unknown };
  expect(unlock).toThrow("call release() instead, see docs/redlock-4.md");
  expect(() => Reflect.get(lock, "resource")).toThrow("use resources instead, see docs/redlock-4.md");
  expect(() => Reflect.get(lock, "attemptsRemaining")).toThrow("see docs/redlock-4.md");
});
