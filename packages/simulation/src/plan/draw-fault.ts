import type { Random } from "../random.ts";
import {
  type AtMoment,
  type Fault,
  type FaultKind,
  type FaultName,
  faultFields,
  type Moment,
  moments,
  type Targets,
} from "./fault.ts";
import { fields, type Scale } from "./fault-fields.ts";
import { aimOf } from "./fault-kinds.ts";

/** Of all faults: those that wait for a moment instead of a time. */
const shareOfTriggers = 0.3;

/** One fault, of any kind that there is. */
export function drawFault(scale: Scale): Fault {
  const { random, duration, kinds } = scale;
  const kind = random.pick(kinds);
  if (random.chance(shareOfTriggers)) return drawTriggered(scale, kind);
  return { at: Math.round(random.between(0, duration)), ...drawKind(scale, kind) };
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
  const isOfClients = random.chance(0.5);
  const drawn = { duration, ...aimOf(kind)(scale, { clients, masters }, isOfClients) };
  for (const name of faultFields[kind]) {
    const value = fields[name].draw?.(scale, drawn);
    if (value !== undefined) Object.assign(drawn, { [name]: value });
  }
  const its = Object.entries(drawn).filter(([name]) =>
    (faultFields[kind] as readonly string[]).includes(name),
  );
  return { kind, ...Object.fromEntries(its) } as FaultKind;
}

/** One, a minority, a majority or all. */
function someOf(random: Random, count: number): Targets {
  const minority = Math.max(1, Math.floor((count - 1) / 2));
  const size = random.pick([1, 1, minority, Math.floor(count / 2) + 1, count]);
  const pool = Array.from({ length: count }, (_, index) => index);
  while (pool.length > size) pool.splice(random.integer(0, pool.length - 1), 1);
  return pool;
}
