import type { WaitTerms } from "../checkers/waits.ts";
import type { Plan } from "../plan/plan.ts";
import { Bounds } from "./bounds.ts";
import { calmFrom } from "./injection.ts";

/** The client's own: how often who waits asks again, ms, and for how many of these its place lasts. */
const heartbeatOf = (ttl: number): number => Math.min(1000, Math.max(250, ttl / 4));
const patienceInHeartbeats = 3;

/** What those who wait can demand of the masters and of each other, by the settings of a plan. */
export function termsOf(plan: Plan): WaitTerms {
  const { settings, workload, clients, network } = plan;
  const { ttl, queue = true, retryDelay, retryJitter } = settings;
  const { nodeTimeout } = new Bounds(settings);
  const patience = patienceInHeartbeats * heartbeatOf(ttl) + nodeTimeout;
  // A dead holder's keys run out, and so do the places of dead waiters behind it. Then the next asks again, or is told.
  const longestIdle = 1.2 * ttl + 2 * patience + 20 * (nodeTimeout + retryDelay + retryJitter);
  const calmAt = Math.max(plan.duration, calmFrom(plan)) + 2 * network.longestLatency;
  const isFair = queue && !clients.some(({ isForeign }) => isForeign);
  const { parallel = 1 } = workload;
  return {
    calmAt: 1000 * calmAt,
    longestIdle: queue ? 1000 * longestIdle : Number.POSITIVE_INFINITY,
    mostOvertaken: isFair ? 2 * clients.length * parallel : Number.POSITIVE_INFINITY,
  };
}
