import { describe, expect, test } from "vitest";
import { edited } from "./mutated-client.ts";

describe("a mutant", () => {
  const edit = { file: "f.ts", line: "a", instead: "b" };

  test("replaces its line", () => {
    expect(edited("x a y", edit)).toBe("x b y");
  });

  test.each(["x", "a a"])("whose line is not there exactly once is an error: %j", (text) => {
    expect(() => edited(text, edit)).toThrow("exactly once");
  });
});
