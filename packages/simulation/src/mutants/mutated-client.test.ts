import { readdirSync, readFileSync } from "node:fs";
import { transform } from "esbuild";
import { describe, expect, test } from "vitest";
import { evaluated } from "../lua/evaluate.ts";
import { everyMutant } from "./every-mutant.ts";
import { editedFiles, editedScripts, importMutated } from "./mutated-client.ts";

const sources = new URL("../../../redlock/src/", import.meta.url);
/** All lines of the .lua files, as masters get them. */
const lua = readdirSync(sources, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".lua"))
  .flatMap((file) => readFileSync(new URL(file, sources), "utf8").split("\n"))
  .map((line) => line.trim())
  .filter((line) => line !== "" && !line.startsWith("--"))
  .join("\n");

describe("a mutant of the client's source", () => {
  test.each(everyMutant.filter(({ edits }) => edits))(
    "finds its place and leaves the syntax whole: $name",
    async (mutant) => {
      const texts = await editedFiles(mutant);
      expect(texts.size).toBeGreaterThan(0);
      for (const text of texts.values()) await transform(text, { loader: "ts" });
    },
  );

  test.each([
    ["protocol/quorum.ts quorumOf 99.9", '0 places for "99.9"'],
    ["protocol/none.ts quorumOf", "no such file"],
  ])("is named when a place is missing: %s", async (place, why) => {
    const edited = editedFiles({ name: "a fault", breaks: [], edits: { [place]: "" } });
    await expect(edited).rejects.toThrow(`mutant "a fault", "${place}": `);
    await expect(edited).rejects.toThrow(why);
  });
});

describe("a mutant of the client's scripts", () => {
  test.each(everyMutant.filter(({ lua }) => lua))(
    "finds each of its places once in the .lua files, and can be compiled: $name",
    (mutant) => {
      for (const place of Object.keys(mutant.lua!)) expect(lua.split(place).length - 1, place).toBe(1);
      for (const source of editedScripts(mutant).values()) evaluated(source);
    },
  );

  test("is named when a place is missing", () => {
    const mutant = { name: "a fault", breaks: [], lua: { "none such": "" } };
    expect(() => editedScripts(mutant)).toThrow('mutant "a fault": no script has "none such"');
  });
});

test("a mutant without edits has its own scripts", async () => {
  const [first, second] = [
    await importMutated({ name: "a fault", breaks: [] }),
    await importMutated({ name: "another", breaks: [] }),
  ];
  expect(first.batchScript).toEqual(second.batchScript);
  expect(first.batchScript).not.toBe(second.batchScript);
});
