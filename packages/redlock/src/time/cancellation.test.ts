import { describe, expect, test } from "vitest";
import { Gate, settle } from "../virtual-time.test.ts";
import { Cancellation } from "./cancellation.ts";

describe("a cancellation", () => {
  test("keeps its first reason", () => {
    const cancellation = new Cancellation();
    expect(cancellation.reason).toBeUndefined();
    const reason = new Error("first");
    cancellation.cancel(reason);
    cancellation.cancel(new Error("second"));
    expect(cancellation.reason).toBe(reason);
  });

  test("ends every wait in progress", async () => {
    const cancellation = new Cancellation();
    const waits = [cancellation.race(new Promise(() => {})), cancellation.race(new Promise(() => {}))];
    cancellation.cancel(new Error("enough"));
    expect(await Promise.all(waits)).toEqual([undefined, undefined]);
  });

  test("ends every later wait at once", async () => {
    const cancellation = new Cancellation();
    cancellation.cancel(new Error("enough"));
    expect(await cancellation.race(new Promise(() => {}))).toBeUndefined();
  });

  test("lets a wait resolve or reject as its promise does", async () => {
    const cancellation = new Cancellation();
    expect(await cancellation.race(Promise.resolve(5))).toBe(5);
    await expect(cancellation.race(Promise.reject(new Error("bad")))).rejects.toThrow("bad");
  });

  test("calls its listeners, immediately if it was cancelled before, and none that was removed", () => {
    const cancellation = new Cancellation();
    const seen: string[] = [];
    cancellation.onCancel(() => seen.push("a"));
    cancellation.onCancel(() => seen.push("gone"))();
    const forget = cancellation.onCancel(() => {
      seen.push("b");
      forget();
    });
    cancellation.onCancel(() => seen.push("c"));
    cancellation.cancel(new Error("enough"));
    expect(seen).toEqual(["a", "b", "c"]);
    cancellation.onCancel(() => seen.push("late"));
    expect(seen).toEqual(["a", "b", "c", "late"]);
  });

  test("a rejection after it is ignored, and not left unhandled", async () => {
    const cancellation = new Cancellation();
    const gate = new Gate();
    const late = gate.opened.then(() => {
      throw new Error("late");
    });
    const wait = cancellation.race(late);
    cancellation.cancel(new Error("enough"));
    expect(await wait).toBeUndefined();
    gate.open();
    // Vitest fails the run on an unhandled rejection.
    await settle();
  });
});
