import type { EventId } from "../engine/engine.ts";
import type { Process } from "../engine/process.ts";
import type { SubjectLock } from "../run/subject.ts";

/**
 * The interval in which one client holds a lock: from the moment at which its code has it until the release, the abort
 * of the signal, or the expiry.
 */
export interface LockInterval {
  readonly number: number;
  readonly process: Process;
  readonly lock: SubjectLock;
  /** When its code asked for the lock, and when it had it; true time, us. */
  readonly askedAt: number;
  readonly beganAt: number;
  readonly fencingToken: number | undefined;
  /** When the client's own clocks will say that nothing remains. */
  monotonicEnd: number;
  wallEnd: number;
  /**
   * The deadline for the abort of its signal: others can hold from then on. By the client's monotonic clock, the only
   * one that timers know: a machine that slept is notified later.
   */
  notifyBy: number;
  /** How long before its own deadline its signal aborts at the latest, ms: promised are 10, or a twentieth of the ttl. */
  notice: number;
  isOver: boolean;
  /** The next check of whether the signal has aborted. */
  watch: EventId | undefined;
}
