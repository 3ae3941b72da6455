import { expect, test } from "vitest";
import { type Verdict, verdictOf } from "./verdict.ts";

/** `a`, `b`: a token; `.`: free; `h`: a hash; `r`: refused; `d`: perhaps; `?`: no answer. */
function verdict(masters: string): Verdict {
  return verdictOf(
    masters.split("").map((master) =>
      master === "?"
        ? undefined
        : {
            digest: /[ab]/.test(master) ? master : undefined,
            otherType: master === "h" ? "hash" : undefined,
            refusal: { r: "OOM", d: "QUARANTINE?" }[master],
          },
    ),
  );
}

test.each<[string, Verdict]>([
  ["aaa", "held"],
  ["aa.", "held"],
  ["aa?", "held"],
  ["a", "held"],
  ["...", "free"],
  ["..a", "free"],
  ["..?", "free"],
  ["..h", "free"],
  [".", "free"],
  ["a.?", "unknown"],
  ["a??", "unknown"],
  [".??", "unknown"],
  ["???", "unknown"],
  ["?", "unknown"],
  ["ab?", "unknown"],
  [".h?", "unknown"],
  ["ab.", "no-quorum"],
  ["hh.", "no-quorum"],
  ["rr.", "no-quorum"],
  ["r..", "free"],
  ["dd.", "unknown"],
  ["d..", "free"],
  ["drr", "no-quorum"],
  ["ah.", "no-quorum"],
  ["h", "no-quorum"],
  // A quorum of four is three: a token on two keeps others out, and nobody holds the lock.
  ["aa..", "no-quorum"],
  ["aa.?", "unknown"],
  ["ab..?", "unknown"],
  ["abh..", "no-quorum"],
  ["aab.?", "unknown"],
  ["aaa??", "held"],
  ["...??", "free"],
])("%s is %s", (masters, expected) => {
  expect(verdict(masters)).toBe(expected);
});

test("what is known when some masters are silent is no other when they answer", () => {
  const answers = ["a", "b", ".", "h"];
  const all = (length: number): string[] =>
    length === 0 ? [""] : all(length - 1).flatMap((rest) => answers.map((answer) => rest + answer));
  for (const masters of all(5))
    for (let silent = 0; silent < 32; silent += 1) {
      const seen = masters
        .split("")
        .map((master, place) => (silent & (1 << place) ? "?" : master))
        .join("");
      expect([verdict(masters), "unknown"], `${seen} of ${masters}`).toContain(verdict(seen));
    }
});
