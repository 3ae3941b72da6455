import { readFileSync } from "node:fs";
import { scenarios } from "@quorlock/simulation";
import { stateOf } from "@quorlock/simulation/lab";
import { expect, test } from "vitest";

// The argument about Redlock: each row says what the run of its link comes to.

const page = readFileSync(new URL("../../redlock/docs/promises.md", import.meta.url), "utf8");
const rows = page.split("\n").filter((line) => line.includes("../../site/lab.md#"));

test.each(rows.map((row) => [row.split("|")[1]!.trim(), row] as const))(
  "%s: the outcomes are those of its run",
  async (_, row) => {
    const [, , link = "", quorlock, peer] = row.split("|").map((cell) => cell.trim());
    const { run } = await stateOf(/#([^)]+)/.exec(link)![1]!);
    const { expected } = scenarios.find(({ name }) => "story" in run && name === run.story)!;
    expect([quorlock, peer]).toEqual([expected.quorlock, expected["redlock-5"]]);
  },
);

test("the page has the arguments of both sides", () => {
  expect(rows).toHaveLength(12);
  expect(page.match(/^## .*'s arguments$/gm)).toHaveLength(2);
});
