import { expect, test } from "vitest";
import { gateFor } from "./gate.ts";

test("the gate shows no value of the environment in the list of processes", () => {
  const { script, restorer } = gateFor({ "my-var": "hunter2", PWD: "/hunter2", OK: "hunter2" });
  expect(restorer[2]).toContain("my-var=");
  expect([script, ...restorer].join(" ")).not.toContain("hunter2");
});

test("an environment that a shell passes on needs no env", () => {
  expect(gateFor({ OK: "1", PWD: process.cwd(), 1: undefined }).restorer).toEqual([]);
});
