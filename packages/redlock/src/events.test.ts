import { EventEmitter, once } from "node:events";
import { expect, expectTypeOf, test } from "vitest";
import { Events } from "./events.ts";

type Signatures = {
  error: (error: Error) => void;
  count: (number: number) => void;
};

const noop = (): void => {};

test("events without a listener throw nothing, not even `error`", () => {
  const events = new Events<Signatures>();
  expect(events.emit("error", new Error("oops"))).toBe(false);
  events.on("error", noop).off("error", noop);
  expect(events.emit("error", new Error("oops"))).toBe(false);
});
test("a Redlock is an EventEmitter, for Node's functions and for the compiler", async () => {
  const events = new Events<Signatures>();
  expect(events).toBeInstanceOf(EventEmitter);
  expectTypeOf<Events<Signatures>>().toExtend<EventEmitter>();
  const next = once(events, "count");
  events.emit("count", 7);
  expect(await next).toEqual([7]);
});
