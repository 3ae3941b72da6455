import { parentOf } from "@quorlock/simulation/processes";
import { type Direction, type Proxy as Line, type ProxyTarget, startProxy } from "@quorlock/testbed";
import type { LinkFault } from "./link-fault.ts";

// The process of the links: it forwards all traffic between workers and masters, so that this work does not delay the
// main process, which injects faults and records times.

export interface LinksSide {
  /** Opens a link from each worker to each master. Returns the addresses, worker by worker. */
  lay(masters: readonly ProxyTarget[], workers: number): Promise<string[][]>;
  inject(worker: number, master: number, fault: LinkFault): void;
  heal(worker: number, master: number): Promise<void>;
  /** From now on all new connections to a master go there. */
  pointTo(master: number, target: { host: string; port: number }): void;
}

let links: Line[][] = [];
const bothDirections: readonly Direction[] = ["requests", "replies"];

parentOf<Record<string, never>, LinksSide>({
  async lay(masters, workers) {
    const sets = Array.from({ length: workers }, () => Promise.all(masters.map(startProxy)));
    links = await Promise.all(sets);
    return links.map((set) => set.map(({ url }) => url));
  },
  inject(worker, master, fault) {
    inject(links[worker]![master]!, fault);
  },
  pointTo(master, target) {
    for (const set of links) set[master]!.pointTo(target);
  },
  heal(worker, master) {
    return links[worker]![master]!.heal();
  },
});

function inject(line: Line, fault: LinkFault): void {
  switch (fault.kind) {
    case "reset":
      line.reset();
      break;
    case "freeze":
      line.freeze();
      break;
    case "reply-lost":
      // Cancelled if no request comes before the fault ends.
      line.resetAfterRequest().catch(() => {});
      break;
    default:
      for (const direction of fault.direction ? [fault.direction] : bothDirections) {
        if (fault.kind === "hold") line.hold(direction);
        else if (fault.kind === "slow") line.delay(fault.milliseconds, direction);
        else if (direction === "requests") line.dropRequests();
        else line.dropReplies();
      }
  }
}
