import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { luaMutantsOf } from "./lua.ts";
import { mutantsOf } from "./mutants.ts";
import { judged } from "./simulated.ts";

test.each([
  ["redis/lua/parts/is-mine.lua", luaMutantsOf, "owner == token"],
  ["protocol/quorum.ts", mutantsOf, "Math.floor(members / 2) + 1"],
] as const)(
  "a changed operator of %s is shown by a case and by a run",
  async (name, mutantsIn, original) => {
    const folder = mkdtempSync(join(tmpdir(), "quorlock-mutation-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = `packages/redlock/src/${name}`;
    const mutant = mutantsIn(file, readFileSync(file, "utf8")).find((one) => one.original === original)!;
    for await (const { cases, runs } of judged([{ mutant }], 20, join(folder, "judgements")))
      expect([cases, runs]).toEqual([
        expect.stringMatching(/^\d+\.\d+ /),
        expect.stringMatching(/^seed \d+: /),
      ]);
  },
  120_000,
);
