import { leaseLimit } from "../settings/lease-limit.ts";
import type { Settings } from "../settings/settings.ts";
import { abortWith, onAbort, selfCheckingController } from "../time/abort.ts";
import { asRoutineOf } from "../time/async-context.ts";
import { Lock, type Routine } from "./lock.ts";
import { Renewal } from "./renewal.ts";

/**
 * Runs `routine` while `lock` is kept extended, then releases it. Returns or throws the outcome of the
 * routine, even if the lock was lost: only the routine knows whether its work is valid.
 */
export async function runWithLock<T>(
  lock: Lock,
  ttl: number,
  settings: Settings,
  callersSignal: AbortSignal | undefined,
  routine: Routine<T>,
): Promise<T> {
  const limit = leaseLimit(Lock.leaseOf(lock).context.clock.now(), settings.maxHoldTime);
  if (limit) lock.limitTo(limit);
  const renewal = new Renewal(lock, ttl, settings);
  const link = callersSignal && linkSignals([lock.signal, callersSignal]);
  try {
    return await asRoutineOf(lock.resources, () => routine(link?.signal ?? lock.signal, lock));
  } finally {
    link?.unlink();
    renewal.stop();
    // For a lock that the routine has detached, this sends nothing. (PROTOCOL 1.10: by the settings of this call.)
    await Lock.releaseWithin(lock, settings);
  }
}

interface LinkedSignal {
  readonly signal: AbortSignal;
  readonly unlink: () => void;
}

/**
 * Aborts with the first of the signals. Not `AbortSignal.any`, which stays attached to a long-lived
 * signal.
 */
export function linkSignals(signals: readonly AbortSignal[]): LinkedSignal {
  let isLinked = true;
  // A caller's signal may be that of another lock: all are read, and so read their clocks (PROTOCOL 3.6).
  const follow = () => {
    const aborted = isLinked && signals.find((signal) => signal.aborted);
    if (!aborted) return;
    isLinked = false;
    abortWith(controller, aborted.reason);
  };
  const controller = selfCheckingController(follow);
  const forget = signals.map((signal) => onAbort(signal, follow));
  follow();
  const unlink = () => {
    isLinked = false;
    for (const one of forget) one();
  };
  return { signal: controller.signal, unlink };
}
