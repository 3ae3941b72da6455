import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { moduleOf, scriptsIn, written } from "./scripts.ts";

it.each(Object.entries(written))("%s is that of the .lua files (if not: pnpm scripts)", (file, folders) => {
  const text = readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");
  expect(text).toBe(moduleOf(scriptsIn(folders)));
});
