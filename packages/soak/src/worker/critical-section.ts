import { setTimeout as pause } from "node:timers/promises";
import { now } from "@quorlock/simulation/processes";
import { hotKey } from "../terms.ts";
import type { Lingering } from "./lingering.ts";
import type { LockInterval } from "./lock-interval.ts";
import type { ConductorSide } from "./protocol.ts";

/** The resource that the locks guard, which is nowhere near the masters. */
export interface Counters {
  read: (...args: Parameters<ConductorSide["read"]>) => Promise<number>;
  write: (...args: Parameters<ConductorSide["write"]>) => Promise<boolean>;
}

/**
 * Read, work, write one more: what two must never do at the same time. Between the two `work` may do what it
 * likes. The look right before the write decides, and travels with it: the store refuses what comes when the lock is
 * over, so a process that is stopped between its look and its write is one that looked (PROTOCOL 1.5).
 */
export async function enterCriticalSection(
  interval: LockInterval,
  key: string,
  counters: Counters,
  lingering: Lingering,
  work: () => Promise<unknown>,
): Promise<void> {
  const hold = interval.holdOf(key);
  const base = await counters.read(hold);
  const readAt = now();
  const request = lingering.meet(hold.id, key === hotKey);
  if (request) await stay(request.milliseconds, request.careless ? undefined : interval.lock.signal);
  else await work();
  const deadline = interval.look();
  if (deadline === undefined && !request?.careless) return;
  // The holder of a share only reads.
  if (hold.share !== undefined) return;
  const draft = { hold: hold.id, key, readAt, base, value: base + 1 };
  await counters.write(draft, request?.careless ? undefined : deadline);
}

function stay(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  const options = signal ? { signal } : {};
  return pause(milliseconds, undefined, options).catch(() => {});
}
