import { createHash } from "node:crypto";
import * as redlock from "@quorlock/redlock/internal";
import { expect, test } from "vitest";
import { otherTwins, twinScripts } from "./script-twins.ts";

const twins = Object.entries({ ...twinScripts, ...otherTwins });

function isScript(value: unknown): value is redlock.Script {
  return typeof value === "object" && value !== null && "sha1" in value && "source" in value;
}

test("every script that the client exports has a twin of the same name", () => {
  const exported = Object.entries(redlock).filter(([, value]) => isScript(value));
  expect(exported.length).toBeGreaterThan(0);
  const known = twins.map(([name, { script }]) => [name, script]);
  expect(Object.fromEntries(known)).toEqual(Object.fromEntries(exported));
});

test.each(twins)("the twin of %s was written from this very text", (_, twin) => {
  const { script, writtenFrom } = twin;
  const digest = createHash("sha1").update(script.source).digest("hex");
  // Rewrite the twin when this fails, and only then its digest.
  expect(writtenFrom).toBe(digest);
});
