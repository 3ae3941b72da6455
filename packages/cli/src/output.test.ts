import { describe, expect, test } from "vitest";
import { escaped, jsonOf, paintFor } from "./output.ts";

describe("colours", () => {
  test("are for a terminal", () => {
    expect(paintFor({ isTTY: true }, {})("red", "x")).toBe("\u001b[31mx\u001b[39m");
  });

  test.each([
    [{ isTTY: false }, {}],
    [{}, {}],
    [{ isTTY: true }, { NO_COLOR: "1" }],
    [{ isTTY: true }, { TERM: "dumb" }],
  ])("are left out: %j %j", (terminal, environment) => {
    expect(paintFor(terminal, environment)("red", "x")).toBe("x");
  });
});

const hostile = "a\u001b[2Jb\nc\u009bd\u202ee\u007f";

test("text from outside has no effect on a terminal", () => {
  expect(escaped(hostile)).toBe("a\\u001b[2Jb\\u000ac\\u009bd\\u202ee\\u007f");
  expect(escaped("é 日本 ✓")).toBe("é 日本 ✓");
});

test("JSON has no effect on a terminal, and reads as it was", () => {
  const text = jsonOf({ name: hostile });
  expect(text).toMatch(/^[\x20-\x7e\n]+$/);
  expect(JSON.parse(text)).toEqual({ name: hostile });
});
