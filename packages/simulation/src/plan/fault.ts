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

export type FaultKind =
  | PauseFault
  | ClockFault
  | NetworkFault
  | MoveFault
  /** The time that it is down; it comes back with the data that its persistence kept. */
  | { readonly kind: "crash"; readonly masters: Targets; readonly how: CrashKind; readonly downFor: number }
  | { readonly kind: "flush"; readonly masters: Targets }
  /** Answers, and refuses to write. */
  | {
      readonly kind: "refuse";
      readonly masters: Targets;
      readonly why: WriteRefusal;
      readonly duration: number;
    }
  /** Answers every command with BUSY, as while a script runs for long: it does not even say which server it is. */
  | { readonly kind: "busy"; readonly masters: Targets; readonly duration: number }
  /** A Cluster moves the slot of all locks: a key each `pause` ms, and the rest when the time is over. */
  | {
      readonly kind: "reshard";
      readonly masters: Targets;
      readonly pause: number;
      readonly duration: number;
    }
  /** Replaced at once by a replica that lacks the last `lag` ms of writes. */
  | { readonly kind: "promote"; readonly masters: Targets; readonly lag: number }
  /**
   * The clients are led to a replica that lacks the last `lag` ms of writes, and then back: the old master has kept its memory.
   * `demoted`: it was a replica for a moment before they come back.
   */
  | {
      readonly kind: "failover";
      readonly masters: Targets;
      readonly lag: number;
      readonly duration: number;
      readonly demoted?: boolean;
    }
  /** Resynchronised from a replica that lacks the last `lag` ms of writes, and promoted back: the process stays. */
  | { readonly kind: "resync"; readonly masters: Targets; readonly lag: number }
  /** Reloads a snapshot that lacks the last `lag` ms of writes: the process stays. */
  | { readonly kind: "reload"; readonly masters: Targets; readonly lag: number }
  /** Their connections lead to another database, where nothing of the plan is locked; then back to the first. */
  | {
      readonly kind: "select";
      readonly clients: Targets;
      readonly masters: Targets;
      readonly duration: number;
    }
  /** The client process ends, whatever it holds. */
  | { readonly kind: "kill"; readonly clients: Targets };

type PauseFault =
  /** A GC pause, a SIGSTOP. Masters hang. */
  | {
      readonly kind: "freeze";
      readonly clients: Targets;
      readonly masters: Targets;
      readonly duration: number;
    }
  /** The machine sleeps: its monotonic clock stands still as well. */
  | { readonly kind: "suspend"; readonly clients: Targets; readonly duration: number }
  /**
   * In the middle of a turn: at the `reading`-th reading of a clock from then on. Without a number at once where a
   * trigger finds the client in a turn, else at its next reading.
   */
  | {
      readonly kind: "stall";
      readonly clients: Targets;
      readonly reading?: number;
      readonly duration: number;
    };

type ClockFault =
  | {
      readonly kind: "rate";
      readonly clients: Targets;
      readonly masters: Targets;
      readonly rate: PartsPerMillion;
    }
  /** The wall clock is set. */
  | { readonly kind: "step"; readonly clients: Targets; readonly masters: Targets; readonly by: number };

/** Which of the two connections between a client and a master; both where it is not said. */
interface OnWire {
  readonly of?: "commands" | "pushes";
}

type NetworkFault = OnWire &
  /** Nothing comes through in this direction; afterwards all of it does, or the connection is reset. */
  (
    | {
        readonly kind: "cut";
        readonly clients: Targets;
        readonly masters: Targets;
        readonly direction: "requests" | "replies" | "both";
        readonly duration: number;
        readonly ending: "heal" | "reset";
      }
    | {
        readonly kind: "reset";
        readonly clients: Targets;
        readonly masters: Targets;
        readonly inFlight: InFlight;
        /** Additional delay of delivered requests, ms. */
        readonly late?: number;
      }
    | {
        readonly kind: "slow";
        readonly clients: Targets;
        readonly masters: Targets;
        readonly factor: number;
        readonly duration: number;
      }
  );

/**
 * For these clients the addresses of `masters` lead to the server of master number `to`: connections that are made from
 * then on reach it, and those that exist stay. Afterwards they lead home, and connections that are elsewhere break.
 */
interface MoveFault {
  readonly kind: "move";
  readonly clients: Targets;
  readonly masters: Targets;
  readonly to: number;
  readonly duration: number;
}

export type FaultName = FaultKind["kind"];
