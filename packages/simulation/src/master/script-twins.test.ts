import { createHash } from "node:crypto";
import * as redlock from "@quorlock/redlock";
import { expect, test } from "vitest";
import { clientScripts, scriptTwins } from "./script-twins.ts";

function isScript(value: unknown): value is redlock.Script {
  return typeof value === "object" && value !== null && "sha1" in value && "source" in value;
}

test("every script that the client exports is known here", () => {
  const exported = Object.values(redlock).filter(isScript);
  expect(exported.length).toBeGreaterThan(0);
  expect(new Set(clientScripts)).toEqual(new Set(exported));
});

test.each(clientScripts)("a twin was written from this very text: $sha1", ({ source, sha1 }) => {
  const digest = createHash("sha1").update(source).digest("hex");
  expect(digest).toBe(sha1);
  // Rewrite the twin when this fails, and only then its digest.
  expect([...scriptTwins.keys()]).toContain(digest);
});

test("no twin is left over from a script that is gone", () => {
  expect([...scriptTwins.keys()].sort()).toEqual(clientScripts.map(({ sha1 }) => sha1).sort());
});
