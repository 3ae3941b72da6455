import { getEventListeners } from "node:events";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { abortWith, onAbort, selfCheckingController } from "./abort.ts";

describe("waiting for a signal", () => {
  test("takes one listener for any number of waiters, and none when they are gone", () => {
    const { signal } = new AbortController();
    const forget = Array.from({ length: 1000 }, () => onAbort(signal, () => {}));
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    for (const one of forget.slice(1)) one();
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    forget[0]!();
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  test("notifies all waiters, even if some are removed meanwhile", () => {
    const controller = new AbortController();
    const seen: string[] = [];
    const forget: Array<() => void> = [];
    for (const name of ["a", "b", "c"]) {
      forget.push(
        onAbort(controller.signal, () => {
          seen.push(name);
          forget[["a", "b", "c"].indexOf(name)]!();
        }),
      );
    }
    controller.abort();
    expect(seen).toEqual(["a", "b", "c"]);
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
  });

  test("still notifies later waiters after the first one was removed twice", () => {
    const controller = new AbortController();
    const seen: string[] = [];
    const forget = onAbort(controller.signal, () => seen.push("a"));
    forget();
    onAbort(controller.signal, () => seen.push("b"));
    forget();
    onAbort(controller.signal, () => seen.push("c"));
    controller.abort();
    expect(seen).toEqual(["b", "c"]);
  });
});

describe("a signal that checks itself", () => {
  const ended = new Error("it has ended");

  test.each(["aborted", "reason", "throwIfAborted"] as const)(
    "shows by %s what no timer has told yet (PROTOCOL 3.6)",
    (how) => {
      let hasEnded = false;
      const controller = selfCheckingController(() => hasEnded && abortWith(controller, ended));
      const { signal } = controller;
      expect([signal.aborted, signal.reason]).toEqual([false, undefined]);
      signal.throwIfAborted();
      hasEnded = true;
      if (how === "throwIfAborted") expect(() => signal.throwIfAborted()).toThrow(ended);
      else expect(signal[how]).toBe(how === "aborted" ? true : ended);
    },
  );

  test("is an AbortSignal like any other, with its reason at `error` too, as in redlock 5", () => {
    const controller = selfCheckingController(() => {});
    const { signal } = controller;
    expect(signal).toBeInstanceOf(AbortSignal);
    expect(inspect(signal)).toBe(inspect(new AbortController().signal));
    const follower = AbortSignal.any([signal, new AbortController().signal]);
    let told = 0;
    signal.addEventListener("abort", () => {
      told += 1;
    });
    abortWith(controller, ended);
    expect([told, follower.reason, (signal as { error?: Error }).error]).toEqual([1, ended, ended]);
  });
});
