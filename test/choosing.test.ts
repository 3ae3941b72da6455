import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { defaultSettings, nodeTimeoutFor } from "../packages/redlock/src/settings/settings.ts";
import { nodeDeadline } from "../packages/redlock/src/time/lease-clock.ts";

const page = readFileSync(new URL("../packages/redlock/docs/choosing.md", import.meta.url), "utf8");
const numberIn = (text: string): number => Number(text.replaceAll(",", ""));

describe("the page on numbers", () => {
  const rows = [...page.matchAll(/^\| ([\d,]+) +\| (\d+)(?:, (?:a|the) [^|]+)? +\|/gm)];

  test.each(rows.map(([, ttl, wait]) => [numberIn(ttl!), numberIn(wait!)] as const))(
    "has the default nodeTimeout of a ttl of %i ms: %i ms",
    (ttl, wait) => {
      expect(nodeTimeoutFor(ttl, defaultSettings)).toBe(wait);
    },
  );

  test("has four of them", () => {
    expect(rows).toHaveLength(4);
  });

  test("has the time that a holder can use", () => {
    const [, left, ttl] = /: ([\d,]+) ms of ([\d,]+)\./.exec(page)!;
    expect(Math.floor(nodeDeadline(0, numberIn(ttl!), defaultSettings.driftFactor))).toBe(numberIn(left!));
  });
});
