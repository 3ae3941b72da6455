import {
  AbortError,
  ClosedError,
  ExecutionError,
  InvalidArgumentError,
  LockLostError,
  ResourceLockedError,
} from "@quorlock/redlock";
import { describe, expect, test } from "vitest";
import { problemFor } from "./problem.ts";

const owner = { name: "worker-7", host: "10.0.0.7", pid: 4711, tag: "0123abcd" };

describe("the answer to a request without the lock", () => {
  test.each([
    [0, "1"],
    [1, "1"],
    [999.5, "1"],
    [1000, "1"],
    [1000.001, "2"],
    [2000, "2"],
    [29_999, "30"],
    [3_600_000, "3600"],
  ])("has Retry-After in whole seconds, rounded up: %d ms", (remaining, seconds) => {
    const problem = problemFor(new ResourceLockedError("r", remaining), 409);
    expect(problem?.headers["retry-after"]).toBe(seconds);
  });

  test("has no Retry-After for a key that does not expire", () => {
    expect(problemFor(new ResourceLockedError("r"), 409)?.headers).toEqual({
      "content-type": "application/problem+json",
    });
  });

  test.each([
    [409, "Conflict"],
    [423, "Locked"],
  ] as const)("is %d, without the resource, its holder and its token", (status, title) => {
    const error = new ResourceLockedError("invoice:42", 2500, [], undefined, owner);
    expect(error.message).toContain("worker-7");
    const problem = problemFor(error, status)!;
    expect(problem).toMatchObject({ status, headers: { "content-type": "application/problem+json" } });
    expect(JSON.parse(problem.body.toString())).toEqual({
      type: "about:blank",
      title,
      status,
      detail: "Another request holds the lock.",
    });
  });

  test.each([
    ["no quorum", new ExecutionError("10.0.0.7:6379: TIMEOUT", [])],
    ["a lost lock", new LockLostError(["invoice:42"], "gone")],
    ["a Redlock that has quit", new ClosedError()],
  ])("is 503 with Retry-After: %s", (_, error) => {
    const problem = problemFor(error, 423)!;
    expect(problem).toMatchObject({ status: 503, headers: { "retry-after": "1" } });
    expect(JSON.parse(problem.body.toString())).toMatchObject({ status: 503, title: "Service Unavailable" });
    expect(problem.body.toString()).not.toMatch(/invoice|10\.0\.0\.7/);
  });

  test.each([
    ["a mistake in the program", new InvalidArgumentError("ttl")],
    ["a wait that the client ended", new AbortError("gone")],
    ["an error of another library", new Error("no such table")],
    ["undefined", undefined],
  ])("is left to the application: %s", (_, error) => {
    expect(problemFor(error, 409)).toBeUndefined();
  });
});
