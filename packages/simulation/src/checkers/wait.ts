import type { Process } from "../engine/process.ts";
import type { Queued } from "../run/subject.ts";

/** A call that asks for locks and waits until they are free. */
export interface Wait {
  /** In the order of the calls. */
  readonly number: number;
  readonly process: Process;
  readonly resources: readonly string[];
  readonly queued: Queued;
  readonly ttl: number;
  /** True time, us. */
  readonly begunAt: number;
  /** Maximum time that a lock may be free without faults while it waits for it, by its own settings, us. */
  readonly maxIdle: number;
  /** From when on it stands in the queues: backoffs that faults have caused are over (PROTOCOL 7.12); true time, us. */
  readonly backAt: number;
  /** Whether it is served in the order of the calls, whatever happens (PROTOCOL 2.5). */
  readonly keepsPlace: boolean;
  /** While it neither has been aborted nor has run out of time. */
  readonly isWaiting: boolean;
  /** It has been aborted. */
  isAborted: boolean;
  /** When an earlier call last stood in its way that waited for other locks as well; true time, us. */
  blockedUntil: number;
  /** How often others who had asked later were served before. */
  overtaken: number;
}
