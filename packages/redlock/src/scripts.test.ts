import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { batchScript, claimScript, releaseScript } from "./scripts.ts";

test.each([
  ["claim", claimScript],
  ["release", releaseScript],
  ["batch", batchScript],
])("the %s script is known by its digest", (_, { source, sha1 }) => {
  expect(createHash("sha1").update(source).digest("hex")).toBe(sha1);
});
