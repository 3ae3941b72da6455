import { describe, expect, test } from "vitest";
import { Events } from "./events.ts";

type Signatures = {
  error: (error: Error) => void;
  count: (number: number) => void;
};

function bed() {
  const events = new Events<Signatures>();
  const seen: string[] = [];
  const listener = (name: string) => (number: number) => void seen.push(`${name}${number}`);
  return { events, seen, listener };
}

describe("events", () => {
  test("go to every listener, in the order of registration", () => {
    const { events, seen, listener } = bed();
    events.on("count", listener("a")).addListener("count", listener("b"));
    expect(events.emit("count", 1)).toBe(true);
    expect(events.emit("count", 2)).toBe(true);
    expect(seen).toEqual(["a1", "b1", "a2", "b2"]);
  });

  test("without a listener throw nothing, not even `error`", () => {
    const { events } = bed();
    expect(events.emit("error", new Error("oops"))).toBe(false);
  });

  test("go once to `once` listeners, even if these emit again", () => {
    const { events, seen } = bed();
    events.once("count", (number) => {
      seen.push(String(number));
      events.emit("count", number + 1);
    });
    events.emit("count", 1);
    events.emit("count", 5);
    expect(seen).toEqual(["1"]);
  });

  test("do not go to removed listeners", () => {
    const { events, seen, listener } = bed();
    const [a, b] = [listener("a"), listener("b")];
    events.on("count", a).on("count", b);
    events.off("count", a);
    events.emit("count", 1);
    events.removeListener("count", b);
    events.emit("count", 2);
    expect(seen).toEqual(["b1"]);
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
});
