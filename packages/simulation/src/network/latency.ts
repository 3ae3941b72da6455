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

/** The bounds of the messages of a network, ms. */
interface Known {
  /** Most take about this. */
  readonly typical: number;
  /** None takes less. */
  readonly least: number;
  /** Hardly any takes more; infinite where many do. */
  readonly usual: number;
  /** None takes more. */
  readonly most: number;
}

export function knownOf(latency: Latency): Known {
  const most = Number.POSITIVE_INFINITY;
  switch (latency.shape) {
    case "constant":
      return { typical: latency.ms, least: latency.ms, usual: latency.ms, most: latency.ms };
    case "uniform":
      return { typical: latency.from, least: latency.from, usual: latency.to, most: latency.to };
    case "log-normal": {
      const { median, sigma } = latency;
      return { typical: median, least: 0, usual: median * Math.exp(2.5 * sigma), most };
    }
    case "two-peaks": {
      const { fast, slow } = latency;
      return { typical: fast, least: Math.min(fast, slow), usual: most, most };
    }
  }
}
