import type { Random } from "../random.ts";
import type { ClientPlan, LockSettings, MasterPlan, Plan, Workload } from "./plan.ts";

/** Draws the number of waiters, their frequency and their keys. Every waiter with enough patience is served. */
export function withWaiting(plan: Plan, random: Random): Plan {
  const isPatient = random.chance(0.5);
  return {
    ...plan,
    masters: withListeners(withRights(plan.masters, random), random.stream("listeners")),
    clients: withNewcomers(withForeigners(plan.clients, random), plan, random.stream("newcomers")),
    settings: {
      ...plan.settings,
      ...drawModes(random),
      ...(isPatient ? drawPatience(plan.settings, random) : {}),
    },
    workload: {
      ...plan.workload,
      ...(isPatient ? contended(plan, random) : {}),
      ...drawParallel(random),
      ...drawSeveral(random),
      ...drawPairs(plan, random.stream("pairs")),
    },
  };
}

/** Not every master lets its clients listen, or publish. */
function withRights(masters: readonly MasterPlan[], random: Random): readonly MasterPlan[] {
  if (!random.chance(0.15)) return masters;
  const forbids = random.pick([["SUBSCRIBE"], ["PUBLISH"], ["PUBSUB"], ["SUBSCRIBE", "PUBLISH"]] as const);
  const share = random.pick([0.3, 1]);
  return masters.map((master) => (random.chance(share) ? { ...master, forbids } : master));
}

/** A foreign subscriber on the masters: a monitor, or a bridge to another system. */
function withListeners(masters: readonly MasterPlan[], random: Random): readonly MasterPlan[] {
  if (!random.chance(0.25)) return masters;
  const listeners = random.pick([["pattern"], ["pattern"], ["channels"], ["pattern", "channels"]] as const);
  const share = random.pick([0.3, 1]);
  return masters.map((master) => (random.chance(share) ? { ...master, listeners } : master));
}

/** Some come when others have used the locks for a while, or when all faults are over; with clocks seconds apart. */
function withNewcomers(
  clients: readonly ClientPlan[],
  { duration }: Plan,
  random: Random,
): readonly ClientPlan[] {
  if (!random.chance(0.3)) return clients;
  return clients.map((client) => {
    const offset = Math.round(random.between(-10_000, 10_000));
    if (!random.chance(0.4)) return { ...client, offset };
    return { ...client, offset, startsAt: Math.round(duration * random.between(0, 1.2)) };
  });
}

function withForeigners(clients: readonly ClientPlan[], random: Random): readonly ClientPlan[] {
  if (!random.chance(0.2)) return clients;
  return clients.map((client) => (random.chance(0.4) ? { ...client, isForeign: true } : client));
}

function drawModes(random: Random): Partial<LockSettings> {
  return {
    ...(random.chance(0.1) ? { queue: false } : {}),
    ...(random.chance(0.15) ? { groupCommit: false } : {}),
  };
}

/** A waiter that does nothing but retry makes a run long, and shows nothing. */
function drawPatience({ ttl, retryDelay }: LockSettings, random: Random): Partial<LockSettings> {
  const waitTimeout = Math.round(ttl * random.logUniform(5, 50));
  return { waitTimeout, retryDelay: Math.max(retryDelay, Math.round(waitTimeout / 1000)) };
}

/** Mostly one hot lock, that is not held for long. */
function contended({ settings, workload }: Plan, random: Random): Partial<Workload> {
  return {
    ...(random.chance(0.6) ? { resources: 1 } : {}),
    hold: Math.min(workload.hold, settings.ttl * random.logUniform(0.02, 0.4)),
  };
}

/** Mostly two, as many as there may be. */
function drawSeveral(random: Random): Partial<Workload> {
  return random.chance(0.3) ? { several: Math.round(random.logUniform(2, 50)) } : {};
}

/** In one of eight. */
function drawPairs({ workload: { styles } }: Plan, random: Random): Partial<Workload> {
  return random.chance(1 / 8) ? { styles: { ...styles, pair: 0.2 + random.fraction() } } : {};
}

function drawParallel(random: Random): Partial<Workload> {
  return random.chance(0.35) ? { parallel: random.integer(2, 6) } : {};
}
