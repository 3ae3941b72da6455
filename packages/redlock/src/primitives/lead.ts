import {
  ClosedError,
  ExecutionError,
  InvalidArgumentError,
  LockLostError,
  ResourceLockedError,
} from "../errors.ts";
import type { Lock, RedlockAbortSignal, Routine } from "../holding/lock.ts";
import { linkSignals } from "../holding/using.ts";
import { type AcquireOptions, Redlock } from "../redlock.ts";
import { checkOptions, placeOf, routineAmong } from "../settings/options.ts";
import { onAbort } from "../time/abort.ts";
import { randomFraction } from "../time/runtime.ts";
import { sleepUnless } from "../time/sleep.ts";

export interface LeadOptions extends Omit<AcquireOptions, "retryCount" | "waitTimeout"> {
  /** Ends the candidacy: aborts the routine's signal if it leads, and `lead` resolves. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Called before the routine, when this process becomes the leader. For this and the other two callbacks: a
   * returned promise is awaited. An error or a rejection counts as an error of the routine: `lead` rejects
   * with it once the routine has ended and the lock is released.
   */
  readonly onStart?: ((lock: Lock) => unknown) | undefined;
  /**
   * Called when this process stops being the leader: immediately when the lock is lost, even if the routine
   * still runs (`lock.signal.reason` has the cause); otherwise after the routine has ended and before the
   * lock is released.
   */
  readonly onStop?: ((lock: Lock) => unknown) | undefined;
  /**
   * Called when no quorum answered for a whole ttl, so that no leader can be elected. The candidacy
   * continues.
   */
  readonly onError?: ((error: ExecutionError) => unknown) | undefined;
}

const place = placeOf("lead", ["retryCount", "waitTimeout"], ["onStart", "onStop", "onError"]);

/**
 * The minimum pause between two terms, as a part of the ttl: a routine that returns immediately must not keep
 * the masters and the other candidates busy.
 */
const minPauseFraction = 1 / 10;

/** `undefined`, or the error that the routine threw. */
type TermOutcome = { readonly error: unknown } | undefined;

/**
 * Leader election: of all processes that call this for the same resource, one at a time runs `routine`. It
 * leads while the routine runs, and its lock of `ttl` ms is kept extended. A crashed leader is replaced
 * within that time. The routine's signal aborts when it no longer leads: it must stop then, because another
 * leader may already be running.
 *
 * Stays a candidate: while others lead, while no quorum answers, after the lock was lost, and after the
 * routine has returned, which lets other candidates come first. (To run something once under a lock, use
 * {@link Redlock.using}.) Resolves when `options.signal` aborts or `redlock.quit()` is called, and the
 * routine has ended. `quit` has released the lock by then, so the next leader starts at once; with a `drain` it aborts the
 * routine's signal, and the lock is released when the routine has ended.
 * @throws the error of the routine, or of `onStart`, `onStop` or `onError`, once its lock is released; but
 * not an error that the routine throws because its signal aborted. LockLostError once the `parent` has ended.
 * InvalidArgumentError before anything is sent.
 * @example
 * ```ts
 * await lead(redlock, "scheduler", 10_000, async (signal) => {
 *   while (!signal.aborted) await runDueJobs(signal);
 * });
 * ```
 */
export async function lead(
  redlock: Redlock,
  resources: string | readonly string[],
  ttl: number,
  routine: Routine<unknown>,
  options?: LeadOptions,
): Promise<void> {
  const { context, closed, draining } = Redlock.internalsOf(redlock);
  if (typeof options === "function")
    throw new InvalidArgumentError("lead takes its options after the routine");
  routineAmong("lead", ttl, [routine]);
  checkOptions(options, place);
  const { onStart, onStop, onError, ...settings } = options ?? {};
  const signal = settings.signal ?? undefined;
  // Each try waits for one ttl: long enough to report a missing quorum, and no reason to ask the masters more
  // often.
  // A `quit` that waits for the routine ends it as well: it would lead for ever. (At any other `quit` the lock is lost at once.)
  const ended = linkSignals(signal ? [signal, draining] : [draining]);
  const campaign = { ...settings, signal: ended.signal, waitTimeout: ttl };
  const hasEnded = () => signal?.aborted === true || closed.isOver;
  try {
    while (!hasEnded()) {
      let term: TermOutcome;
      try {
        term = await redlock.using(resources, ttl, campaign, (termSignal, lock) =>
          runTerm(routine, { onStart, onStop }, termSignal, lock),
        );
      } catch (error) {
        if (hasEnded()) return;
        if (!(error instanceof ExecutionError)) throw error;
        // A parent that has ended never holds the lock again.
        if (settings.parent && error instanceof LockLostError) throw error;
        // Another process leads: no error.
        if (error instanceof ResourceLockedError) continue;
        await onError?.(error);
      }
      if (term) throw term.error;
      const half = (ttl * minPauseFraction) / 2;
      const pause = half + half * randomFraction(context.runtime);
      await sleepUnless(context.runtime, pause, signal, closed);
    }
  } finally {
    ended.unlink();
  }
}

/** Runs one term as leader. */
async function runTerm(
  routine: Routine<unknown>,
  { onStart, onStop }: LeadOptions,
  signal: RedlockAbortSignal,
  lock: Lock,
): Promise<TermOutcome> {
  // The first error is reported.
  let outcome: TermOutcome;
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    try {
      await onStop?.(lock);
    } catch (error) {
      outcome ??= { error };
    }
  };
  const unsubscribe = onAbort(lock.signal, () => {
    stopped ??= stop();
  });
  try {
    await onStart?.(lock);
    // A routine that waits for the abort would wait for ever for one that has been.
    if (!signal.aborted) await routine(signal, lock);
  } catch (error) {
    if (!isInterruption(error, signal)) outcome ??= { error };
  }
  unsubscribe();
  await (stopped ?? stop());
  return outcome;
}

/**
 * Whether `error` only follows from the abort of the signal: it is its reason, or an error of the lost lock.
 */
function isInterruption(error: unknown, signal: AbortSignal): boolean {
  if (!signal.aborted) return false;
  if (error === signal.reason || error instanceof LockLostError || error instanceof ClosedError) return true;
  return error instanceof Error && (error.name === "AbortError" || error.cause === signal.reason);
}
