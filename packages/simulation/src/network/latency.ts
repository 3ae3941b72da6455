import type { Random } from "../random.ts";

/** How long one message is on its way, one way, ms. */
export type Latency =
  | { readonly shape: "constant"; readonly ms: number }
  | { readonly shape: "uniform"; readonly from: number; readonly to: number }
  /** The shape that is typical of networks: a median, and a tail to the right. */
  | { readonly shape: "log-normal"; readonly median: number; readonly sigma: number }
  /** Mostly fast, sometimes slow: a retransmission, a busy switch. */
  | { readonly shape: "two-peaks"; readonly fast: number; readonly slow: number; readonly slowShare: number };

/** A latency in whole us. */
export function drawLatency(latency: Latency, random: Random): number {
  return Math.max(1, Math.round(1000 * milliseconds(latency, random)));
}

function milliseconds(latency: Latency, random: Random): number {
  switch (latency.shape) {
    case "constant":
      return latency.ms;
    case "uniform":
      return random.between(latency.from, latency.to);
    case "log-normal":
      return random.logNormal(latency.median, latency.sigma);
    case "two-peaks":
      return random.exponential(random.chance(latency.slowShare) ? latency.slow : latency.fast);
  }
}

const typical = { constant: "ms", uniform: "from", "log-normal": "median", "two-peaks": "fast" } as const;

/** Of most messages, ms. */
export function typicalOf(latency: Latency): number {
  return (latency as unknown as Record<string, number>)[typical[latency.shape]]!;
}
