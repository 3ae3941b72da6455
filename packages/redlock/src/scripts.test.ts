import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { claimScript, releaseScript } from "./scripts.ts";

test.each([
  ["claim", claimScript],
  ["release", releaseScript],
])("the %s script is known by its digest", (_, { source, sha1 }) => {
  expect(createHash("sha1").update(source).digest("hex")).toBe(sha1);
});
