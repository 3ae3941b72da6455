import { expect, test } from "vitest";
import type { Plan } from "../plan/plan.ts";
import { promisedPlan } from "../plan/swarm.ts";
import { type Outcome, runPlan } from "../run/run-plan.ts";
import { redlock5 } from "./redlock-5.ts";

/** Every other client is node-redlock 5, which knows no queue; nothing goes wrong, and clocks are perfect. */
function mixed(seed: number): Plan {
  const { masters, clients, settings, workload, ...plan } = promisedPlan(seed);
  const { restartGuard: _, fencing: __, ...plain } = settings;
  const ideal = { offset: 0, rate: 0 };
  return {
    ...plan,
    masters: masters.map((master) => ({ ...master, ...ideal })),
    clients: clients.map((client, index) => ({ ...client, ...ideal, isForeign: index % 2 === 1 })),
    network: { ...plan.network, latency: { shape: "constant", ms: Math.min(1, plain.ttl / 100) } },
    settings: { ...plain, queue: true, retryCount: 10 },
    workload,
    faults: [],
  };
}

test("beside redlock 5 no two clients hold at once, and no vote is removed by another client", async () => {
  const foreign = await redlock5();
  const outcomes: Outcome[] = [];
  for (let seed = 1; seed <= 40; seed += 1) {
    const outcome = await runPlan(mixed(seed), { foreign, maxEvents: 100_000 });
    const found = outcome.violations.filter(({ kind }) => /belief|effect|ownership|fencing/.test(kind));
    expect([seed, ...found]).toEqual([seed]);
    outcomes.push(outcome);
  }
  expect(outcomes.filter(({ marks }) => marks.has("handed over")).length).toBeGreaterThan(20);
}, 1_200_000);
