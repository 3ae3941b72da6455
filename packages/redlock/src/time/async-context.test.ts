import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { LockNode } from "../protocol/node.ts";
import { Redlock } from "../redlock.ts";
import { frames, outside } from "./async-context.ts";

// PROTOCOL 10.7.

const shared = globalThis as { [key: symbol]: unknown };
const name = Symbol.for("quorlock.frames");

test("storage is created with the first reentrant Redlock, and shared by all", () => {
  // Another test file of this process may have created one.
  delete shared[name];
  const node: LockNode = {
    name: "master",
    client: {},
    ask() {},
    onReady: () => () => {},
    close: () => Promise.resolve(),
    disconnect() {},
  };
  const make = (reentrant: boolean | "handle") => new Redlock([node], { reentrant });
  make(false);
  make("handle");
  expect(outside(() => 7)).toBe(7);
  expect(shared[name]).toBeUndefined();
  make(true);
  const storage = shared[name];
  expect(storage).toBeDefined();
  make(true);
  expect(shared[name]).toBe(storage);
});

test("`outside` runs a callback in no frame, then restores the frame", () => {
  const storage = frames();
  const frame = { context: {}, lock: {}, outer: undefined };
  storage.run(frame, () => {
    expect(outside(() => storage.getStore())).toBeUndefined();
    expect(() =>
      outside(() => {
        throw new RangeError("the user's");
      }),
    ).toThrow("the user's");
    expect(storage.getStore()).toBe(frame);
  });
});

// The following tests read the sources: a user's function that is called directly would run in the frame in which the
// timer or the socket was created.

const folder = new URL("../", import.meta.url);
const sources = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
  .map((file) => ({ file, text: readFileSync(new URL(file, folder), "utf8") }));

/** `file: line` of each line that matches, comments aside. */
function linesWith(pattern: RegExp): string[] {
  return sources.flatMap(({ file, text }) =>
    text
      .split("\n")
      .filter((line) => pattern.test(line) && !/^\s*(\*|\/\*|\/\/)/.test(line))
      .map((line) => `${file}: ${line.trim()}`),
  );
}

/** The options that are functions; those that are `@internal` are no part of the types that users see. */
function callbacksIn(text: string, seen: "by users" | "internal"): string[] {
  const interfaces = text.match(/export interface \w*(Options|Settings)\b[\s\S]*?\n}/g) ?? [];
  return interfaces.flatMap((one) =>
    [...one.matchAll(/(\/\*\*(?:(?!\*\/)[\s\S])*\*\/\s*)?readonly (\w+)\??:([^;]*)/g)]
      .filter(([, comment]) => /@internal\b/.test(comment ?? "") === (seen === "internal"))
      .filter(([, , , type]) => /=>|\bBackoff\b|\bRoutine\b|\bFunction\b/.test(type!))
      .map(([, , member]) => member!),
  );
}

test("every function option is called outside, or by the call that it was passed to", () => {
  const callbacks = [...new Set(sources.flatMap(({ text }) => callbacksIn(text, "by users")))].sort();
  // A new option belongs in this list, and its calls go through `outside`.
  expect(callbacks).toEqual([
    "backoff",
    "clusterRetryStrategy",
    "durable",
    "logger",
    "onError",
    "onFault",
    "onStart",
    "onStop",
    "reconnectOnError",
    "retryStrategy",
  ]);
  const calls = linesWith(new RegExp(`\\b(${callbacks.join("|")})(\\?\\.)?\\(`));
  expect(calls.filter((line) => !/\boutside\(/.test(line))).toEqual([
    // Awaited by `lead`, in the frame of its caller or of the routine. (At a loss an abort listener calls onStop.)
    "primitives/lead.ts: await onError?.(error);",
    "primitives/lead.ts: await onStop?.(lock);",
    "primitives/lead.ts: await onStart?.(lock);",
  ]);
});

test("no option is an internal function", () => {
  expect(sources.flatMap(({ text }) => callbacksIn(text, "internal"))).toEqual([]);
});

test("signals are aborted outside, and only in one place", () => {
  expect(linesWith(/\.abort\(|dispatchEvent/)).toEqual([
    "time/abort.ts: outside(() => controller.abort(reason));",
  ]);
});

test("listeners of events are called outside", () => {
  const [events] = sources.filter(({ file }) => file === "events.ts");
  // Of the class that Redlock extends: every other `emit` is called by it.
  const [emit] = events!.text.match(/override emit[\s\S]*/) ?? [];
  expect(emit).toContain("outside(() => super.emit(event, ...args))");
});

test("connections are opened and closed outside: the libraries call the user's functions and listeners from there", () => {
  const calls = linesWith(/\bclient\.(connect|disconnect)\(|\bthis\.connect\(/);
  expect(calls.filter((line) => line.includes("outside("))).toContain(
    "adapters/link.ts: outside(() => this.connect(events)).catch((error: unknown) => this.lose(error));",
  );
  expect(calls.filter((line) => !line.includes("outside("))).toEqual([
    // By the `connect` above.
    "adapters/ioredis/link.ts: return client.connect();",
    "adapters/node-redis/link.ts: await this.client.connect().catch((error: unknown) => this.#fail(error));",
  ]);
});
