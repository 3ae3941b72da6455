import type { Latency } from "../network/latency.ts";
import { Random } from "../random.ts";
import type { Fault, FaultKind, FaultName, Targets } from "./fault.ts";
import {
  type ClientPlan,
  type LockSettings,
  type MasterPlan,
  type Plan,
  type Style,
  styles,
} from "./plan.ts";

// Swarm testing: each seed draws its whole configuration, and leaves some kinds of faults out altogether. A run
// with every fault on hardly ever reaches the states that need one fault to stay away.

/** What may go wrong without breaking the promise of PROTOCOL.md 1. */
const promisedFaults: readonly FaultName[] = [
  "freeze",
  "suspend",
  "stall",
  "rate",
  "step",
  "cut",
  "reset",
  "slow",
  "crash",
  "kill",
];

/** Of the drift factor: how much of it the clocks of a plan inside the promise use up at most, on either side. */
const shareOfDrift = 0.49;

interface Scale {
  readonly random: Random;
  readonly masters: number;
  readonly clients: number;
  readonly ttl: number;
  readonly duration: number;
  /** Bound of every clock's rate, ppm. */
  readonly rate: number;
  /** The kinds of faults that this seed has at all. */
  readonly kinds: readonly FaultName[];
}

/** The plan of a seed, inside the promised model: whatever it does, nothing may be violated. */
export function promisedPlan(seed: number): Plan {
  const random = new Random(seed, "plan");
  const settings = drawSettings(random);
  const scale: Scale = {
    random,
    masters: random.pick([1, 2, 3, 3, 3, 4, 5, 5, 5, 7]),
    clients: random.integer(2, 6),
    ttl: settings.ttl,
    duration: Math.round(random.between(4, 12) * settings.ttl),
    rate: settings.driftFactor * 1_000_000 * shareOfDrift,
    kinds: promisedFaults.filter(() => random.chance(0.5)),
  };
  return {
    version: 1,
    seed,
    duration: scale.duration,
    masters: Array.from({ length: scale.masters }, () => drawMaster(scale)),
    clients: Array.from({ length: scale.clients }, () => drawClient(scale)),
    network: {
      latency: drawLatencyShape(random, settings),
      longestLatency: 2 * settings.ttl,
      reconnectDelay: random.integer(1, 200),
    },
    settings,
    workload: drawWorkload(scale),
    faults: drawFaults(scale),
  };
}

function drawSettings(random: Random): LockSettings {
  const ttl = Math.round(random.logUniform(60, 10_000));
  const nodeTimeout = Math.max(1, Math.round(ttl * random.between(0.02, 0.24)));
  return {
    ttl,
    driftFactor: random.pick([0.01, 0.01, 0.02, 0.05]),
    ...(random.chance(0.5) ? { nodeTimeout } : {}),
    retryCount: random.integer(0, 10),
    retryDelay: Math.round(random.logUniform(1, 200)),
    retryJitter: Math.round(random.logUniform(1, 100)),
    ...(random.chance(0.5) ? { waitTimeout: Math.round(random.between(0, 3) * ttl) } : {}),
    automaticExtensionThreshold: Math.round(ttl * random.between(0.1, 0.9)),
  };
}

function drawMaster({ random, rate }: Scale): MasterPlan {
  // Votes survive a crash only where every write is on disk before it is answered.
  return { ...drawClock(random, rate), persistence: { mode: "aof-always" } };
}

function drawClient({ random, rate }: Scale): ClientPlan {
  return { ...drawClock(random, rate), timerLateness: random.pick([0, 0.1, 0.5, 2]) };
}

/** Ideal, at either end of what is promised, or anywhere between. */
function drawClock(random: Random, rate: number): { offset: number; rate: number } {
  const offset = random.chance(0.3) ? 0 : Math.round(random.between(-100_000, 100_000));
  return { offset, rate: drawRate(random, rate) };
}

function drawRate(random: Random, bound: number): number {
  return Math.round(random.pick([0, -bound, bound, random.between(-bound, bound)]));
}

function drawLatencyShape(random: Random, { ttl, nodeTimeout }: LockSettings): Latency {
  const typical = random.logUniform(0.05, (nodeTimeout ?? ttl / 20) * 0.7);
  switch (random.integer(0, 3)) {
    case 0:
      return { shape: "constant", ms: typical };
    case 1:
      return { shape: "uniform", from: typical / 4, to: typical * 2 };
    case 2:
      return { shape: "log-normal", median: typical, sigma: random.between(0.2, 1.2) };
    default:
      return { shape: "two-peaks", fast: typical, slow: ttl * random.between(0.05, 0.6), slowShare: 0.05 };
  }
}

function drawWorkload({ random, ttl }: Scale): Plan["workload"] {
  const weights = styles.map((style): [Style, number] => [style, random.chance(0.6) ? random.fraction() : 0]);
  if (weights.every(([, weight]) => weight === 0)) weights[0]![1] = 1;
  return {
    resources: random.integer(1, 3),
    hold: ttl * random.logUniform(0.02, 1.5),
    think: ttl * random.logUniform(0.005, 0.5),
    styles: Object.fromEntries(weights) as Record<Style, number>,
  };
}

function drawFaults(scale: Scale): readonly Fault[] {
  const { random, duration, kinds } = scale;
  if (kinds.length === 0) return [];
  const count = random.integer(0, 24);
  const faults = Array.from({ length: count }, (): Fault => {
    const at = Math.round(random.between(0, duration));
    return { at, ...drawFault(scale, random.pick(kinds)) };
  });
  return faults.sort((left, right) => left.at - right.at);
}

function drawFault(scale: Scale, kind: FaultName): FaultKind {
  const { random, ttl, rate } = scale;
  const clients = someOf(random, scale.clients);
  const masters = someOf(random, scale.masters);
  const duration = Math.max(1, Math.round(ttl * random.logUniform(0.01, 2)));
  // One side at a time: of a clock, and of a pause.
  const [oneSide, otherSide] = random.chance(0.5) ? [clients, []] : [[], masters];
  switch (kind) {
    case "freeze":
      return { kind, clients: oneSide, masters: otherSide, duration };
    case "suspend":
      return { kind, clients, duration };
    case "stall":
      return { kind, clients, reading: random.integer(1, 40), duration };
    case "rate":
      return { kind, clients: oneSide, masters: otherSide, rate: drawRate(random, rate) };
    case "step":
      return { kind, clients, masters: [], by: drawStep(scale) };
    case "cut":
      return {
        kind,
        clients,
        masters,
        direction: random.pick(["requests", "replies", "both"]),
        duration,
        ending: random.pick(["heal", "reset"]),
      };
    case "reset":
      return { kind, clients, masters, inFlight: random.pick(["lost", "delivered"]) };
    case "slow":
      return { kind, clients, masters, factor: random.logUniform(2, 100), duration };
    case "crash":
      return { kind, masters, how: random.pick(["process", "power"]), downFor: duration };
    case "flush":
      return { kind, masters };
    case "promote":
      return { kind, masters, lag: Math.round(random.logUniform(1, ttl)) };
    case "kill":
      return { kind, clients: [random.integer(0, scale.clients - 1)] };
  }
}

/**
 * Either way; but only forward where machines are suspended as well. A suspension and a step back that no reading
 * of the clocks comes between cancel out, and no client can tell (see "Limits" in the README).
 */
function drawStep({ random, ttl, kinds }: Scale): number {
  const direction = kinds.includes("suspend") ? 1 : random.pick([-1, 1]);
  return direction * Math.round(random.logUniform(1, 10 * ttl));
}

/** One, a minority, a majority or all. */
function someOf(random: Random, count: number): Targets {
  const minority = Math.max(1, Math.floor((count - 1) / 2));
  const size = random.pick([1, 1, minority, Math.floor(count / 2) + 1, count]);
  const pool = Array.from({ length: count }, (_, index) => index);
  while (pool.length > size) pool.splice(random.integer(0, pool.length - 1), 1);
  return pool;
}
