import type { Fault } from "../plan/fault.ts";
import type { Plan } from "../plan/plan.ts";
import { guardedPlan, planWith, promisedPlan, watchedPlan } from "../plan/swarm.ts";

// Plans that show a mutant which the plans of the other mutants show too seldom.

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
export function crowdedPlan(seed: number): Plan {
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

/** Calls that demand most of a lease, and wait for so long after a heartbeat that votes by it have less time left. */
export function demandingPlan(seed: number): Plan {
  const ttl = 4000;
  const pauses = { nodeTimeout: 400, retryDelay: 10, retryJitter: 1 };
  const settings = { ttl, driftFactor: 0.01, retryCount: 10, automaticExtensionThreshold: 0, ...pauses };
  const plan = planWith(seed, { masters: 3, clients: 2, kinds: [], settings });
  const call = { ...pauses, ttl, waitTimeout: 20 * ttl };
  return {
    ...plan,
    duration: 20 * ttl,
    masters: plan.masters.map(({ rate, persistence }) => ({ offset: 0, rate, persistence })),
    clients: plan.clients.map(({ offset, rate, timerLateness }) => ({ offset, rate, timerLateness })),
    network: { ...plan.network, latency: { shape: "constant", ms: 1 } },
    workload: {
      resources: 1,
      parallel: 2,
      hold: 0.2 * ttl,
      think: 10,
      styles: { acquire: 1 },
      calls: [{ ...call, minimumValidity: 0.8 * ttl, retryDelay: 2 * ttl }, call],
    },
  };
}

/**
 * Each holder of client 0 reaches server 1 alone, then by the address of master 0. (That of master 1 leads to a server
 * that votes by address 2, which is cut off.)
 */
export function holderMovesPlan(seed: number): Plan {
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

/** Jobs whose calls find no quorum for a while, and would try again when the job is not kept any more. */
export function lateJobsPlan(seed: number): Plan {
  const ttl = 1000;
  const retries = { retryCount: 1, retryDelay: 6 * ttl, retryJitter: 0 };
  const times = { ttl, nodeTimeout: ttl / 20, driftFactor: 0.01, automaticExtensionThreshold: ttl / 2 };
  const plan = planWith(seed, { masters: 3, clients: 3, kinds: [], settings: { ...times, ...retries } });
  const cut = { kind: "cut", direction: "both", ending: "reset", at: 2 * ttl, duration: ttl } as const;
  return { ...plan, duration: 12 * ttl, faults: [{ ...cut, masters: [0, 1], clients: [0, 1, 2] }] };
}

/** Client 0 holds the lock for long; its connections are switched to another database, one after the other. */
export function switchedPlan(seed: number): Plan {
  const plan = holderMovesPlan(seed);
  const { ttl } = plan.settings;
  const each = (master: number): Fault => ({
    ...{ on: "granted", client: 0, clients: [0], occurrence: 1 },
    ...{ kind: "select", masters: [master], after: (1 + 2 * master) * ttl, duration: 20 * ttl },
  });
  const workload = { ...plan.workload, hold: 8 * ttl };
  return { ...plan, duration: 12 * ttl, workload, faults: [0, 1].map(each) };
}

/**
 * Client 0 holds the lock by servers 1 and 2. The others come one after the other. Each has a vote of server 0, and then
 * another connection to it: its first one by the address of master 1, for which its claim has waited.
 */
export function lateConnectionPlan(seed: number): Plan {
  const [ttl, nodeTimeout] = [1000, 250];
  const retries = { retryCount: 0, retryDelay: 100, retryJitter: 0 };
  const settings = {
    ttl,
    nodeTimeout,
    driftFactor: 0.01,
    automaticExtensionThreshold: 0.7 * ttl,
    ...retries,
  };
  const plan = planWith(seed, { masters: 3, clients: 5, kinds: [], settings });
  const starts = plan.clients.map((_, index) => 2 * index * ttl);
  const each = (startsAt: number, index: number): readonly Fault[] => {
    const clients = [index];
    const cut = { at: 0, kind: "cut", clients, direction: "both" } as const;
    if (index === 0) return [{ ...cut, masters: [0], duration: 10 * ttl, ending: "reset" }];
    const [before, voted] = [startsAt - nodeTimeout, startsAt + nodeTimeout / 4];
    return [
      { ...cut, masters: [1], duration: startsAt + nodeTimeout / 2, ending: "heal" },
      { at: before, kind: "move", clients, masters: [1], to: 0, duration: ttl },
      { at: before, kind: "reset", clients, masters: [1], inFlight: "lost" },
      { at: voted, kind: "move", clients, masters: [0], to: 1, duration: ttl },
      { at: voted, kind: "reset", clients, masters: [0], inFlight: "delivered" },
    ];
  };
  return {
    ...plan,
    duration: 2 * plan.clients.length * ttl,
    clients: plan.clients.map(({ offset }, index) => ({
      offset,
      rate: 0,
      timerLateness: 0,
      startsAt: starts[index]!,
    })),
    network: { ...plan.network, latency: { shape: "constant", ms: ttl / 500 }, reconnectDelay: ttl / 100 },
    workload: { resources: 1, hold: 3 * ttl, think: ttl / 100, styles: { using: 1 } },
    faults: starts.flatMap(each),
  };
}

/** Guarded masters that lose their memory while their clocks are an hour fast. The clocks are set back, and locks are granted again. */
export function fastBootPlan(seed: number): Plan {
  const [ttl, hour] = [1000, 3_600_000];
  const retries = { retryCount: 10, retryDelay: 100, retryJitter: 50 };
  const guard = { restartGuard: { maxTtl: ttl } };
  const settings = { ttl, nodeTimeout: 200, driftFactor: 0.01, automaticExtensionThreshold: 0.7 * ttl };
  const plan = planWith(seed, {
    masters: 3,
    clients: 2,
    kinds: [],
    settings: { ...settings, ...retries, ...guard },
  });
  const masters = [0, 1, 2];
  const step = { kind: "step", clients: [], masters } as const;
  return {
    ...plan,
    duration: 6 * ttl,
    masters: plan.masters.map(({ offset, rate }) => ({ offset, rate, persistence: { mode: "none" } })),
    workload: { resources: 1, hold: ttl / 4, think: ttl / 10, styles: { acquire: 1 } },
    faults: [
      { at: ttl, kind: "crash", masters, how: "process", downFor: 10 },
      { at: ttl, ...step, by: hour },
      { at: 1.5 * ttl, ...step, by: -hour },
    ],
  };
}

/** Two Redlocks in each process, over the same clients of Redis. */
export function sharingPlan(seed: number): Plan {
  const plan = promisedPlan(seed);
  return { ...plan, workload: { ...plan.workload, parallel: 4, redlocks: 2 } };
}

/** Many calls of one process in one turn, and readings of the masters' clocks in their batches. */
export function mixedPlan(seed: number): Plan {
  const plan = watchedPlan(seed);
  return { ...plan, workload: { ...plan.workload, parallel: 6 } };
}
