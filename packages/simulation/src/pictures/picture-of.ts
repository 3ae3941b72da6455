import type { Fault } from "../plan/fault.ts";
import { describeFault } from "../plan/fault-kinds.ts";
import type { Plan } from "../plan/plan.ts";
import { calmFrom } from "../run/injection.ts";
import { CallsDrawing, PausesDrawing } from "./calls-and-pauses.ts";
import { ClockTrack } from "./clock-track.ts";
import { HoldsDrawing } from "./holds.ts";
import { KeysDrawing } from "./keys.ts";
import { MessagesDrawing } from "./messages.ts";
import { Numbering } from "./numbering.ts";
import { overlapsOf } from "./overlaps.ts";
import type { ClientTrack, DrawnFault, DrawnViolation, Hold, MasterTrack, Picture } from "./picture.ts";
import type { Recording, TraceEvent } from "./recording.ts";

/** Reads a trace from beginning to end and puts each thing where it is drawn. */
export function pictureOf({ plan, outcome, events }: Recording): Picture {
  const drawing = new Drawing(plan);
  // A stalled process is ahead of the others in the trace.
  const inOrder = events.toSorted((left, right) => left.at - right.at);
  // Whether a key has expired, or a lock has ended, depends on later clock changes: clocks come first.
  for (const event of inOrder) drawing.setClock(event);
  drawing.nameResources(inOrder);
  for (const event of inOrder) drawing.see(event);
  return drawing.finish(outcome);
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

interface Client {
  readonly name: string;
  readonly index: number;
  readonly clock: ClockTrack;
  readonly pauses: PausesDrawing;
  readonly calls: CallsDrawing;
}

interface Master {
  readonly name: string;
  readonly index: number;
  readonly clock: ClockTrack;
  readonly pauses: PausesDrawing;
  readonly keys: KeysDrawing;
}

class Drawing {
  readonly #plan: Plan;
  readonly #resources = new Numbering();
  readonly #tokens = new Numbering();
  readonly #messages = new MessagesDrawing();
  readonly #clients: ReadonlyMap<string, Client>;
  readonly #masters: ReadonlyMap<string, Master>;
  readonly #holds: HoldsDrawing;
  readonly #faults: DrawnFault[] = [];

  constructor(plan: Plan) {
    this.#plan = plan;
    this.#clients = new Map(
      plan.clients.map((_, index) => {
        const name = `client-${index}`;
        const drawings = { pauses: new PausesDrawing(), calls: new CallsDrawing() };
        return [name, { name, index, clock: new ClockTrack(), ...drawings }];
      }),
    );
    this.#masters = new Map(
      plan.masters.map((_, index) => {
        const name = `master-${index}`;
        const clock = new ClockTrack();
        const clientNamed = (client: string): number => this.#clients.get(client)?.index ?? -1;
        const keys = new KeysDrawing(clock, this.#resources, this.#tokens, clientNamed);
        return [name, { name, index, clock, pauses: new PausesDrawing(), keys }];
      }),
    );
    this.#holds = new HoldsDrawing(
      this.#resources,
      [...this.#clients.values()].map(({ clock }) => clock),
    );
  }

  setClock({ at, actor, verb, args }: TraceEvent): void {
    if (verb !== "clocks") return;
    const [monotonic, wall, rate, isSuspended] = args as readonly [number, number, number, boolean];
    const { clock } = this.#clients.get(actor) ?? this.#masters.get(actor) ?? {};
    clock?.add({ at, monotonic, wall, rate, isSuspended });
  }

  /** By name, whichever is used first. */
  nameResources(events: readonly TraceEvent[]): void {
    const names = new Set(events.flatMap(({ verb, args }) => (verb === "keeps" ? [String(args[0])] : [])));
    for (const name of [...names].sort()) this.#resources.numberOf(name);
  }

  see(event: TraceEvent): void {
    const { at, actor, verb, args } = event;
    const client = this.#clients.get(actor);
    const master = this.#masters.get(actor);
    if (actor === "fault") this.#seeFault(event);
    else if (client) {
      client.pauses.see(at, verb, args);
      client.calls.see(at, verb, args);
      this.#holds.see(at, client.index, verb, args);
      this.#seeWire(event, client);
    } else if (master) {
      master.pauses.see(at, verb, args);
      master.keys.see(at, verb, args);
      const [sender, ...rest] = args;
      const from = this.#clients.get(String(sender));
      if (verb === "runs" && from) this.#messages.run(at, from.index, master.index, rest);
    }
  }

  finish({ simulated, violations }: Recording["outcome"]): Picture {
    const until = Math.round(simulated * 1000);
    const masters = [...this.#masters.values()].map(
      (master): MasterTrack => ({ ...this.#track(master, until), keys: master.keys.finish(until) }),
    );
    const clients = [...this.#clients.values()].map(
      (client): ClientTrack => ({ ...this.#track(client, until), calls: client.calls.finish(until) }),
    );
    const holds = this.#holds.finish(until, this.#tokens);
    const { messages, leftOut } = this.#messages.finish(
      this.#tokens,
      new Set(holds.map(({ token }) => token)),
    );
    const drawn = drawnViolations(violations);
    const calm = Math.round(1000 * Math.max(this.#plan.duration, calmFrom(this.#plan)));
    return {
      until,
      calmFrom: calm,
      activeUntil: activeUntil(until, calm, holds, drawn),
      ttl: this.#plan.settings.ttl,
      resources: this.#resources.names,
      clients,
      masters,
      holds,
      overlaps: overlapsOf(holds, (client) => clients[client]?.pauses ?? []),
      violations: drawn,
      faults: this.#faults,
      messages,
      messagesLeftOut: leftOut,
      texts: this.#messages.texts,
    };
  }

  #track({ name, clock, pauses, index }: Client | Master, until: number): Omit<ClientTrack, "calls"> {
    const { clients, masters } = this.#plan;
    const planned = name.startsWith("client") ? clients[index] : masters[index];
    // The reading of an ideal clock at true time 0.
    const epoch = clock.wallAtStart - (planned?.offset ?? 0);
    return { name, pauses: pauses.finish(until), clock: clock.stretches(epoch, until) };
  }

  #seeWire({ at, verb, args: [other, ...rest] }: TraceEvent, { index }: Client): void {
    const master = this.#masters.get(String(other));
    if (!master) return;
    if (verb === "sends") this.#messages.send(at, index, master.index, rest);
    else if (verb === "hears") this.#messages.hear(at, index, master.index, rest);
    else if (verb === "loses") this.#messages.lose(at, index, master.index);
  }

  #seeFault({ at, verb, args }: TraceEvent): void {
    const fault = JSON.parse(verb) as Fault;
    const { words, until } = describeFault(fault, args.map(String), at);
    this.#faults.push({ kind: fault.kind, from: at, until, words });
  }
}
