import type { Picture } from "../pictures/picture.ts";

/** How the calls of a run waited for its locks. */
export interface WaitsOfRun {
  /** Calls that were granted a lock. */
  readonly granted: number;
  /** The longest wait of them, ms. */
  readonly longest: number;
  /** The largest number of later calls that were served before one of them. */
  readonly overtaken: number;
}

/** From a call to its hold; what came after the workload is left out. */
export function waitsIn({ clients, holds, calmFrom }: Picture): WaitsOfRun {
  const waits = holds.flatMap(({ client, from }) => {
    const call = clients[client]!.calls.find(([begun, until]) => begun <= from && from <= until);
    return call && from < calmFrom ? [{ begun: call[0], from }] : [];
  });
  const overtaking = ({ begun, from }: (typeof waits)[number]): number =>
    waits.filter((other) => other.begun > begun && other.from < from).length;
  return {
    granted: waits.length,
    longest: Math.max(0, ...waits.map(({ begun, from }) => from - begun)) / 1000,
    overtaken: Math.max(0, ...waits.map(overtaking)),
  };
}
