import { describe, expect, test } from "vitest";
import type { RedlockOptions } from "./client.ts";
import { InvalidArgumentError } from "./errors.ts";
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
});

test("a lock has no unlock of redlock 4", () => {
  const lock = redlockOf(1).resume(resumable);
  const { unlock } = lock as unknown as { unlock: () => unknown };
  expect(unlock).toThrow("call release() instead, see docs/redlock-4.md");
  expect(() => Reflect.get(lock, "resource")).toThrow("use resources instead, see docs/redlock-4.md");
  expect(() => Reflect.get(lock, "attemptsRemaining")).toThrow("see docs/redlock-4.md");
});
