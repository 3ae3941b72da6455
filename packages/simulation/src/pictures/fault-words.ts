import type { Fault, FaultName } from "../plan/fault.ts";

/** A fault in words, and until when it lasts (true time, us; begun at `at`). `struck` are those that it befell. */
export function describeFault(
  fault: Fault,
  struck: readonly string[],
  at: number,
): { readonly words: string; readonly until: number } {
  const lasting = "duration" in fault ? fault.duration : fault.kind === "crash" ? fault.downFor : 0;
  return {
    words: `${(deeds[fault.kind] as (fault: Fault) => string)(fault)}: ${listed(struck)}`,
    until: at + Math.round(lasting * 1000),
  };
}

type Deeds = { readonly [Name in FaultName]: (fault: Extract<Fault, { kind: Name }>) => string };

const lacking = ({ lag }: { readonly lag: number }): string => `that lacks the last ${ms(lag)}`;

const deeds: Deeds = {
  freeze: ({ duration }) => `frozen for ${ms(duration)}`,
  suspend: ({ duration }) => `suspended for ${ms(duration)}`,
  stall: ({ duration }) => `stalled in the middle of a turn, for ${ms(duration)}`,
  rate: ({ rate }) => `clock rate ${signed(rate)} ppm`,
  step: ({ by }) => `wall clock set by ${signed(by)} ms`,
  cut: ({ direction, duration, ending }) =>
    `cut off, ${directions[direction]}, for ${ms(duration)}${ending === "reset" ? ", then reset" : ""}`,
  reset: ({ inFlight, late }) =>
    `connections reset, requests on their way ${inFlight}${late ? `, ${ms(late)} late` : ""}`,
  slow: ({ factor, duration }) => `network ${Math.round(factor)} times slower for ${ms(duration)}`,
  crash: ({ how, downFor }) => `${how === "power" ? "lost power" : "crashed"}, down for ${ms(downFor)}`,
  flush: () => "emptied (FLUSHALL)",
  remove: () => "the keys of locks are deleted",
  refuse: ({ why, duration }) => `refuses to write (${why}) for ${ms(duration)}`,
  busy: ({ duration }) => `busy (a script runs) for ${ms(duration)}`,
  reshard: ({ pause, duration }) =>
    `moves the slot of the locks, a key each ${ms(pause)}, for ${ms(duration)}`,
  move: ({ to, duration }) => `addresses lead to master ${to} for ${ms(duration)}`,
  promote: (fault) => `replaced by a replica ${lacking(fault)}`,
  failover: (fault) =>
    `replaced by a replica ${lacking(fault)} for ${ms(fault.duration)}` +
    (fault.demoted ? ", and made a replica before it comes back" : ""),
  resync: (fault) => `resynchronised from a replica ${lacking(fault)}, and promoted back`,
  reload: (fault) => `reloads a snapshot ${lacking(fault)}`,
  select: ({ duration }) => `switched to another database for ${ms(duration)}`,
  kill: () => "killed",
};

/** All kinds of faults. */
export const faultNames: readonly FaultName[] = Object.keys(deeds) as FaultName[];

/** "client-1, masters 0, 2": the deed comes first, as there may be no room for all of them. */
function listed(struck: readonly string[]): string {
  const kinds = [...new Set(struck.map((name) => name.split("-")[0]!))];
  const groups = kinds.map((kind) => {
    const names = struck.filter((name) => name.startsWith(kind));
    const numbers = names.map((name) => name.slice(kind.length + 1));
    return names.length === 1 ? names[0]! : `${kind}s ${numbers.join(", ")}`;
  });
  return groups.join(", ") || "none";
}

const directions = { requests: "requests only", replies: "replies only", both: "both ways" } as const;

function ms(duration: number): string {
  return `${duration.toLocaleString("en", { maximumFractionDigits: 1 })} ms`;
}

function signed(value: number): string {
  return `${value > 0 ? "+" : ""}${value.toLocaleString("en")}`;
}
