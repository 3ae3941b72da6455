import { UsageError } from "@quorlock/simulation/command-line";
import { expect, test } from "vitest";
import { optionsFrom } from "./options.ts";

const drawn = (): number => 42;

test("fractions of minutes, a seed, a mode and a file", () => {
  expect(optionsFrom(["--minutes", "0.5"], drawn)).toEqual({
    minutes: 0.5,
    seed: 42,
    mode: "safe",
    json: undefined,
    record: undefined,
  });
  const all = ["--minutes", "10", "--seed", "7", "--mode", "unsafe", "--json", "report.json"];
  const given = { minutes: 10, seed: 7, mode: "unsafe", json: "report.json", record: undefined };
  expect(optionsFrom(all, drawn)).toEqual(given);
  expect(optionsFrom(["--minutes", "1", "--record", "record.json"], drawn).record).toBe("record.json");
  expect(optionsFrom(["--minutes", ".2"], drawn).minutes).toBe(0.2);
});

test.each([
  [[]],
  [["--minutes"]],
  [["--minutes", "0.09"]],
  [["--minutes", "99999"]],
  [["--minutes", "1", "--seed", "1.5"]],
  [["--minutes", "1", "--mode", "reckless"]],
  [["--minutes", "1", "--json", ""]],
  [["--minutes", "1", "--record", ""]],
  [["--minutes", "1", "--mode", "unsafe", "--record", "record.json"]],
  [["--minutes", "1", "--hours", "1"]],
  [["1"]],
])("bad usage: %j", (args) => {
  expect(() => optionsFrom(args, drawn)).toThrow(UsageError);
});
