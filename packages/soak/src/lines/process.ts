import { type Direction, type Proxy as Line, startProxy } from "@quorlock/testbed";
import { parentOf } from "../processes/remote.ts";
import type { LineFault } from "./line-fault.ts";

// The process of the lines: it carries everything that passes between workers and masters, so that nothing of that
// keeps the conductor from striking, stamping and counting on time.

export interface LinesSide {
  /** Lays a line to each of the masters for each of the workers; the ports, worker by worker. */
  lay(masters: ReadonlyArray<{ host: string; port: number }>, workers: number): Promise<number[][]>;
  strike(worker: number, master: number, fault: LineFault): void;
  heal(worker: number, master: number): Promise<void>;
  /** From now on all new connections to a master go there. */
  pointTo(master: number, target: { host: string; port: number }): void;
}

let lines: Line[][] = [];
const bothDirections: readonly Direction[] = ["requests", "replies"];

parentOf<Record<string, never>, LinesSide>({
  async lay(masters, workers) {
    const sets = Array.from({ length: workers }, () => Promise.all(masters.map(startProxy)));
    lines = await Promise.all(sets);
    return lines.map((set) => set.map(({ port }) => port));
  },
  strike(worker, master, fault) {
    strike(lines[worker]![master]!, fault);
  },
  pointTo(master, target) {
    for (const set of lines) set[master]!.pointTo(target);
  },
  heal(worker, master) {
    return lines[worker]![master]!.heal();
  },
});

function strike(line: Line, fault: LineFault): void {
  switch (fault.kind) {
    case "reset":
      line.reset();
      break;
    case "freeze":
      line.freeze();
      break;
    case "reply-lost":
      // Called off where no request comes before the line is healed.
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
