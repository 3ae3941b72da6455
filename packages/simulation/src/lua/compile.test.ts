import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { redisLibrary } from "../master/redis-library.ts";
import { compiled } from "./compile.ts";
import { compiledModules } from "./compiled-modules.ts";
import { evaluated } from "./evaluate.ts";
import { Table } from "./runtime.ts";

test("the compiled scripts are those of the client and of redlock 5 (if not: pnpm scripts)", async () => {
  for (const [path, text] of await compiledModules()) expect(await readFile(path, "utf8")).toBe(text);
});

describe("what the compiler does not know is named", () => {
  test.each([
    ["local a = 1\nreturn os.time()", "line 2 of the script: os.time is not known to the compiler"],
    ["return redis.sha1hex('')", "redis.sha1hex is not known"],
    ["return string.reverse('ab')", "string.reverse is not known"],
    ["return undeclared", "undeclared is not known"],
    ["x = 1", "an assignment to x is not known"],
    ["for i = 1, 2 do i = 3 end", "an assignment to i is not known"],
    ["for i, v in ipairs({}) do i = 3 end", "an assignment to i is not known"],
    ["local function f() return 1, 2 end\nf = nil", "an assignment to f is not known"],
    ["local i, t = 1, {}\ni, t[i] = 2, 3", "an assignment to variables and tables at once is not known"],
    ["return {[1] = 'a', 'b'}", "a TableKey beside a list is not known"],
    ["function f() end", "a global function is not known"],
    ["local function f(...) return ... end", "VarargLiteral is not known"],
    ["repeat until true", "RepeatStatement is not known"],
    ["for k, v in pairs({}) do end", "a loop over something else than ipairs or string.gmatch is not known"],
    ["for i = 1, 9, #KEYS do end", "a step that is no number is not known"],
    ["return ('x'):rep(2)", "the method rep is not known"],
    ["local a = 1, 2", "a value without a variable is not known"],
    ['error "x"', "StringCallExpression is not known"],
  ])("%s", (source, message) => expect(() => compiled(source)).toThrow(message));
});

test.each([
  ["return string.match('aba', 'a', 2)", "a place at which string.match begins"],
  ["return string.gsub('aaa', 'a', 'b', 2)", "a limit for string.gsub"],
  ["return table.concat({'a', 'b'}, ',', 2)", "a part of a table for table.concat"],
  ["return tonumber('ff', 16)", "a base for tonumber"],
])("an argument that a function does not know is named: %s", (source, what) => {
  const { call, pcall } = redisLibrary(() => null);
  expect(() => evaluated(source)({ call, pcall }, new Table(), new Table())).toThrow(
    `${what} is not known here`,
  );
});
