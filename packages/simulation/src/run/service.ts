import type { FirstGrantTerms } from "../checkers/first-grant.ts";
import type { OrderTerms } from "../checkers/order.ts";
import type { WaitTerms } from "../checkers/waits.ts";
import { knownOf, type Latency } from "../network/latency.ts";
import type { FaultName } from "../plan/fault.ts";
import type { Plan } from "../plan/plan.ts";
import { type CallTerms, callTermsIn } from "./call-terms.ts";
import { calmFrom } from "./injection.ts";

/** As in the client: the heartbeat of a waiter, ms, and the lifetime of its queue entry in heartbeats. */
const heartbeatOf = (ttl: number): number => Math.min(1000, Math.max(250, ttl / 4));
const patienceInHeartbeats = 3;

/** The bounds on waiting that a plan's settings imply. */
export function termsOf(plan: Plan): WaitTerms {
  const { settings, workload, clients, network } = plan;
  const calls = callTermsIn(plan);
  // A master's lost memory is noticed by the first client that asks there, and the master votes again after the
  // quarantine.
  const quarantine = 1.2 * (settings.restartGuard?.maxTtl ?? 0);
  const calmAt = Math.max(plan.duration, calmFrom(plan)) + network.longestLatency + quarantine;
  const isServed = servesAll(plan, calls);
  const { parallel = 1 } = workload;
  // PROTOCOL 2.5: each call that demands more than a lease has comes first once.
  const visits = calls.every(isModest) ? 0 : parallel * clients.length;
  const visited = visits * tripsOfVisit * 2 * knownOf(network.latency).usual;
  const patience = patienceOf(plan, calls);
  // (Of two locks at once, the one with half of the ttl has half of the time-out.)
  const hasTime = (call: CallTerms): boolean =>
    (isModest(call) || leavesTime(plan, call)) && isHeard(call, network.latency);
  return {
    calmAt: 1000 * calmAt,
    maxIdle(call) {
      if (!isServed || !hasTime(call)) return Number.POSITIVE_INFINITY;
      return 1000 * (patience(call) + visited);
    },
    // (Before the backoff it leaves the queues, and its clock may be slow.)
    maxAway: (call) =>
      plan.faults.length > 0 ? 1100 * (longestPauseOf(call) + 2 * call.bounds.nodeTimeout) : 0,
    keepsPlace(call) {
      const { minimumValidity = 0 } = call.settings;
      const isInTime = answersWithin(call.ttl - minimumValidity, network.latency);
      return minimumValidity === 0 || (plan.faults.length === 0 && hasTime(call) && isInTime);
    },
    maxOvertaken: isServed ? 2 * clients.length * parallel : Number.POSITIVE_INFINITY,
  };
}

/**
 * How long a call may wait for a lock that nobody holds, ms. Of what the settings of calls are, its own alone: no call waits for the pauses
 * and time-outs of another one.
 */
function patienceOf(
  { settings: { ttl }, masters }: Plan,
  calls: readonly CallTerms[],
): (call: CallTerms) => number {
  const entryTtl =
    patienceInHeartbeats * heartbeatOf(ttl) + Math.max(...calls.map(({ bounds }) => bounds.nodeTimeout));
  // A dead holder's keys expire, and so do the queue entries of dead waiters behind it. Then the next waiter asks
  // again, or is notified. If a foreign client listens to the inbox of a dead waiter, the waiter counts as alive: it
  // is granted the key as well.
  const listened = masters.some(({ listeners = [] }) => listeners.includes("channels")) ? 1.2 * ttl : 0;
  return (call) => 1.2 * ttl + listened + entryTtl + 4 * (call.bounds.nodeTimeout + longestPauseOf(call));
}

/** The longest backoff of a call, ms. */
function longestPauseOf({ settings: { retryDelay, retryJitter, backoff } }: CallTerms): number {
  return backoff ? backoff.maximum : retryDelay + retryJitter;
}

/** The bounds on the time until a first lock is granted at all. */
export function firstGrantTermsOf(plan: Plan): FirstGrantTerms {
  const { settings, workload, clients, network } = plan;
  const calls = callTermsIn(plan);
  const { latency } = network;
  const slow = latency.shape === "two-peaks" ? Math.max(latency.fast, latency.slow) : knownOf(latency).usual;
  const connecting = network.reconnectDelay + 8 * Math.min(network.longestLatency, slow);
  // (Of the pauses before its calls hardly one is twenty times as long as they are on average.)
  const patience = Math.max(...calls.map(patienceOf(plan, calls))) + connecting + 20 * workload.think;
  const trip = 2 * knownOf(latency).least;
  const obstacle = calls.every(({ bounds }) => bounds.nodeTimeout < trip * (1 - settings.driftFactor))
    ? `no answer comes within a nodeTimeout: each takes ${trip.toFixed(1)} ms at least`
    : undefined;
  const startsAt = clients.map((client) => client.startsAt ?? 0);
  return { patience, obstacle, excuse: excuseOf(plan, calls), startsAt, endsAt: plan.duration };
}

/** Why it may be that no call is ever granted a lock. */
function excuseOf({ settings, clients }: Plan, calls: readonly CallTerms[]): string | undefined {
  if (calls.every((call) => !isModest(call))) return "every call demands more time than a lock has left";
  if (settings.queue === false || clients.some(({ isForeign }) => isForeign))
    return "clients without the queue may split the votes for as long as they like";
  return undefined;
}

/**
 * Foreign clients that ask again and again may split the votes, and come first, for as long as they like. (A client
 * whose messages are delayed for longer than others hold the lock is not served in order either.)
 */
function servesAll({ settings, clients, network: { latency } }: Plan, calls: readonly CallTerms[]): boolean {
  const isAnswered = (call: CallTerms): boolean => {
    const { minimumValidity = 0 } = call.settings;
    const isInTime = minimumValidity === 0 || answersWithin((call.ttl - minimumValidity) / 4, latency);
    return (isInTime || !isModest(call)) && isHeard(call, latency);
  };
  return settings.queue !== false && !clients.some(({ isForeign }) => isForeign) && calls.every(isAnswered);
}

/** Whether masters mostly answer within its time-out. */
function isHeard({ bounds }: CallTerms, latency: Latency): boolean {
  return answersWithin(0.8 * bounds.nodeTimeout, latency);
}

/** Whether a lock may have as much time left as the call demands. */
function isModest({ ttl, settings: { minimumValidity = 0 } }: CallTerms): boolean {
  return minimumValidity < 0.5 * ttl;
}

/** Whether votes that answer a round at once have as much time left as the call demands, though older ones may have less (PROTOCOL 2.5). */
function leavesTime(
  { faults, network: { latency }, settings: { driftFactor } }: Plan,
  { ttl, settings: { minimumValidity = 0 } }: CallTerms,
): boolean {
  const spare = (0.95 - driftFactor) * ttl - minimumValidity - 10;
  return faults.length === 0 && latency.shape === "constant" && answersWithin(spare / tripsOfRound, latency);
}

/** A call that demands more than a lease has: the rest of the turn before, a grant, another round, and the release. */
const tripsOfVisit = 4;

/** All other faults change what clients know of the masters' clocks, or how long messages take. */
const harmless: ReadonlySet<FaultName> = new Set<FaultName>(["kill", "refuse"]);

/** The most round trips of one round: its script is unknown, it votes by `SET`, asks who holds the key, and that script is unknown. */
const tripsOfRound = 4;
/** After how many round trips a refused call stands in the queues: its vote, what it prepares, its entry; both of these by an unknown script. */
const tripsToEnter = tripsOfRound + 2 + 2;
/** How long a busy connection collects commands before it sends them, ms; by a clock that may be slow. */
const collecting = 1.1;
/** How long the client goes by one reading of the masters' clocks, ms. */
const readingAge = 10_000;

/** The order of calls, by the plan. */
export function orderTermsOf(plan: Plan): OrderTerms {
  const { settings, clients, network, faults, masters } = plan;
  const calls = callTermsIn(plan);
  const slowest = knownOf(network.latency).most;
  const isCalm =
    faults.every(({ kind }) => harmless.has(kind)) && clients.every(({ endsAt }) => endsAt === undefined);
  const isKnown = isCalm && Number.isFinite(slowest) && servesAll(plan, calls);
  const lateness = 20 * Math.max(...clients.map(({ timerLateness }) => timerLateness));
  const drift = settings.driftFactor * Math.min(readingAge, 2 * plan.duration);
  const trip = 2 * slowest + collecting;
  // (A call whose round is not answered within its nodeTimeout backs off, and enters the queues after its pause.)
  const isInTime = calls.every(({ bounds }) => tripsOfRound * trip + lateness < 0.8 * bounds.nodeTimeout);
  const isPlain = faults.length === 0 && !settings.restartGuard && masters.every((master) => !master.forbids);
  return {
    // A reading is off by half of its round trip at most; and an earlier one is kept that agrees with it. (A call that cannot wait for it
    // goes by the clock of its client.)
    tolerance:
      isKnown && isInTime ? 1000 * (2 * (4 * slowest + drift) + lateness + 2) : Number.POSITIVE_INFINITY,
    addsSkew: network.latency.shape !== "constant",
    arrival:
      isKnown && isInTime && isPlain ? 1000 * (tripsToEnter * trip + lateness + 2) : Number.POSITIVE_INFINITY,
  };
}

/** How long the few rounds take that follow a wake or a heartbeat, ms; infinite if no bound is known. */
export function hurryIn(latency: Latency, lateness: number): number {
  return 4 * tripsOfRound * (2 * knownOf(latency).most + collecting) + lateness;
}

/** Whether hardly a request and its answer take longer than `time` ms. */
export function answersWithin(time: number, latency: Latency): boolean {
  return 2 * knownOf(latency).usual < time;
}
