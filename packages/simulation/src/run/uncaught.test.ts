import { expect, test } from "vitest";
import { promisedPlan } from "../plan/swarm.ts";
import { runPlan } from "./run-plan.ts";
import { type Subject, theClient } from "./subject.ts";

// (A rejection that nothing handles would end this process: mutants.deep.test.ts has one in a thread.)

test("an error that a client throws in a timer ends the run, as a finding of it", async () => {
  const subject: Subject = {
    name: "a client that throws",
    create(connections, runtime, settings) {
      runtime.setTimer(() => {
        throw new Error("thrown in a timer");
      }, 100);
      return theClient.create(connections, runtime, settings);
    },
  };
  const { violations, verdict, simulated } = await runPlan(promisedPlan(9), { subject });
  expect(verdict).toBe("violated");
  expect(violations[0]).toMatchObject({ kind: "error", detail: "nothing catches Error: thrown in a timer" });
  expect(simulated).toBeLessThan(1000);
});
