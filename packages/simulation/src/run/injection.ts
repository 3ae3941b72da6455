import type { Process } from "../engine/process.ts";
import type { Master } from "../master/master.ts";
import type { Link } from "../network/link.ts";
import { type AtMoment, type Fault, type FaultKind, lastingOf, type Targets } from "../plan/fault.ts";
import { kindOf, microseconds, type Scene, waysOf } from "../plan/fault-kinds.ts";
import { goneAt, type Plan } from "../plan/plan.ts";
import type { Cluster } from "./cluster.ts";
import type { Place } from "./trigger-points.ts";

/** Makes the faults of a plan happen, each at its time or when its trigger fires. */
export function inject(cluster: Cluster): void {
  const { faults, clients, settings } = cluster.plan;
  clients.forEach(({ endsAt }, index) => {
    if (endsAt === undefined) return;
    const client = cluster.clients[index]!;
    later(cluster, endsAt, () => {
      cluster.see({ is: "fault", lasting: goneAt({ endsAt }, settings) - endsAt });
      cutOff(cluster, client);
    });
    later(cluster, goneAt({ endsAt }, settings), () => kill(cluster, client));
  });
  for (const fault of faults) {
    if ("at" in fault) later(cluster, fault.at, () => happen(cluster, fault, undefined));
    else arm(cluster, fault);
  }
}

/** When the last of them is over, ms: a trigger fires at the plan's end at the latest. */
export function calmFrom({ faults, duration }: Pick<Plan, "faults" | "duration">): number {
  const ends = faults.map((fault) => {
    const begin = "at" in fault ? fault.at : duration + (fault.after ?? 0);
    return begin + lastingOf(fault);
  });
  return Math.max(0, ...ends);
}

function arm(cluster: Cluster, fault: Triggered): void {
  const { kernel, triggerPoints, plan } = cluster;
  const { on, occurrence, client, master, after = 0 } = fault;
  const end = microseconds(plan.duration);
  let left = occurrence;
  triggerPoints.on(on, (place) => {
    if (left === 0 || kernel.now >= end) return;
    if (client !== undefined && cluster.clients[client] !== place.client) return;
    if (master !== undefined && cluster.masters[master] !== place.master) return;
    left -= 1;
    if (left > 0) return;
    // A stall is part of the turn in which the moment happens. Any other fault is a separate event, as if it had
    // come at a time: connections are never torn down during a turn.
    if (fault.kind === "stall" && after === 0) happen(cluster, fault, place);
    else later(cluster, after, () => happen(cluster, fault, place));
  });
}

function later({ kernel }: Cluster, delay: number, act: () => void): void {
  kernel.engine.schedule(act, microseconds(delay));
}

/** `place` is where the trigger fired. */
function happen(cluster: Cluster, fault: Fault, place: Place | undefined): void {
  const clients = clientsOf(cluster, fault, place);
  const masters = mastersOf(cluster, fault, place);
  const processes = [...clients, ...masters.map(({ process }) => process)];
  const struck = processes.map(({ name }) => name);
  // In one order of its fields, whichever file it comes from: the hash is of what happens.
  const text = JSON.stringify(fault, Object.keys(fault).sort());
  cluster.kernel.trace.add(cluster.kernel.now, "fault", text, ...struck);
  cluster.see({ is: "fault", lasting: lastingOf(fault) });
  strike(cluster, fault, clients, masters);
  if (!("clients" in fault)) cluster.see({ is: "harmed" });
}

function strike(
  cluster: Cluster,
  fault: Fault,
  clients: readonly Process[],
  masters: readonly Master[],
): void {
  const kind = kindOf(fault);
  const scene: Scene = {
    masters: cluster.masters,
    running: cluster.kernel.running,
    later: (act, ms) => later(cluster, ms, act),
    paused: (client) => cluster.see({ is: "paused", client }),
    kill: (client) => kill(cluster, client),
    repeat: (client) => cluster.see({ is: "repeated", client }),
  };
  if (kind.link) for (const link of linksBetween(cluster, clients, masters)) kind.link(link, fault, scene);
  for (const client of clients) kind.client?.(client, fault, scene);
  for (const master of masters) kind.master?.(master, fault, scene);
}

/** From all masters, in both directions. */
function cutOff(cluster: Cluster, client: Process): void {
  cluster.kernel.trace.add(cluster.kernel.now, "cut off", client.name);
  for (const way of linksBetween(cluster, [client], cluster.masters).flatMap((link) => waysOf(link)))
    way.cutForGood();
}

function kill(cluster: Cluster, client: Process): void {
  client.kill();
  for (const { pushes } of linksBetween(cluster, [client], cluster.masters)) pushes.connection.hangUp();
  cluster.see({ is: "killed", client });
}

type Triggered = AtMoment & FaultKind;

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
