import { describe, expect, test } from "vitest";
import { masterCount, ttl, workerCount } from "../terms.ts";
import type { Fault } from "./fault.ts";
import { faultsOf, type Mode, undisturbedWorkers } from "./plan.ts";

function first(count: number, seed: number, mode: Mode, hasClocks = true): Fault[] {
  const faults: Fault[] = [];
  for (const { fault } of faultsOf(seed, mode, hasClocks)) {
    faults.push(fault);
    if (faults.length === count) return faults;
  }
  return faults;
}

const namesOf = (faults: readonly Fault[]): Set<string> => new Set(faults.map(({ name }) => name));

test("a seed is one plan, another seed is another one", () => {
  expect(first(50, 7, "safe")).toEqual(first(50, 7, "safe"));
  expect(first(50, 7, "safe")).not.toEqual(first(50, 8, "safe"));
});

describe("the safe mode", () => {
  const faults = first(2000, 1, "safe");

  test("has every fault that the protocol survives, and no other", () => {
    expect([...namesOf(faults)].sort()).toEqual([
      "cut",
      "cut-replies",
      "cut-requests",
      "freeze",
      "full",
      "greet-late",
      "hang-master",
      "hold-replies",
      "hold-requests",
      "isolate-worker",
      "kill-master",
      "kill-worker",
      "listener",
      "move-master",
      "no-replicas",
      "read-only",
      "reply-lost",
      "reset",
      "reshard",
      "rotate-password",
      "slow",
      "stop-worker",
    ]);
  });

  test("a fault that every worker notices is about one master; a worker is cut off from more, and more may refuse", () => {
    const ofSeveral = ["full", "no-replicas", "read-only", "listener"];
    for (const fault of faults) {
      if (ofSeveral.includes(fault.name)) continue;
      if (fault.name === "isolate-worker") expect(new Set(fault.masters).size).toBeGreaterThanOrEqual(3);
      else expect(fault).not.toHaveProperty("masters");
      if ("master" in fault) expect(fault.master).toBeLessThan(masterCount);
      if ("worker" in fault) expect(fault.worker).toBeLessThan(workerCount);
      if (fault.name === "kill-worker") expect(undisturbedWorkers).not.toContain(fault.worker);
    }
  });

  test("faults are shorter than a node's time-out, and longer than a lease", () => {
    const lasting = faults.flatMap((fault) => ("lasts" in fault ? [fault.lasts] : []));
    expect(Math.min(...lasting)).toBeLessThan(75);
    expect(Math.max(...lasting)).toBeGreaterThan(ttl);
  });
});

test("the unsafe mode affects a majority; no clock is set if the masters' clocks cannot be", () => {
  const faults = first(500, 1, "unsafe");
  expect([...namesOf(faults)].sort()).toEqual(["amnesia", "careless-writer", "clock-step", "flush"]);
  for (const fault of faults) if ("masters" in fault) expect(new Set(fault.masters).size).toBe(3);
  expect(namesOf(first(500, 1, "unsafe", false))).not.toContain("clock-step");
});
