import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { changedLine, luaMutantsOf } from "./lua.ts";
import { drawn, interval, mutantsOf, mutated, observed } from "./mutants.ts";

function changesOf(text: string): string[] {
  return mutantsOf("a.ts", text).map(({ original, replacement }) => `${original} -> ${replacement}`);
}

test.each([
  ["a + b;", ["a + b -> (a - b)"]],
  ["a <= b;", ["a <= b -> (a < b)"]],
  ["a === b;", ["a === b -> (a !== b)"]],
  ["a || b && c;", ["a || b && c -> (a && b && c)", "b && c -> (b || c)"]],
  ["a += b;", ["a += b -> (a -= b)"]],
  ["a++;", ["a++ -> (a--)"]],
  ["!a;", ["!a -> a"]],
  ["if (a) b;", ["a -> false", "a -> true"]],
  ["a ? b : c;", ["a -> false", "a -> true"]],
  ["while (a) b;", ["a -> false"]],
  ["f(10);", ["10 -> 0", "10 -> (10 + 1)"]],
  ["f(0);", ["0 -> 1"]],
  ["f(true, false);", ["true -> false", "false -> true"]],
])("%s has other operators, conditions and constants", (text, changes) => {
  expect(changesOf(text)).toEqual(changes);
});

test.each([
  "f('text');",
  "a + ' of texts';",
  "const a: 0 | true = b;",
  "type A = 1; interface B { c: false }",
  "const { 2: a } = { 2: b };",
  "for (;;) f();",
])("%s has none", (text) => {
  expect(changesOf(text)).toEqual([]);
});

test.each([
  ["a(b + c)", ["b + c -> (b - c)"]],
  ["a(b == c)", ["b == c -> (b ~= c)"]],
  ["a((b < c) and d)", ["(b < c) and d -> ((b < c) or d)", "b < c -> (b <= c)"]],
  ["a(not b)", ["not b -> b"]],
  ["if a then b() elseif c then d() end", ["a -> false", "a -> true", "c -> false", "c -> true"]],
  ["a(10, 0)", ["10 -> 0", "10 -> (10 + 1)", "0 -> 1"]],
  ["a(false)", ["false -> true"]],
  ["a('text', b .. c)", []],
])("in a script, %s has these", (text, changes) => {
  const mutants = luaMutantsOf("a.lua", text);
  expect(mutants.map(({ original, replacement }) => `${original} -> ${replacement}`)).toEqual(changes);
});

test("a mutant of a script is known by its line", () => {
  const text = "-- Why.\n  if a > 1 then\n    b(2)\n  end\n";
  const mutant = luaMutantsOf("a.lua", text).find(({ replacement }) => replacement === "(a >= 1)")!;
  expect(mutant.line).toBe(2);
  expect(changedLine(text, mutant)).toEqual(["if a > 1 then", "if (a >= 1) then"]);
});

test("a mutant has the line of its place, where the text is changed", () => {
  const text = "f();\nreturn a < b && c;";
  const mutant = mutantsOf("a.ts", text).find(({ original }) => original === "a < b")!;
  expect(mutant.line).toBe(2);
  expect(mutated(text, mutant)).toBe("f();\nreturn (a <= b) && c;");
});

test("an observed text does as before, and tells which places it evaluates", () => {
  const text = "a < b && (a + 1 < b || c)";
  const mutants = mutantsOf("a.ts", text);
  const all = mutants.map(({ original }) => original);
  const hits = new Set<string>();
  const hit = (index: number): void => void hits.add(all[index]!);
  const run = (a: number, b: number): unknown =>
    runInNewContext(observed(text, [...mutants.entries()]), { hit, a, b, c: "c" });
  expect(run(2, 1)).toBe(false);
  expect([...hits].sort()).toEqual(["a < b", text]);
  expect(run(1, 2)).toBe("c");
  expect([...hits].sort()).toEqual([...new Set(all)].sort());
});

test("a seed draws the same ones again, however many; another seed draws others", () => {
  const mutants = mutantsOf("a.ts", Array.from({ length: 100 }, (_, index) => `f(${index + 1});`).join("\n"));
  expect(drawn(mutants.toReversed(), 20, 1).slice(0, 5)).toEqual(drawn(mutants, 5, 1));
  expect(drawn(mutants, 20, 2)).not.toEqual(drawn(mutants, 20, 1));
});

test("the interval of a share", () => {
  const rounded = interval(80, 100).map((bound) => bound.toFixed(3));
  expect(rounded).toEqual(["0.711", "0.867"]);
  expect(interval(5, 5)[1]).toBeCloseTo(1);
});
