import { afterAll, describe, expect, test } from "vitest";
import { Pool } from "../cli/pool.ts";
import type { Fault } from "../plan/fault.ts";
import type { Plan } from "../plan/plan.ts";
import { movedPlan, planWith, sharedServerPlan } from "../plan/swarm.ts";
import { explore, plansOf } from "../search/explore.ts";
import { inOrder } from "../search/runner.ts";
import { findOut } from "./find-out.ts";
import { movedServerMutants, sharedServerMutants } from "./shared-server-mutants.ts";

/** The harness's budget for each. */
const seeds = 30;

async function expectNoViolation(pool: Pool, planOf: (seed: number) => Plan, count: number): Promise<void> {
  const { violated, runs } = await explore(inOrder(pool.runner(), plansOf(planOf, 1, count)));
  expect(violated.map(({ plan: { seed }, outcome }) => [seed, outcome.violations])).toEqual([]);
  expect(runs).toBe(count);
}

describe("two masters that are one server", () => {
  const pool = new Pool();
  afterAll(() => pool.close());

  test("are one vote, which is no quorum", () => expectNoViolation(pool, sharedServerPlan, seeds), 1_200_000);

  test.each(sharedServerMutants)(
    "$name",
    async ({ name }) => {
      console.log(await findOut(pool, name, plansOf(sharedServerPlan, 1, seeds)));
    },
    1_200_000,
  );
});

/**
 * Each holder of client 0 reaches server 1 alone, then by the address of master 0. (That of master 1 leads to a server
 * that votes by address 2, which is cut off.)
 */
function holderMovesPlan(seed: number): Plan {
  const plan = planWith(seed, { masters: 3, kinds: [] });
  const { ttl } = plan.settings;
  const each = (occurrence: number): readonly Fault[] => {
    const on = { on: "granted", client: 0, clients: [0] } as const;
    const granted = { ...on, occurrence };
    const later = { ...granted, after: Math.ceil(0.8 * ttl) };
    const cut = { kind: "cut", direction: "both", ending: "reset" } as const;
    return [
      { ...granted, ...cut, masters: [0], duration: Math.ceil(0.8 * ttl) },
      { ...granted, ...cut, masters: [2], duration: 2 * ttl },
      { ...later, kind: "move", masters: [0], to: 1, duration: 2 * ttl },
      { ...later, kind: "move", masters: [1], to: 2, duration: 2 * ttl },
      { ...later, kind: "reset", masters: [0, 1], inFlight: "lost" },
    ];
  };
  return {
    ...plan,
    clients: plan.clients.map((client) => ({ ...client, isForeign: false })),
    network: { ...plan.network, latency: { shape: "constant", ms: ttl / 500 }, reconnectDelay: ttl / 100 },
    settings: { ...plan.settings, nodeTimeout: ttl / 20, automaticExtensionThreshold: Math.round(0.7 * ttl) },
    workload: { resources: 1, hold: 2 * ttl, think: ttl / 10, styles: { using: 1 } },
    faults: [1, 3].flatMap(each),
  };
}

describe("addresses that change places", () => {
  const pool = new Pool();
  afterAll(() => pool.close());

  test.each([
    ["lead to no server that votes twice", movedPlan, seeds],
    ["keep the vote that a holder has by one of them from counting by another one", holderMovesPlan, 20],
  ] as const)("%s", (_, planOf, count) => expectNoViolation(pool, planOf, count), 1_200_000);

  test.each([
    [movedServerMutants[0]!.name, holderMovesPlan, 20],
    [movedServerMutants[1]!.name, movedPlan, 100],
  ] as const)(
    "%s",
    async (name, planOf, budget) => {
      console.log(await findOut(pool, name, plansOf(planOf, 1, budget)));
    },
    1_200_000,
  );
});
