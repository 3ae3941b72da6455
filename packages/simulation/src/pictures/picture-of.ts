import type { TraceValue } from "../engine/trace.ts";
import type { Fault } from "../plan/fault.ts";
import { describeFault } from "../plan/fault-kinds.ts";
import type { ClockPlan } from "../plan/plan.ts";
import { calmFrom } from "../run/injection.ts";
import { ClockTrack } from "./clock-track.ts";
import { holdsPart } from "./holds.ts";
import { keysPart } from "./keys.ts";
import { MessagesDrawing } from "./messages.ts";
import { Numbering } from "./numbering.ts";
import { overlapsOf } from "./overlaps.ts";
import { callsPart, type Part, pausesPart } from "./parts.ts";
import type {
  ClientTrack,
  DrawnFault,
  DrawnViolation,
  Hold,
  MasterTrack,
  Pause,
  Picture,
} from "./picture.ts";
import type { Recording, TraceEvent } from "./recording.ts";

/** Reads a trace from beginning to end and puts each thing where it is drawn. */
export function pictureOf({ plan, outcome, events }: Recording): Picture {
  // A stalled process is ahead of the others in the trace.
  const inOrder = events.toSorted((left, right) => left.at - right.at);
  const [resources, tokens, messages] = [namesIn(inOrder), new Numbering(), new MessagesDrawing()];
  const clients = named(plan.clients, "client", (index, clock) => {
    return { calls: callsPart(), holds: holdsPart(index, clock, resources, tokens) };
  });
  const clientNamed = (name: string): number => clients.get(name)?.index ?? -1;
  const masters = named(plan.masters, "master", (_, clock) => {
    return { keys: keysPart(clock, resources, tokens, clientNamed) };
  });
  // Whether a key has expired, or a lock has ended, depends on later clock changes: clocks come first.
  for (const { at, actor, verb, args } of inOrder) {
    if (verb !== "clocks") continue;
    const [monotonic, wall, rate, isSuspended] = args as readonly [number, number, number, boolean];
    (clients.get(actor) ?? masters.get(actor))?.clock.add({ at, monotonic, wall, rate, isSuspended });
  }
  const faults: DrawnFault[] = [];
  for (const { at, actor, verb, args } of inOrder) {
    if (actor === "fault") faults.push(drawnFault(at, verb, args));
    const [client, master] = [clients.get(actor), masters.get(actor)];
    for (const part of Object.values((client ?? master)?.parts ?? {})) part.see(at, verb, args);
    const [from, to] = master
      ? [clients.get(String(args[0])), master]
      : [client, masters.get(String(args[0]))];
    if (from && to) messages.see(at, verb, from.index, to.index, args.slice(1));
  }
  const until = Math.round(outcome.simulated * 1000);
  const drawnMasters = [...masters.values()].map((master): MasterTrack => {
    return { ...trackOf(master, until), keys: master.parts.keys.finish(until) };
  });
  const drawnClients = [...clients.values()].map((client): ClientTrack => {
    return { ...trackOf(client, until), calls: client.parts.calls.finish(until) };
  });
  const holds = [...clients.values()]
    .flatMap(({ parts }) => parts.holds.finish(until))
    .sort((left, right) => left.from - right.from || left.number - right.number);
  const ofHolds = new Set(holds.map(({ token }) => token));
  const { messages: shown, leftOut } = messages.finish(tokens, ofHolds);
  const violations = drawnViolations(outcome.violations);
  const calm = Math.round(1000 * Math.max(plan.duration, calmFrom(plan)));
  return {
    until,
    calmFrom: calm,
    activeUntil: activeUntil(until, calm, holds, violations),
    ttl: plan.settings.ttl,
    resources: resources.names,
    clients: drawnClients,
    masters: drawnMasters,
    holds,
    overlaps: overlapsOf(holds, (client) => drawnClients[client]?.pauses ?? []),
    violations,
    faults,
    messages: shown,
    messagesLeftOut: leftOut,
    texts: messages.texts,
  };
}

/** By name, whichever is used first. */
function namesIn(events: readonly TraceEvent[]): Numbering {
  const names = new Set(events.flatMap(({ verb, args }) => (verb === "keeps" ? [String(args[0])] : [])));
  const resources = new Numbering();
  for (const name of [...names].sort()) resources.numberOf(name);
  return resources;
}

interface Drawn<Parts> {
  readonly name: string;
  readonly index: number;
  /** Of its wall clock, when the run begins. */
  readonly offset: number;
  readonly clock: ClockTrack;
  readonly parts: Parts & { readonly pauses: Part<Pause> };
}

/** The processes of a kind, by their names. */
function named<Parts>(
  plans: readonly ClockPlan[],
  kind: "client" | "master",
  partsOf: (index: number, clock: ClockTrack) => Parts,
): ReadonlyMap<string, Drawn<Parts>> {
  const drawn = plans.map(({ offset }, index) => {
    const clock = new ClockTrack();
    const parts = { pauses: pausesPart(), ...partsOf(index, clock) };
    return { name: `${kind}-${index}`, index, offset, clock, parts };
  });
  return new Map(drawn.map((one) => [one.name, one]));
}

function trackOf({ name, clock, parts, offset }: Drawn<object>, until: number): Omit<ClientTrack, "calls"> {
  // The reading of an ideal clock at true time 0.
  const epoch = clock.wallAtStart - offset;
  return { name, pauses: parts.pauses.finish(until), clock: clock.stretches(epoch, until) };
}

function drawnFault(at: number, text: string, struck: readonly TraceValue[]): DrawnFault {
  const fault = JSON.parse(text) as Fault;
  const { words, until } = describeFault(fault, struck.map(String), at);
  return { kind: fault.kind, from: at, until, words };
}

/** The kinds that all others lead up to. */
const gravest: readonly string[] = ["belief", "effect", "fencing", "ownership"];

function drawnViolations(violations: Recording["outcome"]["violations"]): DrawnViolation[] {
  const found = new Map<string, DrawnViolation>();
  for (const { kind, at, detail: exact } of violations) {
    const detail = exact.replaceAll(/\d+\.\d{4,}/g, (number) => Number(number).toFixed(3));
    const id = `${kind} ${detail}`;
    // The same is found again at the next look at the lock.
    if (!found.has(id)) found.set(id, { kind, at: Math.round(at * 1000), detail });
  }
  return [...found.values()].sort((left, right) => rank(left) - rank(right) || left.at - right.at);
}

function rank({ kind }: DrawnViolation): number {
  return gravest.includes(kind) ? 0 : 1;
}

/** A little more than what happened. */
function activeUntil(
  until: number,
  calm: number,
  holds: readonly Hold[],
  violations: readonly DrawnViolation[],
): number {
  const beliefs = holds.map(({ beliefs }) => beliefs.at(-1)?.[1] ?? 0);
  const last = [...beliefs, ...violations.map(({ at }) => at)].reduce((late, at) => Math.max(late, at), calm);
  return Math.max(1, Math.min(until, Math.ceil(last * 1.02)));
}
