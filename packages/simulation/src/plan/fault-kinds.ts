import type { Process } from "../engine/process.ts";
import type { Master } from "../master/master.ts";
import type { Link, Wire } from "../network/link.ts";
import type { OneWay } from "../network/one-way.ts";
import { type Fault, type FaultFields, type FaultName, type FaultOf, lastingOf } from "./fault.ts";
import type { Scale } from "./fault-fields.ts";

// The table of all kinds of faults: a new one is a row here, and the names of its fields in fault.ts.

/** What a fault needs of the run, besides those whom it strikes. */
export interface Scene {
  readonly masters: readonly Master[];
  /** Whose turn it is. */
  readonly running: unknown;
  later(act: () => void, ms: number): void;
  paused(client: Process): void;
  kill(client: Process): void;
  /** It is sent what was sent last. */
  repeat(client: Process): void;
}

type Struck = Pick<FaultFields, "clients" | "masters">;

/** Those who are struck by a fault that is drawn, of some clients and some masters. */
type Aim = (scale: Scale, some: Struck, isOfClients: boolean) => Struck;

const all: Aim = (_, some) => some;
const oneSide: Aim = (_, some, isOfClients) => ({ ...some, [isOfClients ? "masters" : "clients"]: [] });
const one =
  (who: "clients" | "masters"): Aim =>
  ({ random, [who]: count }, some) => ({ ...some, [who]: [random.integer(0, count - 1)] });
/** Of clients, or of one master, if those may step. */
const ofClocks: Aim = (scale, some, isOfClients) =>
  isOfClients || scale.masterStep === 0
    ? { ...some, masters: [] }
    : { ...one("masters")(scale, some, isOfClients), clients: [] };

/** Calls for each that is struck: the clients, then the masters; or each connection between them. */
interface Kind<F> {
  /** Default: {@link all}. */
  readonly aim?: Aim;
  /** In words that those follow whom it befell. */
  readonly words: (fault: F) => string;
  readonly client?: (client: Process, fault: F, scene: Scene) => void;
  readonly master?: (master: Master, fault: F, scene: Scene) => void;
  readonly link?: (link: Link, fault: F, scene: Scene) => void;
}

const directions = { requests: "requests only", replies: "replies only", both: "both ways" } as const;

const lacking = ({ lag }: { readonly lag: number }): string => `that lacks the last ${ms(lag)}`;

const kinds: { readonly [Name in FaultName]: Kind<FaultOf<Name>> } = {
  freeze: {
    aim: oneSide,
    words: ({ duration }) => `frozen for ${ms(duration)}`,
    client(client, { duration }, scene) {
      scene.paused(client);
      client.freeze(microseconds(duration));
    },
    master: ({ process }, { duration }) => process.freeze(microseconds(duration)),
  },
  suspend: {
    words: ({ duration }) => `suspended for ${ms(duration)}`,
    client: (client, { duration }) => client.suspend(microseconds(duration)),
  },
  stall: {
    words: ({ duration }) => `stalled in the middle of a turn, for ${ms(duration)}`,
    client: stall,
  },
  rate: {
    aim: oneSide,
    words: ({ rate }) => `clock rate ${signed(rate)} ppm`,
    client: (client, { rate }) => client.setRate(rate),
    master: ({ process }, { rate }) => process.setRate(rate),
  },
  step: {
    aim: ofClocks,
    words: ({ by }) => `wall clock set by ${signed(by)} ms`,
    client: (client, { by }) => client.stepWall(by),
    master: (master, { by }) => master.stepWall(by),
  },
  still: {
    aim: one("masters"),
    words: ({ duration }) => `clock stands still for ${ms(duration)}, and is set`,
    master: (master, { duration }, scene) => scene.later(master.stopWall(), duration),
  },
  cut: {
    words: ({ direction, duration, ending }) =>
      `cut off, ${directions[direction]}, for ${ms(duration)}${ending === "reset" ? ", then reset" : ""}`,
    link: cut,
  },
  reset: {
    words: ({ inFlight, late }) =>
      `connections reset, requests on their way ${inFlight}${late ? `, ${ms(late)} late` : ""}`,
    link(link, { of, inFlight, late }) {
      const lateness = late === undefined ? 0 : microseconds(late);
      for (const { connection } of wiresOf(link, of)) connection.reset(inFlight, lateness);
    },
  },
  slow: {
    words: ({ factor, duration }) => `network ${Math.round(factor)} times slower for ${ms(duration)}`,
    link(link, { of, factor, duration }, scene) {
      const ways = waysOf(link, of);
      for (const way of ways) way.slowness = factor;
      scene.later(() => {
        for (const way of ways) way.slowness = 1;
      }, duration);
    },
  },
  move: {
    words: ({ to, duration }) => `addresses lead to master ${to} for ${ms(duration)}`,
    link: move,
  },
  crash: {
    words: ({ how, downFor }) => `${how === "power" ? "lost power" : "crashed"}, down for ${ms(downFor)}`,
    master(master, { how, downFor }, scene) {
      if (!master.isUp) return;
      master.crash(how);
      scene.later(() => master.restart(), downFor);
    },
  },
  flush: { aim: one("masters"), words: () => "emptied (FLUSHALL)", master: (master) => master.flushAll() },
  remove: {
    words: () => "the keys of locks are deleted",
    master(master) {
      if (master.isUp) master.removeLocks();
    },
  },
  evict: {
    words: ({ nth }) => `key number ${nth} is evicted`,
    master: (master, { nth }) => master.evict(nth),
  },
  refuse: {
    words: ({ why, duration }) => `refuses to write (${why}) for ${ms(duration)}`,
    master: (master, { why, duration }, scene) => scene.later(master.refuseWrites(why), duration),
  },
  busy: {
    words: ({ duration }) => `busy (a script runs) for ${ms(duration)}`,
    master: (master, { duration }, scene) => scene.later(master.beBusy(), duration),
  },
  reshard: {
    words: ({ pause, duration }) =>
      `moves the slot of the locks, a key each ${ms(pause)}, for ${ms(duration)}`,
    master: (master, { pause, duration }) => master.moveSlot(microseconds(pause), microseconds(duration)),
  },
  promote: {
    aim: one("masters"),
    words: (fault) =>
      `replaced by a replica ${lacking(fault)}${fault.apart ? `, whose clock is ${signed(fault.apart)} ms apart` : ""}`,
    master(master, { lag, apart = 0 }) {
      master.promoteReplica(microseconds(lag));
      if (apart !== 0) master.stepWall(apart);
    },
  },
  failover: {
    words: (fault) =>
      `replaced by a replica ${lacking(fault)} for ${ms(fault.duration)}` +
      (fault.demoted ? ", and made a replica before it comes back" : ""),
    master: (master, { lag, demoted, duration }, scene) =>
      scene.later(master.failOver(microseconds(lag), demoted), duration),
  },
  resync: {
    aim: one("masters"),
    words: (fault) => `resynchronised from a replica ${lacking(fault)}, and promoted back`,
    master: (master, { lag }) => master.resyncFromReplica(microseconds(lag)),
  },
  reload: {
    aim: one("masters"),
    words: (fault) => `reloads a snapshot ${lacking(fault)}`,
    master: (master, { lag }) => master.reload(microseconds(lag)),
  },
  select: {
    words: ({ duration }) => `switched to another database for ${ms(duration)}`,
    link({ commands: { connection } }, { duration }, scene) {
      connection.select(1);
      scene.later(() => connection.select(0), duration);
    },
  },
  kill: { aim: one("clients"), words: () => "killed", client: (client, _, scene) => scene.kill(client) },
  repeat: {
    aim: one("clients"),
    words: () => "the lock that was sent last is delivered again",
    client: (client, _, scene) => scene.repeat(client),
  },
};

export function kindOf<F extends Fault>({ kind }: F): Kind<F> {
  return kinds[kind] as unknown as Kind<F>;
}

export function aimOf(name: FaultName): Aim {
  return kinds[name].aim ?? all;
}

/** A fault in words, and until when it lasts (true time, us; begun at `at`). `struck` are those that it befell. */
export function describeFault(
  fault: Fault,
  struck: readonly string[],
  at: number,
): { readonly words: string; readonly until: number } {
  return {
    words: `${kindOf(fault).words(fault)}: ${listed(struck)}`,
    until: at + Math.round(lastingOf(fault) * 1000),
  };
}

/** "client-1, masters 0, 2": the deed comes first, as there may be no room for all of them. */
function listed(struck: readonly string[]): string {
  const names = [...new Set(struck.map((name) => name.split("-")[0]!))];
  const groups = names.map((kind) => {
    const its = struck.filter((name) => name.startsWith(kind));
    return its.length === 1
      ? its[0]!
      : `${kind}s ${its.map((name) => name.slice(kind.length + 1)).join(", ")}`;
  });
  return groups.join(", ") || "none";
}

/** (The connection that only listens is made for who asks for it.) */
function wiresOf(link: Link, of?: "commands" | "pushes"): ReadonlyArray<Link["commands" | "pushes"]> {
  return of === undefined ? [link.commands, link.pushes] : [link[of]];
}

export function waysOf(link: Link, of?: "commands" | "pushes"): readonly OneWay[] {
  return wiresOf(link, of).flatMap(({ requests, replies }: Wire) => [requests, replies]);
}

function cut(link: Link, { of, direction, duration, ending }: FaultOf<"cut">, scene: Scene): void {
  const isCut = (index: number): boolean =>
    direction === "both" || (direction === "replies") === (index % 2 === 1);
  const ways = waysOf(link, of).filter((_, index) => isCut(index));
  for (const way of ways) way.cut();
  scene.later(() => {
    if (ending === "reset") for (const { connection } of wiresOf(link, of)) connection.reset("lost");
    for (const way of ways) way.heal();
  }, duration);
}

/** A later move of the same address replaces this one, which then ends nothing. */
function move(link: Link, { to, duration }: FaultOf<"move">, scene: Scene): void {
  const isAway = { at: scene.masters[to]! };
  link.route.away = isAway;
  scene.later(() => {
    if (link.route.away !== isAway) return;
    link.route.away = undefined;
    if (link.commands.connection.isAway) link.commands.connection.reset("lost");
    if (link.pushes.connection.isAway) link.pushes.connection.reset();
  }, duration);
}

/**
 * At once, where it is the client's turn and no reading is named; else at that reading of a clock from now on. A
 * stall that waits already is replaced.
 */
function stall(client: Process, { reading, duration }: FaultOf<"stall">, scene: Scene): void {
  if (reading === undefined && scene.running === client) {
    client.stall(microseconds(duration));
    return;
  }
  let left = reading ?? 1;
  client.onClockRead = () => {
    left -= 1;
    if (left > 0) return;
    client.onClockRead = undefined;
    client.stall(microseconds(duration));
  };
}

export function microseconds(ms: number): number {
  return Math.max(1, Math.round(ms * 1000));
}

function ms(duration: number): string {
  return `${duration.toLocaleString("en", { maximumFractionDigits: 1 })} ms`;
}

function signed(value: number): string {
  return `${value > 0 ? "+" : ""}${value.toLocaleString("en")}`;
}
