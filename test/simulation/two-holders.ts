import type { Plan } from "@quorlock/simulation";

/**
 * A run for the tests: three of five masters' clocks are 5 % fast under a drift factor of 1 %, so their keys expire
 * while the first client still observes that it holds, and the second is granted the lock. The first is also frozen
 * once, and a master crashes. Waiters retry every few milliseconds instead of queueing, so that messages are
 * everywhere.
 */
export const twoHolders: Plan = {
  version: 1,
  seed: 1,
  duration: 3000,
  masters: [50_000, 50_000, 50_000, 0, 0].map((rate, index) => ({
    offset: index * 20,
    rate,
    persistence: { mode: "aof-always" },
  })),
  clients: [0, 0, 0].map((offset) => ({ offset, rate: 0, timerLateness: 0 })),
  network: { latency: { shape: "constant", ms: 2 }, longestLatency: 100, reconnectDelay: 20 },
  settings: {
    ttl: 1000,
    driftFactor: 0.01,
    nodeTimeout: 50,
    retryCount: 100,
    retryDelay: 5,
    retryJitter: 2,
    queue: false,
    automaticExtensionThreshold: 300,
  },
  workload: {
    resources: 2,
    hold: 100,
    think: 100,
    styles: { acquire: 1, try: 0, extend: 0, using: 0, abandon: 0, abort: 0, several: 0 },
    script: [
      [{ at: 50, do: "abandon", resource: 0, hold: 900, looks: 6 }],
      [{ at: 900, do: "acquire", resource: 0, hold: 400 }],
      [{ at: 300, do: "acquire", resource: 1, hold: 500 }],
    ],
  },
  faults: [
    { at: 400, kind: "freeze", clients: [0], masters: [], duration: 120 },
    { at: 1500, kind: "crash", masters: [4], how: "power", downFor: 500 },
    { at: 1700, kind: "step", clients: [], masters: [2, 3], by: -200 },
    { at: 2200, kind: "suspend", clients: [2], duration: 300 },
  ],
};
