import { describe, expect, test } from "vitest";
import { Engine } from "../engine/engine.ts";
import { Kernel } from "../engine/kernel.ts";
import { Trace } from "../engine/trace.ts";
import type { Fault } from "../plan/fault.ts";
import type { LockSettings, Plan } from "../plan/plan.ts";
import { Cluster } from "../run/cluster.ts";
import { runPlan } from "../run/run-plan.ts";
import { type Subject, theClient } from "../run/subject.ts";
import { FirstGrant } from "./first-grant.ts";

function plan(faults: readonly Fault[], others: Partial<LockSettings> = {}): Plan {
  return {
    version: 1,
    seed: 1,
    duration: 20_000,
    masters: Array.from({ length: 3 }, () => ({ offset: 0, rate: 0, persistence: { mode: "aof-always" } })),
    clients: Array.from({ length: 2 }, () => ({ offset: 0, rate: 0, timerLateness: 0 })),
    network: { latency: { shape: "constant", ms: 10 }, longestLatency: 20, reconnectDelay: 5 },
    settings: {
      ttl: 500,
      driftFactor: 0.01,
      nodeTimeout: 100,
      retryCount: 20,
      retryDelay: 20,
      retryJitter: 10,
      automaticExtensionThreshold: 50,
      ...others,
    },
    workload: { resources: 1, hold: 40, think: 20, styles: { acquire: 1 } },
    faults,
  };
}

const killed = (at: number): Fault => ({ at, kind: "kill", clients: [0, 1] });

/** The client, to which no master ever answers yes. */
const refused: Subject = {
  ...theClient,
  create(connections, ...others) {
    for (const connection of connections)
      Object.assign(connection, { send: () => Promise.reject(new Error("refused")) });
    return theClient.create(connections, ...others);
  },
};

describe("a run in which nothing was granted", () => {
  test("is ok if no client lived for as long as a lock may take, and says so", async () => {
    const { verdict, whyNothing } = await runPlan(plan([killed(15)]));
    expect(verdict).toBe("ok");
    expect(whyNothing).toMatch(/^client-\d was undisturbed for 15\.0 ms before it was killed, .* may take/);
  });

  test("is ok if no answer can come in time", async () => {
    const { verdict, whyNothing } = await runPlan(plan([killed(15_000)], { nodeTimeout: 15 }));
    expect(verdict).toBe("ok");
    expect(whyNothing).toBe("no answer comes within a nodeTimeout: each takes 20.0 ms at least");
  });

  test("is ok if the calls of clients that live ended sooner than a lock may take, and unknown if not", async () => {
    // No answer comes in time, so that no lock is owed in the calm either: a guarded client waits no longer than part of maxTtl.
    const frozen: Fault = { at: 40, kind: "freeze", clients: [], masters: [0], duration: 10 };
    const guarded = plan([frozen], { ttl: 50, nodeTimeout: 15, restartGuard: { maxTtl: 50 } });
    const latency = { shape: "log-normal", median: 10, sigma: 0.05 } as const;
    const short = await runPlan({
      ...guarded,
      // The masters cannot be declared new before, which takes a nodeTimeout.
      duration: 15 + 50 + 183,
      network: { ...guarded.network, latency },
    });
    expect(short.whyNothing).toMatch(
      /^client-\d was undisturbed for 183\.0 ms before its calls ended, .* may take/,
    );
    expect(short.verdict).toBe("ok");
    const terms = { patience: 500, obstacle: undefined, excuse: undefined, startsAt: [0] };
    const judged = (endsAt: number) => {
      const run = new Cluster(new Kernel(new Engine(), new Trace()), plan([]));
      return new FirstGrant(run, { ...terms, endsAt }).judge(run.clients.slice(0, 1));
    };
    expect(judged(500)).toMatchObject({ isOwed: false });
    expect(judged(501)).toBeUndefined();
  });

  test("is violated if a client could have been granted a lock for long", async () => {
    const options = { subject: refused } as const;
    const { violations } = await runPlan(plan([killed(15_000)]), options);
    expect(violations.map(({ kind }) => kind)).toContain("forgotten");
    expect((await runPlan(plan([killed(15_000)]))).verdict).toBe("ok");
    // Something was wrong all the time.
    const faults = Array.from(
      { length: 150 },
      (_, index): Fault => ({ at: 100 * index, kind: "freeze", clients: [], masters: [0], duration: 90 }),
    );
    const disturbed = await runPlan(plan([killed(15_000), ...faults]), options);
    expect(disturbed.violations.map(({ kind }) => kind)).not.toContain("forgotten");
  });
});
