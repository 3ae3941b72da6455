import { EventEmitter, once } from "node:events";
import { describe, expect, expectTypeOf, test } from "vitest";
import { Events, PlainEmitter } from "./events.ts";

type Signatures = {
  error: (error: Error) => void;
  count: (number: number) => void;
};

const kinds = {
  "the events of a Redlock": () => new Events<Signatures>(),
  "where Node's emitter is missing": () => new PlainEmitter() as unknown as Events<Signatures>,
};

const noop = (): void => {};

describe.each(Object.entries(kinds))("%s", (_, make) => {
  function bed() {
    const events = make();
    const seen: string[] = [];
    const listener = (name: string) => (number: number) => void seen.push(`${name}${number}`);
    return { events, seen, listener };
  }

  test("go to every listener, in the order of registration", () => {
    const { events, seen, listener } = bed();
    events.on("count", listener("a")).addListener("count", listener("b"));
    events.prependListener("count", listener("first"));
    expect(events.emit("count", 1)).toBe(true);
    expect(events.emit("count", 2)).toBe(true);
    expect(seen).toEqual(["first1", "a1", "b1", "first2", "a2", "b2"]);
  });

  test("without a listener throw nothing, not even `error`", () => {
    const { events } = bed();
    expect(events.emit("error", new Error("oops"))).toBe(false);
    events.on("error", noop).off("error", noop);
    expect(events.emit("error", new Error("oops"))).toBe(false);
  });

  test("go once to `once` listeners, even if these emit again", () => {
    const { events, seen } = bed();
    events.once("count", (number) => {
      seen.push(String(number));
      events.emit("count", number + 1);
    });
    events.prependOnceListener("count", (number) => void seen.push(`first${number}`));
    events.emit("count", 1);
    events.emit("count", 5);
    expect(seen).toEqual(["first1", "1"]);
  });

  test("go on to a listener that was added for ever as well, after the once", () => {
    const { events, seen, listener } = bed();
    const a = listener("a");
    events.once("count", a).on("count", a);
    for (const number of [1, 2, 3]) events.emit("count", number);
    expect(seen).toEqual(["a1", "a1", "a2", "a3"]);
  });

  test("go once to a `once` listener behind one that emits again", () => {
    const { events, seen, listener } = bed();
    events.on("count", (number) => void (number === 1 && events.emit("count", 2)));
    events.once("count", listener("a"));
    events.emit("count", 1);
    expect(seen).toEqual(["a2"]);
  });

  test("do not go to removed listeners; each call removes one", () => {
    const { events, seen, listener } = bed();
    const [a, b] = [listener("a"), listener("b")];
    events.on("count", a).on("count", b).on("count", a);
    events.off("count", a);
    events.emit("count", 1);
    events.removeListener("count", b);
    events.emit("count", 2);
    events.removeAllListeners("error").removeAllListeners("count");
    expect(events.emit("count", 3)).toBe(false);
    expect(seen).toEqual(["a1", "b1", "a2"]);
  });

  test("go to the listeners at the time of the emit, even if the list changes meanwhile", () => {
    const { events, seen, listener } = bed();
    const late = listener("late");
    const leaving = listener("leaving");
    events.on("count", () => {
      events.on("count", late);
      events.off("count", leaving);
    });
    events.on("count", leaving);
    events.emit("count", 1);
    expect(seen).toEqual(["leaving1"]);
    events.emit("count", 2);
    expect(seen).toEqual(["leaving1", "late2"]);
  });

  test("name their listeners, as Node's emitter does", () => {
    const { events, listener } = bed();
    const [a, b] = [listener("a"), listener("b")];
    events.on("count", a).on("count", b);
    expect(events.listeners("count")).toEqual([a, b]);
    expect(events.rawListeners("count")).toEqual([a, b]);
    expect(events.listenerCount("count")).toBe(2);
    expect(events.listenerCount("error")).toBe(0);
    expect(events.eventNames()).toEqual(["count"]);
    expect(events.removeAllListeners().eventNames()).toEqual([]);
    expect(events.getMaxListeners()).toBe(10);
    expect(events.setMaxListeners(20).getMaxListeners()).toBe(20);
  });

  test("have every method of Node's emitter, and call listeners with themselves as `this`", () => {
    const { events } = bed();
    const methods = Object.keys(EventEmitter.prototype).filter((name) => !name.startsWith("_"));
    const missing = methods.filter((name) => !(name in events));
    expect(methods.length).toBeGreaterThan(10);
    expect(missing).toEqual([]);
    const receivers: unknown[] = [];
    events.on("count", function (this: unknown) {
      receivers.push(this);
    });
    events.emit("count", 1);
    expect(receivers).toEqual([events]);
  });
});

test("a Redlock is an EventEmitter, for Node's functions and for the compiler", async () => {
  const events = new Events<Signatures>();
  expect(events).toBeInstanceOf(EventEmitter);
  expectTypeOf<Events<Signatures>>().toExtend<EventEmitter>();
  const next = once(events, "count");
  events.emit("count", 7);
  expect(await next).toEqual([7]);
});
