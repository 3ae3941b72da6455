import type { PartsPerMillion } from "../clocks/clocks.ts";
import type { CrashKind } from "../master/durability.ts";
import type { WriteRefusal } from "../master/write-refusal.ts";
import type { InFlight } from "../network/simulated-connection.ts";

/** Processes by number, from 0; or, of a fault with a trigger, the one the moment happened to. */
export type Targets = readonly number[] | "here";

/** Something that goes wrong: when, and what. Plain data, so a plan replays it. */
export type Fault = When & FaultKind;

export type When = AtTime | AtMoment;

interface AtTime {
  /** True time from the start, ms. */
  readonly at: number;
}

/** A trigger. It fires once, and never after the plan's `duration`: then faults are to be over. */
export interface AtMoment {
  readonly on: Moment;
  /** At which of the moments that fit, from 1. */
  readonly occurrence: number;
  /** Only moments of this client, or at this master. */
  readonly client?: number;
  readonly master?: number;
  /** Delay after the moment, ms. Default 0. */
  readonly after?: number;
}

/**
 * A point in a run, as clients reach it:
 *
 * - `vote sent`, `extension sent`, `release sent`: a client has sent one to one master. A rollback is a release.
 * - `vote applied`: a master has given its vote, and its reply is not on its way yet.
 * - `granted`: a client's code has its lock.
 * - `write`: a holder has checked its lock, and is about to write to the resource.
 * - `enrolled`: a master has refused a client, which waits in its queue from now on.
 * - `handed over`: a master has granted a key to a waiter.
 * - `push sent`, `push heard`: a master has notified a client of a grant; the client has received it.
 */
export type Moment = (typeof moments)[number];

export const moments = [
  "vote sent",
  "vote applied",
  "granted",
  "write",
  "extension sent",
  "release sent",
  "enrolled",
  "handed over",
  "push sent",
  "push heard",
] as const;

/** Which of the two connections between a client and a master. */
type WireName = "commands" | "pushes";

/** What a plan says of faults, by the name of the field: those of each kind are in {@link faultFields}. */
export interface FaultFields {
  readonly clients: Targets;
  readonly masters: Targets;
  /** How long it lasts, ms. */
  readonly duration: number;
  /** A stall comes at the `reading`-th reading of a clock from then on. */
  readonly reading?: number;
  readonly rate: PartsPerMillion;
  /** ms */
  readonly by: number;
  readonly direction: "requests" | "replies" | "both";
  readonly ending: "heal" | "reset";
  /** Both where it is not said. */
  readonly of?: WireName;
  readonly inFlight: InFlight;
  /** Additional delay of delivered requests, ms. */
  readonly late?: number;
  readonly factor: number;
  /** Addresses lead to the server of this master. */
  readonly to: number;
  readonly how: CrashKind;
  /** The time that it is down, ms. */
  readonly downFor: number;
  readonly why: WriteRefusal;
  /** ms */
  readonly pause: number;
  /** A replica lacks the last `lag` ms of writes. */
  readonly lag: number;
  /** It was a replica for a moment before the clients come back. */
  readonly demoted?: boolean;
  /** Of the keys of a master in their order, counted around. */
  readonly nth: number;
  /** The clock of a replica shows so much more than that of its master, ms. Default 0. */
  readonly apart?: number;
}

/** All kinds of faults, with their fields beside the name. Where both have targets and it is about connections, it is between each of these. */
export const faultFields = {
  /** A GC pause, a SIGSTOP. Masters hang. */
  freeze: ["clients", "masters", "duration"],
  /** The machine sleeps: its monotonic clock stands still as well. */
  suspend: ["clients", "duration"],
  /** In the middle of a turn: without a `reading` at once where a trigger finds the client in a turn, else at its next reading of a clock. */
  stall: ["clients", "reading", "duration"],
  rate: ["clients", "masters", "rate"],
  /** The wall clock is set. */
  step: ["clients", "masters", "by"],
  /** The wall clock of a master stands still, and is then set to the time that it is. */
  still: ["masters", "duration"],
  /** Nothing comes through in this direction; afterwards all of it does, or the connection is reset. */
  cut: ["clients", "masters", "direction", "duration", "ending", "of"],
  reset: ["clients", "masters", "inFlight", "late", "of"],
  slow: ["clients", "masters", "factor", "duration", "of"],
  /**
   * For these clients the addresses of `masters` lead to the server of master number `to`: connections that are made from
   * then on reach it, and those that exist stay. Afterwards they lead home, and connections that are elsewhere break.
   */
  move: ["clients", "masters", "to", "duration"],
  /** It comes back with the data that its persistence kept. */
  crash: ["masters", "how", "downFor"],
  flush: ["masters"],
  /** The keys of all locks are deleted, by hand or by eviction. */
  remove: ["masters"],
  /** One key is deleted, whatever it is for: a vote, a queue or an entry in it, a fencing counter. */
  evict: ["masters", "nth"],
  /** Answers, and refuses to write. */
  refuse: ["masters", "why", "duration"],
  /** Answers every command with BUSY, as while a script runs for long: it does not even say which server it is. */
  busy: ["masters", "duration"],
  /** A Cluster moves the slot of all locks: a key each `pause` ms, and the rest when the time is over. */
  reshard: ["masters", "pause", "duration"],
  /** Replaced at once by a replica. */
  promote: ["masters", "lag", "apart"],
  /** The clients are led to a replica, and then back: the old master has kept its memory. */
  failover: ["masters", "lag", "duration", "demoted"],
  /** Resynchronised from a replica, and promoted back: the process stays. */
  resync: ["masters", "lag"],
  /** Reloads a snapshot: the process stays. */
  reload: ["masters", "lag"],
  /** Their connections lead to another database, where nothing of the plan is locked; then back to the first. */
  select: ["clients", "masters", "duration"],
  /** The client process ends, whatever it holds. */
  kill: ["clients"],
  /** The detached lock that was sent last comes to these as well, as from a queue that delivers at least once. */
  repeat: ["clients"],
} as const;

export type FaultName = keyof typeof faultFields;

export const faultNames: readonly FaultName[] = Object.keys(faultFields) as FaultName[];

/** A fault of one kind. */
export type FaultOf<Name extends FaultName> = { readonly kind: Name } & Pick<
  FaultFields,
  (typeof faultFields)[Name][number]
>;

export type FaultKind = { [Name in FaultName]: FaultOf<Name> }[FaultName];

/** How long it lasts, ms. */
export function lastingOf(fault: FaultKind): number {
  if ("duration" in fault) return fault.duration;
  return fault.kind === "crash" ? fault.downFor : 0;
}
