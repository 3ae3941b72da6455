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

interface OfClients {
  readonly clients: Targets;
}

interface OfMasters {
  readonly masters: Targets;
}

/** Between each of these clients and each of these masters. */
type OfBoth = OfClients & OfMasters;

interface Lasting {
  /** ms */
  readonly duration: number;
}

/** It lacks the last `lag` ms of writes. */
interface Lagging {
  readonly lag: number;
}

/** Which of the two connections between a client and a master; both where it is not said. */
interface OnWire extends OfBoth {
  readonly of?: "commands" | "pushes";
}

/** The properties of each kind of fault, beside its name. */
interface FaultKinds {
  /** A GC pause, a SIGSTOP. Masters hang. */
  readonly freeze: OfBoth & Lasting;
  /** The machine sleeps: its monotonic clock stands still as well. */
  readonly suspend: OfClients & Lasting;
  /**
   * In the middle of a turn: at the `reading`-th reading of a clock from then on. Without a number at once where a
   * trigger finds the client in a turn, else at its next reading.
   */
  readonly stall: OfClients & Lasting & { readonly reading?: number };
  readonly rate: OfBoth & { readonly rate: PartsPerMillion };
  /** The wall clock is set. */
  readonly step: OfBoth & { readonly by: number };
  /** Nothing comes through in this direction; afterwards all of it does, or the connection is reset. */
  readonly cut: OnWire &
    Lasting & { readonly direction: "requests" | "replies" | "both"; readonly ending: "heal" | "reset" };
  /** `late`: additional delay of delivered requests, ms. */
  readonly reset: OnWire & { readonly inFlight: InFlight; readonly late?: number };
  readonly slow: OnWire & Lasting & { readonly factor: number };
  /**
   * For these clients the addresses of `masters` lead to the server of master number `to`: connections that are made from
   * then on reach it, and those that exist stay. Afterwards they lead home, and connections that are elsewhere break.
   */
  readonly move: OfBoth & Lasting & { readonly to: number };
  /** `downFor`: the time that it is down; it comes back with the data that its persistence kept. */
  readonly crash: OfMasters & { readonly how: CrashKind; readonly downFor: number };
  readonly flush: OfMasters;
  /** The keys of all locks are deleted, by hand or by eviction. */
  readonly remove: OfMasters;
  /** Answers, and refuses to write. */
  readonly refuse: OfMasters & Lasting & { readonly why: WriteRefusal };
  /** Answers every command with BUSY, as while a script runs for long: it does not even say which server it is. */
  readonly busy: OfMasters & Lasting;
  /** A Cluster moves the slot of all locks: a key each `pause` ms, and the rest when the time is over. */
  readonly reshard: OfMasters & Lasting & { readonly pause: number };
  /** Replaced at once by a replica. */
  readonly promote: OfMasters & Lagging;
  /**
   * The clients are led to a replica, and then back: the old master has kept its memory. `demoted`: it was a replica for a
   * moment before they come back.
   */
  readonly failover: OfMasters & Lagging & Lasting & { readonly demoted?: boolean };
  /** Resynchronised from a replica, and promoted back: the process stays. */
  readonly resync: OfMasters & Lagging;
  /** Reloads a snapshot: the process stays. */
  readonly reload: OfMasters & Lagging;
  /** Their connections lead to another database, where nothing of the plan is locked; then back to the first. */
  readonly select: OfBoth & Lasting;
  /** The client process ends, whatever it holds. */
  readonly kill: OfClients;
}

export type FaultName = keyof FaultKinds;

export type FaultKind = { [Name in FaultName]: { readonly kind: Name } & FaultKinds[Name] }[FaultName];
