import { writeRefusals } from "../master/write-refusal.ts";
import type { InFlight } from "../network/simulated-connection.ts";
import type { Random } from "../random.ts";
import {
  type AtMoment,
  type Fault,
  type FaultKind,
  type FaultName,
  type Moment,
  moments,
  type Targets,
} from "./fault.ts";

/** Of all faults: those that wait for a moment instead of a time. */
const shareOfTriggers = 0.3;

/** The properties of a run that faults depend on. */
export interface Scale {
  readonly random: Random;
  readonly masters: number;
  readonly clients: number;
  readonly ttl: number;
  readonly duration: number;
  /** Bound of every clock's rate, ppm. */
  readonly rate: number;
  /** Whether that very bound, or a perfect clock, is drawn more often than anything between. */
  readonly hasExtremeRates: boolean;
  /** Bound of the steps of a master's wall clock, ms; 0 where it does not step. */
  readonly masterStep: number;
  /** The kinds of faults that there are at all. */
  readonly kinds: readonly FaultName[];
}

/** One fault, of any kind that there is. */
export function drawFault(scale: Scale): Fault {
  const { random, duration, kinds } = scale;
  const kind = random.pick(kinds);
  if (random.chance(shareOfTriggers)) return drawTriggered(scale, kind);
  return { at: Math.round(random.between(0, duration)), ...drawKind(scale, kind) };
}

/** The rate of a clock. */
export function drawRate({ random, rate, hasExtremeRates }: Scale): number {
  const between = random.between(-rate, rate);
  return Math.round(hasExtremeRates ? random.pick([0, -rate, rate, between]) : between);
}

/** At a moment of the run, and mostly where it happens: a random time seldom hits the gap between two messages. */
function drawTriggered(scale: Scale, kind: FaultName): Fault {
  const { random, ttl } = scale;
  // Not promised: that a holder paused between its check and its write does not write (PROTOCOL 1.12).
  const on = random.pick(moments.filter((moment) => kind !== "stall" || moment !== "write"));
  const when: AtMoment = {
    on,
    occurrence: Math.round(random.logUniform(1, 30)),
    ...(random.chance(0.3) ? { client: random.integer(0, scale.clients - 1) } : {}),
    ...(random.chance(0.3) ? { after: Math.round(ttl * random.logUniform(0.001, 1)) } : {}),
  };
  const what = drawKind(scale, kind);
  const isHere = random.chance(0.7);
  if (!isHere) return { ...when, ...what };
  // In the very turn, not at some later reading of a clock.
  if (what.kind === "stall") return { ...when, kind: "stall", clients: "here", duration: what.duration };
  return { ...when, ...aimedHere(what, on) };
}

/** The same fault, at whom the moment happens to. Only what goes over the wire has a master. */
function aimedHere(fault: FaultKind, on: Moment): FaultKind {
  const hasMaster = on !== "granted" && on !== "write";
  return {
    ...fault,
    ...("clients" in fault && fault.clients.length > 0 ? { clients: "here" } : {}),
    ...("masters" in fault && fault.masters.length > 0 && hasMaster ? { masters: "here" } : {}),
  };
}

function drawKind(scale: Scale, kind: FaultName): FaultKind {
  const { random, ttl } = scale;
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
      return { kind, clients: oneSide, masters: otherSide, rate: drawRate(scale) };
    case "step":
      return scale.masterStep > 0 && otherSide.length > 0
        ? { kind, clients: [], masters: [oneOf(random, scale.masters)], by: drawMasterStep(scale) }
        : { kind, clients, masters: [], by: drawStep(scale) };
    case "cut":
      return {
        kind,
        clients,
        masters,
        direction: random.pick(["requests", "replies", "both"]),
        duration,
        ending: random.pick(["heal", "reset"]),
        ...drawWire(random),
      };
    case "reset":
      return { kind, clients, masters, ...drawInFlight(scale), ...drawWire(random) };
    case "slow":
      return { kind, clients, masters, factor: random.logUniform(2, 100), duration, ...drawWire(random) };
    case "crash":
      return { kind, masters, how: random.pick(["process", "power"]), downFor: duration };
    case "flush":
      return { kind, masters: [oneOf(random, scale.masters)] };
    case "remove":
      return { kind, masters };
    case "refuse":
      return { kind, masters, why: random.pick(writeRefusals), duration };
    case "reshard":
      return {
        kind,
        masters,
        pause: ttl * random.logUniform(0.001, 0.1),
        duration: ttl * random.logUniform(0.02, 1),
      };
    case "busy":
      return { kind, masters, duration };
    case "move":
      return { kind, clients, masters, to: random.integer(0, scale.masters - 1), duration };
    case "failover":
      return { kind, masters, lag: drawLag(scale), duration, demoted: true };
    case "promote":
    case "resync":
    case "reload":
      return { kind, masters: [oneOf(random, scale.masters)], lag: drawLag(scale) };
    case "select":
      return { kind, clients, masters, duration };
    case "kill":
      return { kind, clients: [oneOf(random, scale.clients)] };
  }
}

function drawLag({ random, ttl }: Scale): number {
  return Math.round(random.logUniform(1, ttl));
}

function drawInFlight({ random, ttl }: Scale): { inFlight: InFlight; late?: number } {
  if (random.chance(0.4)) return { inFlight: "lost" };
  const late = Math.ceil(ttl * random.logUniform(0.005, 1));
  return { inFlight: "delivered", ...(random.chance(0.6) ? { late } : {}) };
}

/** Mostly both: a way that is cut is cut for all that takes it. */
function drawWire(random: Random): { of?: "commands" | "pushes" } {
  return random.chance(0.7) ? {} : { of: random.chance(0.8) ? "pushes" : "commands" };
}

/**
 * In either direction; but only forward if machines are suspended as well. A suspension and a step back without a
 * reading of the clocks between them cancel out, and no client can notice (see "Limits" in the README).
 */
function drawStep({ random, ttl, kinds }: Scale): number {
  const direction = kinds.includes("suspend") ? 1 : drawSign(random);
  return direction * Math.round(random.logUniform(1, 10 * ttl));
}

function drawMasterStep({ random, masterStep }: Scale): number {
  return drawSign(random) * Math.ceil(random.logUniform(masterStep / 100, masterStep));
}

function drawSign(random: Random): number {
  return random.pick([-1, 1]);
}

function oneOf(random: Random, count: number): number {
  return random.integer(0, count - 1);
}

/** One, a minority, a majority or all. */
function someOf(random: Random, count: number): Targets {
  const minority = Math.max(1, Math.floor((count - 1) / 2));
  const size = random.pick([1, 1, minority, Math.floor(count / 2) + 1, count]);
  const pool = Array.from({ length: count }, (_, index) => index);
  while (pool.length > size) pool.splice(random.integer(0, pool.length - 1), 1);
  return pool;
}
