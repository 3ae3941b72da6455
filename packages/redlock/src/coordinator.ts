import type { CleanUps } from "./clean-ups.ts";
import type { LeaseClock } from "./clock.ts";
import type { NodeError } from "./errors.ts";
import type { Lease } from "./lease.ts";
import type { LockNode } from "./node.ts";
import type { Runtime } from "./runtime.ts";

/** What every step of the protocol works with: the masters, the time, and what this client holds or owes. */
export interface Coordinator {
  readonly nodes: readonly LockNode[];
  readonly quorum: number;
  readonly runtime: Runtime;
  readonly clock: LeaseClock;
  readonly cleanUps: CleanUps;
  /** The holds that stand, for `quit`. */
  readonly leases: Set<Lease>;
  /** Tells the user of a master's fault. */
  report(error: NodeError): void;
}

/** 128 random bits as 32 hexadecimal characters, as redlock 5 writes them (PROTOCOL 2.1). */
export function newToken(runtime: Runtime): string {
  let token = "";
  for (const byte of runtime.randomBytes(16)) token += hexadecimal[byte];
  return token;
}

const hexadecimal = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
