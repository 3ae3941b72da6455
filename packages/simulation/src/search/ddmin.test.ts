import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ddmin } from "./ddmin.ts";

const items = Array.from({ length: 24 }, (_, index) => index);

/** Whether a part still shows it, asked in order. */
function finder(shows: (part: readonly number[]) => boolean): {
  find: Parameters<typeof ddmin<number>>[1];
  asked: () => number;
} {
  let asked = 0;
  const find = (parts: ReadonlyArray<readonly number[]>): Promise<number | undefined> => {
    const found = parts.findIndex(shows);
    asked += found === -1 ? parts.length : found + 1;
    return Promise.resolve(found === -1 ? undefined : found);
  };
  return { find, asked: () => asked };
}

test("exactly the few that matter remain", async () => {
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(fc.integer({ min: 0, max: 23 }), { maxLength: 5 }), async (needed) => {
      const { find } = finder((part) => needed.every((item) => part.includes(item)));
      expect(await ddmin(items, find)).toEqual(needed.toSorted((left, right) => left - right));
    }),
  );
});

test("one that matters is found among 24 by halving", async () => {
  const { find, asked } = finder((part) => part.includes(17));
  expect(await ddmin(items, find)).toEqual([17]);
  expect(asked()).toBeLessThan(12);
});

test("if everything matters, everything remains", async () => {
  const { find } = finder((part) => part.length === items.length);
  expect(await ddmin(items, find)).toEqual(items);
});
