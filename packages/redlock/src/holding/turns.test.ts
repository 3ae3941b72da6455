import { describe, expect, test } from "vitest";
import { Turns } from "./turns.ts";

describe("turns", () => {
  test("of the same resource come one after the other, in the order of their asking", () => {
    const turns = new Turns();
    const begun: string[] = [];
    const [a, b, c] = ["a", "b", "c"].map((name) => {
      const turn = turns.take(["r"]);
      turn.onBegin = () => begun.push(name);
      return turn;
    });
    expect([a!.hasBegun, b!.hasBegun, c!.hasBegun]).toEqual([true, false, false]);
    turns.end(a!);
    expect([begun, b!.hasBegun, c!.hasBegun]).toEqual([["b"], true, false]);
    turns.end(b!);
    turns.end(c!);
    expect([begun, turns.isEmpty]).toEqual([["b", "c"], true]);
  });

  test("of different resources come together", () => {
    const turns = new Turns();
    expect(turns.take(["a"]).hasBegun).toBe(true);
    expect(turns.take(["b"]).hasBegun).toBe(true);
    expect(turns.take(["c", "b"]).hasBegun).toBe(false);
  });

  test("are not overtaken by those who want less", () => {
    const turns = new Turns();
    const first = turns.take(["a"]);
    const both = turns.take(["a", "b"]);
    const last = turns.take(["b"]);
    expect(last.hasBegun).toBe(false);
    turns.end(first);
    expect([both.hasBegun, last.hasBegun]).toEqual([true, false]);
    turns.end(both);
    expect(last.hasBegun).toBe(true);
  });

  test("that are removed admit no call before those that came earlier", () => {
    const turns = new Turns();
    const first = turns.take(["r"]);
    const givenUp = turns.take(["r"]);
    const last = turns.take(["r"]);
    turns.end(givenUp);
    expect(last.hasBegun).toBe(false);
    turns.end(first);
    expect(last.hasBegun).toBe(true);
  });

  test("may end more than once", () => {
    const turns = new Turns();
    const first = turns.take(["r"]);
    const second = turns.take(["r"]);
    const third = turns.take(["r"]);
    turns.end(first);
    turns.end(first);
    expect([second.hasBegun, third.hasBegun]).toEqual([true, false]);
  });
});

test("two turns of 50,000 resources are compared in linear time", () => {
  const turns = new Turns();
  const [one, other] = ["a", "b"].map((letter) =>
    Array.from({ length: 50_000 }, (_, index) => `${letter}:${index}`),
  );
  turns.take(one!);
  const begun = performance.now();
  expect(turns.take(other!).hasBegun).toBe(true);
  // Some 10 ms. Each resource compared with all others takes 5 s and more.
  expect(performance.now() - begun).toBeLessThan(2000);
});
