import type { LinkFault } from "../links/link-fault.ts";

/** A fault, as data; workers and masters by index, times in ms. */
export type Fault =
  /** The master is killed and restarted with the data on its disk. */
  | { readonly name: "kill-master"; readonly master: number; readonly lasts: number }
  /** SIGSTOP: connections stay open, without answers. */
  | { readonly name: "hang-master"; readonly master: number; readonly lasts: number }
  /** Masters refuse writes: out of memory, without replicas, or read-only. They forget nothing. */
  | {
      readonly name: RefusalName;
      /** The worker that releases to them. */
      readonly worker: number;
      readonly masters: readonly number[];
      readonly lasts: number;
    }
  /** A monitor subscribes to every channel of these masters. */
  | { readonly name: "listener"; readonly masters: readonly number[]; readonly lasts: number }
  /** The address of a master leads to another server, which has taken over from it; then it is back. */
  | { readonly name: "move-master"; readonly master: number; readonly lasts: number }
  /**
   * The same while the former server is silent: it greets the connections that were made to it after clients have
   * connected to the new one, and serves on.
   */
  | { readonly name: "greet-late"; readonly master: number; readonly lasts: number }
  /**
   * A master gets a password, its clients are given it, and all its connections are closed; afterwards it has none
   * again.
   */
  | { readonly name: "rotate-password"; readonly master: number; readonly lasts: number }
  /** The slot of what is locked on the Cluster moves to its other master, a few keys at a time. */
  | { readonly name: "reshard"; readonly lasts: number }
  /** A fault of the links from all workers to one master. */
  | {
      readonly name: LineFaultName;
      readonly master: number;
      readonly fault: LinkFault;
      readonly lasts: number;
    }
  /** One worker's next request to one master is executed, and its reply lost. */
  | {
      readonly name: "reply-lost";
      readonly worker: number;
      readonly master: number;
      readonly lasts: number;
    }
  /** One holder is cut off from most masters; other workers are not. */
  | {
      readonly name: "isolate-worker";
      readonly worker: number;
      readonly masters: readonly number[];
      readonly fault: LinkFault;
      readonly lasts: number;
    }
  /** SIGSTOP of a worker, optionally inside a critical section. */
  | {
      readonly name: "stop-worker";
      readonly worker: number;
      readonly holding: boolean;
      readonly lasts: number;
    }
  /** SIGKILL of a worker, which is replaced. */
  | { readonly name: "kill-worker"; readonly worker: number }
  | UnsafeFault;

/** Faults that the protocol does not survive. */
export type UnsafeFault =
  /** A majority of masters forgets everything: killed, and restarted with nothing. */
  | { readonly name: "amnesia"; readonly masters: readonly number[] }
  | { readonly name: "flush"; readonly masters: readonly number[] }
  /** The wall clocks of a majority of masters are set forward. */
  | { readonly name: "clock-step"; readonly masters: readonly number[]; readonly milliseconds: number }
  /** A holder is stopped for longer than its lease, and then writes without a check. */
  | { readonly name: "careless-writer"; readonly worker: number; readonly lasts: number };

export type RefusalName = "full" | "no-replicas" | "read-only";
export type LineFaultName =
  | "cut"
  | "cut-requests"
  | "cut-replies"
  | "hold-requests"
  | "hold-replies"
  | "slow"
  | "freeze"
  | "reset";
export type FaultName = Fault["name"];
