import type { Coordinator } from "./coordinator.ts";
import { Lock } from "./lock.ts";
import { Renewal } from "./renewal.ts";
import type { Settings } from "./settings.ts";

/** What a routine is given: aborts when the lock is lost; the reason is at `error` too, as in redlock 5. */
export type RedlockAbortSignal = AbortSignal & { readonly error?: Error };

export type Routine<T> = (signal: RedlockAbortSignal, lock: Lock) => T | Promise<T>;

/**
 * Runs `routine` while `lock` is kept extended, then releases it. What the routine returns or throws is what
 * comes out, whatever has become of the lock: only the routine knows what its work was worth.
 */
export async function hold<T>(
  coordinator: Coordinator,
  lock: Lock,
  ttl: number,
  settings: Settings,
  callersSignal: AbortSignal | undefined,
  routine: Routine<T>,
): Promise<T> {
  const renewal = new Renewal(coordinator, Lock.leaseOf(lock), ttl, settings);
  const signal = callersSignal ? AbortSignal.any([lock.signal, callersSignal]) : lock.signal;
  try {
    return await routine(signal, lock);
  } finally {
    renewal.stop();
    await lock.release();
  }
}
