import type { PartsPerMillion } from "../clocks/clocks.ts";
import type { CrashKind } from "../master/durability.ts";
import type { InFlight } from "../network/simulated-connection.ts";

/** Processes by number, from 0. */
export type Targets = readonly number[];

/** Something that goes wrong at a moment, ms of true time from the start. Plain data: a plan replays it. */
export type Fault = { readonly at: number } & FaultKind;

export type FaultKind =
  | PauseFault
  | ClockFault
  | NetworkFault
  /** Down for so long; comes back with what its persistence kept. */
  | { readonly kind: "crash"; readonly masters: Targets; readonly how: CrashKind; readonly downFor: number }
  | { readonly kind: "flush"; readonly masters: Targets }
  /** Replaced at once by a replica that lacks the last `lag` ms of writes. */
  | { readonly kind: "promote"; readonly masters: Targets; readonly lag: number }
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
  /** In the middle of a turn: at the `reading`-th reading of a clock from `at` on. */
  | {
      readonly kind: "stall";
      readonly clients: Targets;
      readonly reading: number;
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

type NetworkFault =
  /** Nothing comes through in this direction; afterwards all of it does, or the connection is reset. */
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
    }
  | {
      readonly kind: "slow";
      readonly clients: Targets;
      readonly masters: Targets;
      readonly factor: number;
      readonly duration: number;
    };

export type FaultName = FaultKind["kind"];
