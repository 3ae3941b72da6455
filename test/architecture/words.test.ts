import { expect, test } from "vitest";
import { documents, totalOf } from "./words.ts";

const written = documents().filter(({ writtenBy }) => !writtenBy);

test("the documents about the client and its proofs, as people write them, have at most 37,500 words", () => {
  const others = written.filter(
    ({ isForOperators, isForFrameworks, isForLearners }) =>
      !isForOperators && !isForFrameworks && !isForLearners,
  );
  expect(others.length).toBeGreaterThan(20);
  expect(totalOf(others)).toBeLessThanOrEqual(37_500);
});

test("the documents for operators have at most 11,000 words", () => {
  const operators = written.filter(({ isForOperators }) => isForOperators);
  expect(operators.length).toBeGreaterThan(1);
  expect(totalOf(operators)).toBeLessThanOrEqual(11_000);
});

test("the documents of each package for a framework have at most 920 words", () => {
  const frameworks = written.filter(({ isForFrameworks }) => isForFrameworks);
  expect(frameworks.length).toBeGreaterThan(1);
  expect(frameworks.filter(({ words }) => words > 920)).toEqual([]);
});

test("the documents that teach have at most 3,000 words", () => {
  const learners = written.filter(({ isForLearners }) => isForLearners);
  expect(learners.length).toBeGreaterThan(3);
  expect(totalOf(learners)).toBeLessThanOrEqual(3_000);
});
