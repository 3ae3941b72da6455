import type { Random } from "../random.ts";
import type { CallSettings, LockSettings, Plan, Workload } from "./plan.ts";

/**
 * Draws callers that differ: many in each process, each call with its own settings, and lists of resources that overlap. Each
 * call has to keep to its own settings, and all are served in the order in which they were called.
 */
export function withCallers(plan: Plan, random: Random): Plan {
  if (!random.chance(0.35)) return plan;
  const head = random.stream("head");
  if (head.chance(0.15)) return withHeadOfLine(plan, head, false);
  if (head.chance(0.15)) return withHeadOfLine(plan, head, true);
  const { settings, workload } = plan;
  const isCrowded = random.chance(0.3);
  const nearby = random.chance(0.6);
  return {
    ...plan,
    // (Where clocks are seconds apart, order can be checked among calls of one process alone.)
    masters: nearby
      ? plan.masters.map((master) => ({ ...master, offset: random.integer(-5, 5) }))
      : plan.masters,
    // A crowd is as many calls as a few that come again and again, in less time.
    duration: isCrowded ? Math.round(plan.duration / 3) : plan.duration,
    clients: isCrowded ? plan.clients.slice(0, 3) : plan.clients,
    faults: isCrowded || random.chance(0.4) ? [] : plan.faults,
    settings: { ...settings, ...(random.chance(0.4) ? { acquireConcurrency: random.integer(1, 6) } : {}) },
    workload: {
      ...workload,
      parallel: isCrowded ? random.integer(17, 24) : random.integer(2, 6),
      hold: Math.min(workload.hold, settings.ttl * (isCrowded ? 0.02 : 0.1)),
      calls: Array.from({ length: random.integer(2, 4) }, () => drawCall(settings, random)),
      ...(random.chance(0.6) ? { lists: drawLists(workload, random) } : {}),
    },
  };
}

/**
 * A few calls in each process for one lock, and no faults. Some demand more than a lease has, and back off each time they are first: for
 * long, and the lock is free then, and calls behind them in their process have it at once; or if they are `hasty` so shortly that they
 * are back before others had their turn.
 */
function withHeadOfLine(plan: Plan, random: Random, hasty: boolean): Plan {
  const { settings, workload, clients } = plan;
  const { ttl, driftFactor } = settings;
  const nodeTimeout = Math.max(2, Math.round(ttl * 0.1));
  const long = Math.round(4000 + ttl * random.between(4, 8));
  const pauses = { nodeTimeout, retryJitter: 1, waitTimeout: 2 * long };
  const minimumValidity = unreachable(ttl, driftFactor);
  return {
    ...plan,
    masters: plan.masters.map(({ offset, rate, persistence }) => ({ offset, rate, persistence })),
    clients: clients.slice(0, 2).map(({ offset, rate, timerLateness }) => ({ offset, rate, timerLateness })),
    network: {
      ...plan.network,
      latency: { shape: "constant", ms: random.logUniform(0.02, 0.2) * nodeTimeout },
    },
    faults: [],
    settings: { ...settings, queue: true },
    workload: {
      ...workload,
      resources: 1,
      parallel: hasty ? random.integer(6, 10) : random.integer(2, 4),
      hold: Math.min(workload.hold, ttl * 0.1),
      think: Math.min(workload.think, ttl * 0.1),
      styles: { acquire: 1, using: random.fraction() },
      calls: [
        { ...pauses, minimumValidity, retryDelay: hasty ? 1 : long },
        { ...pauses, retryDelay: random.integer(1, 20) },
      ],
    },
  };
}

/** No lock has that much left. */
function unreachable(ttl: number, driftFactor: number): number {
  return Math.max(1, Math.floor(ttl * (1 - driftFactor)) - 6);
}

function drawCall(settings: LockSettings, random: Random): CallSettings {
  const isSlow = random.chance(0.3);
  const ttl = Math.ceil(settings.ttl * (isSlow ? 1 : random.pick([1, random.between(0.3, 1)])));
  // (The client takes none that is not well below the ttl.)
  const nodeTimeout = ttl * (isSlow ? random.between(0.4, 0.75) : random.between(0.05, 0.24));
  const long = Math.round(settings.ttl * random.logUniform(0.5, 10));
  const call: CallSettings = {
    ttl,
    nodeTimeout: Math.max(1, Math.floor(nodeTimeout)),
    ...drawValidity(ttl, settings.driftFactor, random),
  };
  const delay = Math.round(random.chance(0.3) ? long : random.logUniform(1, 200));
  const pauses = random.chance(0.3)
    ? { backoff: drawBackoff(delay, random) }
    : { retryDelay: delay, retryJitter: Math.round(random.logUniform(1, 100)) };
  const waitTimeout = Math.round(settings.ttl * random.logUniform(0.5, 20));
  return random.chance(0.7)
    ? { ...call, ...pauses, waitTimeout }
    : { ...call, ...pauses, retryCount: random.integer(0, 8) };
}

/** Of one in ten so much that no lock has it: such a call backs off again and again, and delays nobody. */
function drawValidity(ttl: number, driftFactor: number, random: Random): Partial<CallSettings> {
  if (random.chance(0.1)) return { minimumValidity: unreachable(ttl, driftFactor) };
  return random.chance(0.3) ? { minimumValidity: Math.round(ttl * random.between(0, 0.4)) } : {};
}

function drawBackoff(delay: number, random: Random) {
  const backoff = { initial: Math.max(1, delay), maximum: Math.max(1, 4 * delay) };
  return random.chance(0.1) ? { ...backoff, throwsFrom: random.integer(1, 3) } : backoff;
}

/** Lists of neighbours: some of one resource, some that overlap without being equal. */
function drawLists({ resources }: Workload, random: Random): readonly (readonly number[])[] {
  // (There is always one resource more than the workload uses singly.)
  const lists = [[0], [0, 1]];
  for (let count = random.integer(0, 3); count > 0; count -= 1) {
    const first = random.integer(0, resources - 1);
    lists.push(random.chance(0.4) ? [first] : random.chance(0.5) ? [first, first + 1] : [first + 1, first]);
  }
  return lists;
}
