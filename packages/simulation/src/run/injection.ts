import type { Process } from "../engine/process.ts";
import type { Fault, Targets } from "../plan/fault.ts";
import type { Cluster, Link } from "./cluster.ts";

/** Who wants to know of what befalls a client. */
export interface InjectionListener {
  onPause(client: Process): void;
  onKill(client: Process): void;
}

/** Makes the faults of a plan happen, each at its time. */
export function inject(cluster: Cluster, faults: readonly Fault[], listener: InjectionListener): void {
  for (const fault of faults) {
    cluster.kernel.engine.schedule(
      () => {
        cluster.kernel.trace.add(cluster.kernel.now, "fault", JSON.stringify(fault));
        happen(cluster, fault, listener);
      },
      Math.max(1, microseconds(fault.at)),
    );
  }
}

/** When the last of them is over, ms. */
export function calmFrom(faults: readonly Fault[]): number {
  const ends = faults.map((fault) => {
    if ("duration" in fault) return fault.at + fault.duration;
    return fault.kind === "crash" ? fault.at + fault.downFor : fault.at;
  });
  return Math.max(0, ...ends);
}

function happen(cluster: Cluster, fault: Fault, listener: InjectionListener): void {
  switch (fault.kind) {
    case "freeze":
      for (const client of picked(cluster.clients, fault.clients)) listener.onPause(client);
      for (const process of processes(cluster, fault)) process.freeze(microseconds(fault.duration));
      return;
    case "suspend":
      for (const client of picked(cluster.clients, fault.clients))
        client.suspend(microseconds(fault.duration));
      return;
    case "stall":
      for (const client of picked(cluster.clients, fault.clients))
        stallAt(client, fault.reading, fault.duration);
      return;
    case "rate":
      for (const process of processes(cluster, fault)) process.setRate(fault.rate);
      return;
    case "step":
      for (const client of picked(cluster.clients, fault.clients)) client.stepWall(fault.by);
      for (const master of picked(cluster.masters, fault.masters)) master.stepWall(fault.by);
      return;
    case "cut":
    case "reset":
    case "slow":
      for (const link of linksOf(cluster, fault)) disturb(cluster, link, fault);
      return;
    case "kill":
      for (const client of picked(cluster.clients, fault.clients)) {
        client.kill();
        listener.onKill(client);
      }
      return;
    default:
      for (const master of picked(cluster.masters, fault.masters)) harm(cluster, master, fault);
  }
}

type MasterFault = Extract<Fault, { kind: "crash" | "flush" | "promote" }>;
type LinkFault = Extract<Fault, { kind: "cut" | "reset" | "slow" }>;

function harm({ kernel }: Cluster, master: Cluster["masters"][number], fault: MasterFault): void {
  if (fault.kind === "flush") master.flushAll();
  else if (fault.kind === "promote") master.promoteReplica(microseconds(fault.lag));
  else if (master.isUp) {
    master.crash(fault.how);
    kernel.engine.schedule(() => master.restart(), microseconds(fault.downFor));
  }
}

function disturb({ kernel }: Cluster, link: Link, fault: LinkFault): void {
  if (fault.kind === "reset") {
    link.connection.reset(fault.inFlight);
    return;
  }
  const ways = [link.requests, link.replies];
  if (fault.kind === "slow") {
    for (const way of ways) way.slowness = fault.factor;
    kernel.engine.schedule(() => {
      for (const way of ways) way.slowness = 1;
    }, microseconds(fault.duration));
    return;
  }
  const cut = ways.filter(
    (_, index) => fault.direction === "both" || (fault.direction === "replies") === (index === 1),
  );
  for (const way of cut) way.cut();
  kernel.engine.schedule(() => {
    if (fault.ending === "reset") link.connection.reset("lost");
    for (const way of cut) way.heal();
  }, microseconds(fault.duration));
}

/** Stalls at the `reading`-th reading of a clock from now on; a stall that waits already is replaced. */
function stallAt(client: Process, reading: number, duration: number): void {
  let left = reading;
  client.onClockRead = () => {
    left -= 1;
    if (left > 0) return;
    client.onClockRead = undefined;
    client.stall(microseconds(duration));
  };
}

function processes(cluster: Cluster, fault: { clients: Targets; masters: Targets }): readonly Process[] {
  const masters = picked(cluster.masters, fault.masters).map(({ process }) => process);
  return [...picked(cluster.clients, fault.clients), ...masters];
}

function linksOf(cluster: Cluster, fault: { clients: Targets; masters: Targets }): readonly Link[] {
  return picked(cluster.links, fault.clients).flatMap((row) => picked(row, fault.masters));
}

function picked<T>(list: readonly T[], targets: Targets): readonly T[] {
  return targets.map((index) => {
    const item = list[index];
    if (item === undefined) throw new RangeError(`a fault is aimed at number ${index} of ${list.length}`);
    return item;
  });
}

function microseconds(ms: number): number {
  return Math.max(1, Math.round(ms * 1000));
}
