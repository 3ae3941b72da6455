import { setImmediate as turn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { Cancellation, Latch } from "./cancellation.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** A listener refers to what has waited. */
function listenTo(latch: Latch): WeakRef<object> {
  const seen: string[] = [];
  latch.onEnd(() => seen.push("over"));
  return new WeakRef(seen);
}

describe("a latch", () => {
  test("keeps nothing that has waited for its end", async () => {
    const latch = new Latch();
    const waited = listenTo(latch);
    latch.end();
    await turn();
    collect();
    expect([latch.isOver, waited.deref()]).toEqual([true, undefined]);
  });

  test("calls its listeners, immediately if it has ended before, and none that was removed", () => {
    const latch = new Latch();
    const seen: string[] = [];
    latch.onEnd(() => seen.push("a"));
    latch.onEnd(() => seen.push("gone"))();
    const forget = latch.onEnd(() => {
      seen.push("b");
      forget();
    });
    latch.onEnd(() => seen.push("c"));
    latch.end();
    expect(seen).toEqual(["a", "b", "c"]);
    latch.onEnd(() => seen.push("late"));
    expect(seen).toEqual(["a", "b", "c", "late"]);
  });

  test("a rejection after it is ignored, and not left unhandled", async () => {
    const latch = new Latch();
    let fail!: (error: Error) => void;
    const late = new Promise<void>((_, reject) => {
      fail = reject;
    });
    const wait = latch.race(late);
    latch.end();
    expect(await wait).toBeUndefined();
    fail(new Error("late"));
    // Vitest fails the run on an unhandled rejection.
    await turn();
  });
});

test("a cancellation keeps its first reason", () => {
  const cancellation = new Cancellation();
  expect(cancellation.reason).toBeUndefined();
  const reason = new Error("first");
  cancellation.cancel(reason);
  cancellation.cancel(new Error("second"));
  expect(cancellation.reason).toBe(reason);
});
