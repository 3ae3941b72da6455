import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import * as scripts from "./scripts.ts";

test.each(Object.entries(scripts))("%s is known by its digest", (_, { source, sha1 }) => {
  expect(createHash("sha1").update(source).digest("hex")).toBe(sha1);
});
