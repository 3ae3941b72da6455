import { describe, expect, test } from "vitest";
import type { Judged } from "./checker.ts";
import { Fencing } from "./fencing.ts";
import { Findings } from "./findings.ts";

type Grant = readonly [token: number, askedAt: number, at: number];

function judged(...grants: readonly Grant[]): readonly string[] {
  const findings = new Findings(() => 0);
  const fencing = new Fencing({ findings } as Judged);
  for (const [token, askedAt, at] of grants) fencing.granted("r", token, askedAt, at);
  return findings.violations.map(({ kind, detail }) => `${kind}: ${detail}`);
}

describe("fencing tokens", () => {
  test("grow from lock to lock", () => {
    expect(judged([5, 0, 10], [6, 11, 20], [9, 21, 30])).toEqual([]);
  });

  test("a later lock with a smaller token is a violation", () => {
    expect(judged([5, 0, 10], [4, 11, 20])).toEqual([
      'fencing: a hold of "r" has token 4, and an earlier one had 5',
    ]);
  });

  test("a request at the moment at which the other lock began is later", () => {
    expect(judged([5, 0, 10], [4, 10, 20])).toHaveLength(1);
  });

  test("two requests at the same time may be granted in either order", () => {
    expect(judged([5, 0, 10], [4, 9, 20])).toEqual([]);
  });

  test("the largest of all earlier ones counts, not the last", () => {
    expect(judged([8, 0, 10], [4, 9, 20], [6, 21, 30])).toHaveLength(1);
  });

  test("of readers may be equal if neither was requested after the other began", () => {
    const findings = new Findings(() => 0);
    const fencing = new Fencing({ findings } as Judged);
    for (const [askedAt, at] of [
      [0, 10],
      [5, 11],
      [12, 20],
    ] as const)
      fencing.granted("r", 5, askedAt, at, true);
    expect(findings.violations.map(({ detail }) => detail)).toEqual([
      'a hold of "r" has token 5, and an earlier one had 5',
    ]);
  });

  test("no two are equal, whenever they were requested", () => {
    expect(judged([5, 0, 10], [5, 0, 11])).toEqual(['fencing: two holds of "r" have token 5']);
  });

  test("resources have nothing to do with each other", () => {
    const findings = new Findings(() => 0);
    const fencing = new Fencing({ findings } as Judged);
    fencing.granted("a", 5, 0, 10);
    fencing.granted("b", 4, 11, 20);
    expect(findings.violations).toEqual([]);
  });
});
