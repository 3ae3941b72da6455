import type { Process } from "../engine/process.ts";
import type { Master } from "../master/master.ts";
import type { AtMoment, Fault, FaultKind, Targets } from "../plan/fault.ts";
import { goneAt, type Plan } from "../plan/plan.ts";
import type { Cluster, Link } from "./cluster.ts";
import type { Place } from "./trigger-points.ts";

/** The interface of an observer of faults that affect a client. */
export interface InjectionListener {
  onPause(client: Process): void;
  onKill(client: Process): void;
  /** A fault has begun; it is over in `duration` ms. */
  onFault(duration: number): void;
  /** Keys were removed from masters. */
  onRemoved?(): void;
}

/** Makes the faults of a plan happen, each at its time or when its trigger fires. */
export function inject(cluster: Cluster, plan: Plan, listener: InjectionListener): void {
  const { faults, duration, clients, settings } = plan;
  clients.forEach(({ endsAt }, index) => {
    if (endsAt === undefined) return;
    const client = cluster.clients[index]!;
    later(cluster, endsAt, () => {
      listener.onFault(goneAt({ endsAt }, settings) - endsAt);
      cutOff(cluster, client);
    });
    later(cluster, goneAt({ endsAt }, settings), () => kill(cluster, client, listener));
  });
  for (const fault of faults) {
    if ("at" in fault) later(cluster, fault.at, () => happen(cluster, fault, undefined, listener));
    else arm(cluster, fault, duration, listener);
  }
}

/** When the last of them is over, ms: a trigger fires at the plan's end at the latest. */
export function calmFrom({ faults, duration }: Pick<Plan, "faults" | "duration">): number {
  const ends = faults.map((fault) => {
    const begin = "at" in fault ? fault.at : duration + (fault.after ?? 0);
    return begin + durationOf(fault);
  });
  return Math.max(0, ...ends);
}

/** ms */
function durationOf(fault: FaultKind): number {
  if ("duration" in fault) return fault.duration;
  return fault.kind === "crash" ? fault.downFor : 0;
}

function arm(cluster: Cluster, fault: Triggered, duration: number, listener: InjectionListener): void {
  const { kernel, triggerPoints } = cluster;
  const { on, occurrence, client, master, after = 0 } = fault;
  const end = microseconds(duration);
  let left = occurrence;
  triggerPoints.on(on, (place) => {
    if (left === 0 || kernel.now >= end) return;
    if (client !== undefined && cluster.clients[client] !== place.client) return;
    if (master !== undefined && cluster.masters[master] !== place.master) return;
    left -= 1;
    if (left > 0) return;
    // A stall is part of the turn in which the moment happens. Any other fault is a separate event, as if it had
    // come at a time: connections are never torn down during a turn.
    if (fault.kind === "stall" && after === 0) happen(cluster, fault, place, listener);
    else later(cluster, after, () => happen(cluster, fault, place, listener));
  });
}

function later({ kernel }: Cluster, delay: number, act: () => void): void {
  kernel.engine.schedule(act, microseconds(delay));
}

/** `place` is where the trigger fired. */
function happen(cluster: Cluster, fault: Fault, place: Place | undefined, listener: InjectionListener): void {
  const clients = clientsOf(cluster, fault, place);
  const masters = mastersOf(cluster, fault, place);
  const processes = [...clients, ...masters.map(({ process }) => process)];
  const struck = processes.map(({ name }) => name);
  // In one order of its fields, whichever file it comes from: the hash is of what happens.
  const text = JSON.stringify(fault, Object.keys(fault).sort());
  cluster.kernel.trace.add(cluster.kernel.now, "fault", text, ...struck);
  listener.onFault(durationOf(fault));
  switch (fault.kind) {
    case "freeze":
      for (const client of clients) listener.onPause(client);
      for (const process of processes) process.freeze(microseconds(fault.duration));
      return;
    case "suspend":
      for (const client of clients) client.suspend(microseconds(fault.duration));
      return;
    case "stall":
      for (const client of clients) stall(cluster, client, fault);
      return;
    case "rate":
      for (const process of processes) process.setRate(fault.rate);
      return;
    case "step":
      for (const client of clients) client.stepWall(fault.by);
      for (const master of masters) master.stepWall(fault.by);
      return;
    case "cut":
    case "reset":
    case "slow":
      for (const link of linksBetween(cluster, clients, masters)) disturb(cluster, link, fault);
      return;
    case "select":
      for (const link of linksBetween(cluster, clients, masters)) select(cluster, link, fault.duration);
      return;
    case "move":
      for (const link of linksBetween(cluster, clients, masters)) move(cluster, link, fault);
      return;
    case "kill":
      for (const client of clients) kill(cluster, client, listener);
      return;
    default:
      for (const master of masters) harm(cluster, master, fault);
      listener.onRemoved?.();
  }
}

/** From all masters, in both directions. */
function cutOff(cluster: Cluster, client: Process): void {
  cluster.kernel.trace.add(cluster.kernel.now, "cut off", client.name);
  for (const { commands, pushes } of linksBetween(cluster, [client], cluster.masters))
    for (const { requests, replies } of [commands, pushes])
      for (const way of [requests, replies]) way.cutForGood();
}

function kill(cluster: Cluster, client: Process, listener: InjectionListener): void {
  client.kill();
  for (const { pushes } of linksBetween(cluster, [client], cluster.masters)) pushes.connection.hangUp();
  listener.onKill(client);
}

type Triggered = AtMoment & FaultKind;
type MasterFault = Extract<
  FaultKind,
  {
    kind:
      | "crash"
      | "flush"
      | "remove"
      | "promote"
      | "failover"
      | "resync"
      | "reload"
      | "refuse"
      | "busy"
      | "reshard";
  }
>;
type MoveFault = Extract<FaultKind, { kind: "move" }>;
type LinkFault = Extract<FaultKind, { kind: "cut" | "reset" | "slow" }>;
type Stall = Extract<FaultKind, { kind: "stall" }>;

function harm({ kernel }: Cluster, master: Master, fault: MasterFault): void {
  if (fault.kind === "flush") master.flushAll();
  else if (fault.kind === "remove") {
    if (master.isUp) master.removeLocks();
  } else if (fault.kind === "promote") master.promoteReplica(microseconds(fault.lag));
  else if (fault.kind === "failover") {
    const failBack = master.failOver(microseconds(fault.lag), fault.demoted);
    kernel.engine.schedule(failBack, microseconds(fault.duration));
  } else if (fault.kind === "resync") master.resyncFromReplica(microseconds(fault.lag));
  else if (fault.kind === "reload") master.reload(microseconds(fault.lag));
  else if (fault.kind === "reshard") master.moveSlot(microseconds(fault.pause), microseconds(fault.duration));
  else if (fault.kind === "busy") kernel.engine.schedule(master.beBusy(), microseconds(fault.duration));
  else if (fault.kind === "refuse")
    kernel.engine.schedule(master.refuseWrites(fault.why), microseconds(fault.duration));
  else if (master.isUp) {
    master.crash(fault.how);
    kernel.engine.schedule(() => master.restart(), microseconds(fault.downFor));
  }
}

function disturb({ kernel }: Cluster, link: Link, fault: LinkFault): void {
  const wires = fault.of === undefined ? [link.commands, link.pushes] : [link[fault.of]];
  if (fault.kind === "reset") {
    const late = fault.late === undefined ? 0 : microseconds(fault.late);
    for (const { connection } of wires) connection.reset(fault.inFlight, late);
    return;
  }
  const ways = wires.flatMap(({ requests, replies }) => [requests, replies]);
  if (fault.kind === "slow") {
    for (const way of ways) way.slowness = fault.factor;
    kernel.engine.schedule(() => {
      for (const way of ways) way.slowness = 1;
    }, microseconds(fault.duration));
    return;
  }
  const cut = ways.filter(
    (_, index) => fault.direction === "both" || (fault.direction === "replies") === (index % 2 === 1),
  );
  for (const way of cut) way.cut();
  kernel.engine.schedule(() => {
    if (fault.ending === "reset") for (const { connection } of wires) connection.reset("lost");
    for (const way of cut) way.heal();
  }, microseconds(fault.duration));
}

/** A later move of the same address replaces this one, which then ends nothing. */
function move({ kernel, masters }: Cluster, link: Link, { to, duration }: MoveFault): void {
  const isAway = { at: masters[to]! };
  link.route.away = isAway;
  kernel.engine.schedule(() => {
    if (link.route.away !== isAway) return;
    link.route.away = undefined;
    if (link.commands.connection.isAway) link.commands.connection.reset("lost");
    if (link.pushes.connection.isAway) link.pushes.connection.reset();
  }, microseconds(duration));
}

/** To another database than that of the plan's locks, and back. */
function select({ kernel }: Cluster, { commands: { connection } }: Link, duration: number): void {
  connection.select(1);
  kernel.engine.schedule(() => connection.select(0), microseconds(duration));
}

/**
 * At once, where it is the client's turn and no reading is named; else at that reading of a clock from now on. A
 * stall that waits already is replaced.
 */
function stall({ kernel }: Cluster, client: Process, { reading, duration }: Stall): void {
  if (reading === undefined && kernel.running === client) {
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

function clientsOf(cluster: Cluster, fault: FaultKind, place: Place | undefined): readonly Process[] {
  const targets = "clients" in fault ? fault.clients : [];
  return targets === "here" ? [there(place?.client)] : picked(cluster.clients, targets);
}

function mastersOf(cluster: Cluster, fault: FaultKind, place: Place | undefined): readonly Master[] {
  const targets = "masters" in fault ? fault.masters : [];
  return targets === "here" ? [there(place?.master)] : picked(cluster.masters, targets);
}

function linksBetween(
  { clients, masters, links }: Cluster,
  ofClients: readonly Process[],
  toMasters: readonly Master[],
): readonly Link[] {
  return ofClients.flatMap((client) => {
    const row = links[clients.indexOf(client)]!;
    return toMasters.map((master) => row[masters.indexOf(master)]!);
  });
}

function picked<T>(list: readonly T[], numbers: Exclude<Targets, "here">): readonly T[] {
  return numbers.map((index) => {
    const item = list[index];
    if (item === undefined) throw new RangeError(`a fault is aimed at number ${index} of ${list.length}`);
    return item;
  });
}

function there<T>(process: T | undefined): T {
  if (process === undefined) throw new RangeError('a fault is aimed "here", where there is none');
  return process;
}

function microseconds(ms: number): number {
  return Math.max(1, Math.round(ms * 1000));
}
