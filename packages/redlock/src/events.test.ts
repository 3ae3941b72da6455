import { EventEmitter, once } from "node:events";
import * as fc from "fast-check";
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
  test("without a listener throw nothing, not even `error`", () => {
    const events = make();
    expect(events.emit("error", new Error("oops"))).toBe(false);
    events.on("error", noop).off("error", noop);
    expect(events.emit("error", new Error("oops"))).toBe(false);
  });

  test("have every method of Node's emitter, and call listeners with themselves as `this`", () => {
    const events = make();
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
    expect(events.getMaxListeners()).toBe(10);
    expect(events.setMaxListeners(20).getMaxListeners()).toBe(20);
  });
});

const adding = ["on", "addListener", "once", "prependListener", "prependOnceListener"] as const;
const removing = ["off", "removeListener"] as const;
const step = fc.tuple(fc.constantFrom(...adding, ...removing, "emit", "removeAllListeners"), fc.nat(2));

/** What listeners hear, and who listens, after each of the steps. One of them emits again, and one changes the list. */
function heard(
  emitter: Pick<EventEmitter, keyof EventEmitter>,
  steps: ReadonlyArray<readonly [string, number]>,
) {
  const all: unknown[] = [];
  const listeners = [0, 1, 2].map((name) => (number: number) => {
    all.push([name, number]);
    if (name === 1 && number === 1) emitter.emit("count", 2);
    if (name === 2) emitter.off("count", listeners[0]!).on("count", listeners[1]!);
  });
  for (const [method, number] of steps) {
    if (method === "emit") all.push(emitter.emit("count", number));
    else if (method === "removeAllListeners") emitter.removeAllListeners("count");
    else emitter[method as (typeof adding)[number]]("count", listeners[number]!);
    all.push(emitter.listeners("count").map((one) => listeners.indexOf(one as (number: number) => void)));
    all.push(emitter.listenerCount("count"), emitter.eventNames());
  }
  return all;
}

test("where Node's emitter is missing, events go to the listeners that they would go to with it", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      expect(heard(new PlainEmitter() as never, steps)).toEqual(heard(new EventEmitter(), steps));
    }),
  );
});

test("a Redlock is an EventEmitter, for Node's functions and for the compiler", async () => {
  const events = new Events<Signatures>();
  expect(events).toBeInstanceOf(EventEmitter);
  expectTypeOf<Events<Signatures>>().toExtend<EventEmitter>();
  const next = once(events, "count");
  events.emit("count", 7);
  expect(await next).toEqual([7]);
});
