import { describe, expect, test } from "vitest";
import type { Plan } from "./plan.ts";
import { beyondPlan, promisedPlan } from "./swarm.ts";
import { PlanError, validPlan } from "./validate.ts";

/** A file may hold anything, but `unknown` would have to be narrowed before each error is made. */
// biome-ignore lint/suspicious/noExplicitAny: see above
type Spoilt = any;

/** A plan with a fault of each aim, as JSON to be spoilt. */
function plan(): Spoilt {
  const sane: Plan = {
    ...promisedPlan(1),
    masters: Array.from({ length: 3 }, () => ({
      offset: 0,
      rate: 0,
      persistence: { mode: "rdb", interval: 10 },
    })),
    clients: Array.from({ length: 2 }, () => ({ offset: 0, rate: 0, timerLateness: 0 })),
    faults: [
      { at: 5, kind: "freeze", clients: [1], masters: [2], duration: 10 },
      { on: "vote applied", occurrence: 1, kind: "crash", masters: "here", how: "power", downFor: 5 },
      { on: "granted", occurrence: 2, client: 0, kind: "stall", clients: "here", duration: 5 },
    ],
  };
  return structuredClone(sane) as Spoilt;
}

test("every drawn plan is valid", () => {
  for (let seed = 0; seed < 300; seed += 1) {
    expect(validPlan(JSON.parse(JSON.stringify(promisedPlan(seed))))).toEqual(promisedPlan(seed));
    expect(validPlan(JSON.parse(JSON.stringify(beyondPlan(seed))))).toEqual(beyondPlan(seed));
  }
});

test("the plan that the next tests damage is valid", () => {
  expect(validPlan(plan())).toEqual(plan());
});

describe("an invalid value is reported with its path", () => {
  test.each<[string, (plan: Spoilt) => unknown]>([
    ["plan: must be an object", () => "a plan"],
    ["plan.version: is missing", (spoilt) => ({ ...spoilt, version: undefined })],
    ['plan.version: "1" is unknown here', (spoilt) => ({ ...spoilt, version: "1" })],
    ["plan.seed: ", (spoilt) => (spoilt.seed = -1)],
    ["plan.duration: ", (spoilt) => (spoilt.duration = 0)],
    ["plan.duration: ", (spoilt) => (spoilt.duration = 1e12)],
    ["plan.colour: ", (spoilt) => (spoilt.colour = "red")],
    ["plan.masters: ", (spoilt) => (spoilt.masters = [])],
    ["plan.masters[1].rate: ", (spoilt) => (spoilt.masters[1].rate = -1_000_000)],
    ["plan.masters[1].persistence.interval: ", (spoilt) => (spoilt.masters[1].persistence.interval = 0)],
    ["plan.masters[0].persistence.mode: ", (spoilt) => (spoilt.masters[0].persistence = { mode: "tape" })],
    ["plan.clients[0].timerLateness: ", (spoilt) => (spoilt.clients[0].timerLateness = -1)],
    ["plan.clients[0].timerLateness: ", (spoilt) => delete spoilt.clients[0].timerLateness],
    ["plan.clients[1].masters: there is no master 3", (spoilt) => (spoilt.clients[1].masters = [0, 3])],
    ["plan.clients[1].masters: names a master twice", (spoilt) => (spoilt.clients[1].masters = [1, 1])],
    ["plan.clients[0].endsAt: its leases must", (spoilt) => (spoilt.clients[0].endsAt = spoilt.duration)],
    ["plan.network.latency.to: ", (spoilt) => (spoilt.network.latency = { shape: "uniform", from: 1 })],
    [
      "plan.network.latency: `from` must not be above `to`",
      (spoilt) => (spoilt.network.latency = { shape: "uniform", from: 2, to: 1 }),
    ],
    ["plan.settings.ttl: ", (spoilt) => (spoilt.settings.ttl = Number.NaN)],
    ["plan.settings.driftFactor: ", (spoilt) => (spoilt.settings.driftFactor = 1)],
    ["plan.workload.resources: ", (spoilt) => (spoilt.workload.resources = 0)],
    ["plan.workload.styles: all styles have weight 0", (spoilt) => zero(spoilt.workload.styles)],
    ["plan.faults[0].kind: ", (spoilt) => (spoilt.faults[0].kind = "flood")],
    ["plan.faults[0].at: ", (spoilt) => (spoilt.faults[0].at = -1)],
    ["plan.faults[0].duration: ", (spoilt) => (spoilt.faults[0].duration = 0)],
    ["plan.faults[0].clients: must be a list", (spoilt) => (spoilt.faults[0].clients = "everyone")],
    ["plan.faults[0].masters[0]: there is no master 3", (spoilt) => (spoilt.faults[0].masters = [3])],
    ['plan.faults[0].clients: "here" needs a trigger', (spoilt) => (spoilt.faults[0].clients = "here")],
    ["plan.faults[1].at: ", (spoilt) => (spoilt.faults[1].at = 5)],
    ["plan.faults[1].on: ", (spoilt) => (spoilt.faults[1].on = "lunch")],
    ["plan.faults[1].occurrence: ", (spoilt) => (spoilt.faults[1].occurrence = 0)],
    ["plan.faults[1].master: there is no master 9", (spoilt) => (spoilt.faults[1].master = 9)],
    ['plan.faults[1].masters: "here" is no master', (spoilt) => (spoilt.faults[1].on = "granted")],
    ["plan.faults[2].client: there is no client 2", (spoilt) => (spoilt.faults[2].client = 2)],
    ['plan.faults[2].master: "granted" happens at no master', (spoilt) => (spoilt.faults[2].master = 0)],
    [
      "plan.workload.script[0][0].resource: there is no resource 8",
      (spoilt) => (spoilt.workload.script = [[{ do: "acquire", at: 1, resource: 8 }]]),
    ],
  ])("%s", (message, spoil) => {
    const spoilt = plan();
    const result = spoil(spoilt);
    const input = message.startsWith("plan.version") || message.startsWith("plan:") ? result : spoilt;
    expect(() => validPlan(input)).toThrow(PlanError);
    expect(() => validPlan(input)).toThrow(message);
  });
});

function zero(weights: Record<string, number>): void {
  for (const style of Object.keys(weights)) weights[style] = 0;
}
