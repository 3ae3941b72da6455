import { afterAll, describe, test } from "vitest";
import { Pool } from "../cli/pool.ts";
import type { Fault } from "../plan/fault.ts";
import type { Plan } from "../plan/plan.ts";
import { guardedPlan } from "../plan/swarm.ts";
import { scenarios } from "../scenarios/scenarios.ts";
import { plansOf } from "../search/explore.ts";
import { findOut } from "./find-out.ts";
import { guardMutants, slowBootMutants } from "./guard-mutants.ts";

/** The harness's budget for each. */
const seeds = 400;

/** Faults that leave the clocks alone, and masters that are thrown back while there is a holder and a queue. */
function crowdedFaults({ faults, masters, seed, settings }: Plan): readonly Fault[] {
  const kept = faults.filter(
    ({ kind }) => !["failover", "resync", "reload", "rate", "step", "suspend"].includes(kind),
  );
  const lag = Math.round(settings.ttl * 0.1);
  const thrownBack = Array.from({ length: 6 }, (_, index): Fault => {
    const when = { on: "granted", occurrence: 2 + 3 * index } as const;
    const where = { masters: [(index + seed) % masters.length], lag };
    return index % 2 === 0 ? { ...when, kind: "reload", ...where } : { ...when, kind: "promote", ...where };
  });
  return [...kept, ...thrownBack];
}

/** All want the same two and wait for them: queues are long, and with few in them it would take thousands of seeds. */
function crowdedPlan(seed: number): Plan {
  const plan = guardedPlan(seed);
  const { ttl } = plan.settings;
  const styles = { acquire: 1, try: 0, extend: 1, using: 0, abandon: 0.3, abort: 0.3, several: 1 };
  return {
    ...plan,
    duration: 6 * ttl,
    faults: crowdedFaults(plan),
    settings: {
      ...plan.settings,
      queue: true,
      retryCount: 20,
      waitTimeout: 4 * ttl,
      restartGuard: { maxTtl: ttl },
    },
    workload: { ...plan.workload, resources: 2, hold: ttl * 0.3, think: ttl * 0.02, styles },
  };
}

const cases = guardMutants.map(({ name, from = 1 }) => ({
  name,
  from,
  planOf:
    name === "a client that is refused in quarantine gets a queue entry, and is granted the key"
      ? crowdedPlan
      : guardedPlan,
}));

describe("the harness finds every mutant of the restart guard", () => {
  const pool = new Pool();
  afterAll(() => pool.close());

  test.concurrent.each(cases)(
    "$name",
    async ({ name, from, planOf }) => {
      console.log(await findOut(pool, name, plansOf(planOf, from, seeds)));
    },
    1_200_000,
  );

  test.each(slowBootMutants)(
    "$name",
    async ({ name }) => {
      const { plan } = scenarios.find((scenario) => scenario.name === "slow-boot-guarded")!;
      console.log(await findOut(pool, name, plansOf(plan, 1, 10)));
    },
    1_200_000,
  );
});
