import type { Plan, ScriptedTask, Style } from "../plan/plan.ts";
import { Random } from "../random.ts";

const rounds = 100;
/** Of resource-3 there are five permits. */
const contended = 3;
const clients = 12;
const masters = 5;
/** From round to round, ms: the slowest of one meet the first of the next. */
const period = 150;

/**
 * Five permits and twelve clients that all ask at the same moment, round after round, over ways that take from 0 to
 * 5 ms for each message: every master has them in another order. In every other round they try once; else they wait
 * until they are let in, every fourth for two permits.
 */
export function roundsPlan(seed: number): Plan {
  const random = new Random(seed, "rounds");
  const driftFactor = 0.01;
  const rate = (): number => Math.round(random.between(-0.49, 0.49) * driftFactor * 1_000_000);
  return {
    version: 1,
    seed,
    duration: rounds * period,
    masters: Array.from({ length: masters }, () => ({
      offset: random.integer(-1000, 1000),
      rate: rate(),
      persistence: { mode: "aof-always" },
    })),
    clients: Array.from({ length: clients }, () => ({
      offset: random.integer(-1000, 1000),
      rate: rate(),
      timerLateness: 0.1,
    })),
    network: { latency: { shape: "uniform", from: 0, to: 5 }, longestLatency: 100, reconnectDelay: 10 },
    settings: {
      ttl: 1000,
      driftFactor,
      retryCount: 10,
      retryDelay: 10,
      retryJitter: 5,
      waitTimeout: 10_000,
      automaticExtensionThreshold: 500,
    },
    workload: {
      resources: contended,
      hold: 10,
      think: 1,
      styles: { acquire: 1, try: 1, extend: 0, using: 0, abandon: 0, abort: 0, several: 1 },
      script: Array.from({ length: clients }, (_, client) => tasksOf(client, random)),
    },
    faults: [],
  };
}

function tasksOf(client: number, random: Random): readonly ScriptedTask[] {
  return Array.from({ length: rounds }, (_, round) => ({
    at: round * period,
    do: styleIn(round, client),
    resource: contended,
    hold: Math.round(random.between(5, 60)),
  }));
}

function styleIn(round: number, client: number): Style {
  if (round % 2 === 0) return "try";
  return (client + round) % 4 === 0 ? "several" : "acquire";
}
