import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { groups } from "./doctor/checks.ts";
import { remedies } from "./doctor/remedies.ts";

test("the README has a section for each check, in their order, and each has a remedy", () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const sections = [...readme.matchAll(/^### (\S+)\n\n[\w`]/gm)].map(([, id]) => id);
  const ofMasters = Object.entries(groups).flatMap(([group, checks]) =>
    Object.keys(checks).map((name) => `${group}.${name}`),
  );
  expect(sections).toEqual(Object.keys(remedies));
  expect(new Set([...ofMasters, "independent.even", "independent.membership", "usable.settings"])).toEqual(
    new Set(sections),
  );
});
