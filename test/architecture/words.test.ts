import { expect, test } from "vitest";
import { documents, totalOf } from "./words.ts";

test("the documents that people write have at most 35,000 words", () => {
  const written = documents().filter(({ writtenBy }) => !writtenBy);
  expect(written.length).toBeGreaterThan(20);
  expect(totalOf(written)).toBeLessThanOrEqual(35_000);
});
