import type { WaitTerms } from "../checkers/waits.ts";
import type { Latency } from "../network/latency.ts";
import type { Plan } from "../plan/plan.ts";
import { Bounds } from "./bounds.ts";
import { calmFrom } from "./injection.ts";

/** As in the client: the heartbeat of a waiter, ms, and the lifetime of its queue entry in heartbeats. */
const heartbeatOf = (ttl: number): number => Math.min(1000, Math.max(250, ttl / 4));
const patienceInHeartbeats = 3;

/** The bounds on waiting that a plan's settings imply. */
export function termsOf(plan: Plan): WaitTerms {
  const { settings, workload, clients, masters, network } = plan;
  const { ttl, queue = true, retryDelay, retryJitter } = settings;
  const { nodeTimeout } = new Bounds(settings);
  const entryTtl = patienceInHeartbeats * heartbeatOf(ttl) + nodeTimeout;
  // A dead holder's keys expire, and so do the queue entries of dead waiters behind it. Then the next waiter asks
  // again, or is notified. If a foreign client listens to the inbox of a dead waiter, the waiter counts as alive: it
  // is granted the key as well.
  const listened = masters.some(({ listeners = [] }) => listeners.includes("channels")) ? 1.2 * ttl : 0;
  const maxIdle = 1.2 * ttl + listened + entryTtl + 4 * (nodeTimeout + retryDelay + retryJitter);
  // A master's lost memory is noticed by the first client that asks there, and the master votes again after the
  // quarantine.
  const quarantine = 1.2 * (settings.restartGuard?.maxTtl ?? 0);
  const calmAt = Math.max(plan.duration, calmFrom(plan)) + network.longestLatency + quarantine;
  // Foreign clients that ask again and again may split the votes, and come first, for as long as they like.
  // (A client whose messages are delayed for longer than others hold the lock is not served in order either.)
  const isServed =
    queue && answersWithin(0.8 * nodeTimeout, network.latency) && !clients.some(({ isForeign }) => isForeign);
  const { parallel = 1 } = workload;
  return {
    calmAt: 1000 * calmAt,
    maxIdle: isServed ? 1000 * maxIdle : Number.POSITIVE_INFINITY,
    maxOvertaken: isServed ? 2 * clients.length * parallel : Number.POSITIVE_INFINITY,
  };
}

/** Whether hardly a request and its answer take longer than `time` ms. */
export function answersWithin(time: number, latency: Latency): boolean {
  return 2 * slowOf(latency) < time;
}

/** A latency that hardly any message exceeds, ms. */
function slowOf(latency: Latency): number {
  switch (latency.shape) {
    case "constant":
      return latency.ms;
    case "uniform":
      return latency.to;
    case "log-normal":
      return latency.median * Math.exp(2.5 * latency.sigma);
    case "two-peaks":
      return Number.POSITIVE_INFINITY;
  }
}
