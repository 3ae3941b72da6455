import { leaseLimit } from "../settings/lease-limit.ts";
import type { Settings } from "../settings/settings.ts";
import { abortWith, onAbort, selfCheckingController } from "../time/abort.ts";
import { Lock } from "./lock.ts";
import { Renewal } from "./renewal.ts";

/** What a routine is given: aborts when the lock is lost; the reason is at `error` too, as in redlock 5. */
export type RedlockAbortSignal = AbortSignal & { readonly error?: Error };

export type Routine<T> = (signal: RedlockAbortSignal, lock: Lock) => T | Promise<T>;

/**
 * Runs `routine` while `lock` is kept extended, then releases it. What the routine returns or throws is what
 * comes out, whatever has become of the lock: only the routine knows what its work was worth.
 */
export async function hold<T>(
  lock: Lock,
  ttl: number,
  settings: Settings,
  callersSignal: AbortSignal | undefined,
  routine: Routine<T>,
): Promise<T> {
  const limit = leaseLimit(Lock.leaseOf(lock).context.clock.now(), settings.maxHoldTime);
  if (limit) lock.limitTo(limit);
  const renewal = new Renewal(lock, ttl, settings);
  const link = callersSignal && linked(lock, callersSignal);
  try {
    return await routine(link?.signal ?? lock.signal, lock);
  } finally {
    link?.unlink();
    renewal.stop();
    // (Of a lock that the routine has detached this sends nothing.)
    await lock.release();
  }
}

interface Linked {
  readonly signal: AbortSignal;
  readonly unlink: () => void;
}

/** Aborts with whichever is first. Not `AbortSignal.any`: that stays tied to a long-lived signal. */
function linked(lock: Lock, callersSignal: AbortSignal): Linked {
  const signals = [lock.signal, callersSignal];
  const controller = selfCheckingController(() => void lock.remaining());
  const follow = () => {
    const aborted = signals.find((signal) => signal.aborted);
    if (aborted && !controller.signal.aborted) abortWith(controller, aborted.reason);
  };
  const forget = signals.map((signal) => onAbort(signal, follow));
  follow();
  const unlink = () => {
    for (const one of forget) one();
  };
  return { signal: controller.signal, unlink };
}
