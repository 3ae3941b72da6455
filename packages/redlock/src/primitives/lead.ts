import { ClosedError, ExecutionError, LockLostError, ResourceLockedError } from "../errors.ts";
import type { Lock } from "../holding/lock.ts";
import type { RedlockAbortSignal, Routine } from "../holding/using.ts";
import { type AcquireOptions, Redlock } from "../redlock.ts";
import { checkCallbacks, checkOptions, routineAmong } from "../settings/options.ts";
import { onAbort } from "../time/abort.ts";
import { Cancellation } from "../time/cancellation.ts";
import { randomFraction } from "../time/runtime.ts";
import { sleep } from "../time/sleep.ts";

export interface LeadOptions extends Omit<AcquireOptions, "retryCount" | "waitTimeout"> {
  /** Ends the candidature: the routine's signal aborts if it leads, and `lead` resolves. */
  readonly signal?: AbortSignal | undefined;
  /**
   * We lead from now on; called before the routine. Of this and the other two: a promise is waited for, and what is
   * thrown, or rejected with, counts as thrown by the routine: `lead` rejects with it once the routine has ended and the
   * lock is released.
   */
  readonly onStart?: ((lock: Lock) => unknown) | undefined;
  /**
   * We do not lead any more: at once when the lock is lost, whatever the routine still does (`lock.signal.reason`
   * tells why), otherwise when the routine has ended and before the lock is released.
   */
  readonly onStop?: ((lock: Lock) => unknown) | undefined;
  /** No quorum of masters answered for a whole ttl, so nobody can be elected; the next campaign follows. */
  readonly onError?: ((error: ExecutionError) => unknown) | undefined;
}

/** A routine that returns at once is not to keep masters and rivals busy: so much of the ttl is between two terms. */
const pauseFraction = 1 / 10;

/** What a term came to: nothing, or what the routine has thrown of itself. */
type Term = { readonly error: unknown } | undefined;

/**
 * Leader election: of all processes that call this for the same resource, one at a time runs `routine`. It leads
 * for as long as the routine runs, and its lock of `ttl` ms is extended meanwhile; a leader that dies is followed
 * by another within that time. The routine's signal aborts when it leads no more: it has to stop then, and another
 * leader may be at work already if it does not.
 *
 * Campaigns for ever: while somebody else leads, through times without a quorum, after the lock was lost, and also
 * when the routine has returned, which steps down and lets others come first. (To do something once under a lock,
 * there is {@link Redlock.using}.) Resolves when `options.signal` aborts or `redlock.quit()` is called, and the
 * routine has ended; `quit` has by then released the lock, so that another leads at once.
 * @throws what the routine throws, or `onStart`, `onStop` or `onError`, once its lock is released; not, though, what the
 * routine throws because its signal has aborted. InvalidArgumentError, before anything is sent.
 */
export async function lead(
  redlock: Redlock,
  resources: string | readonly string[],
  ttl: number,
  routine: Routine<unknown>,
  options: LeadOptions = {},
): Promise<void> {
  const { closed } = Redlock.internalsOf(redlock);
  routineAmong("lead", ttl, routine);
  checkOptions(options, "lead");
  const { onStart, onStop, onError, ...settings } = options;
  checkCallbacks({ onStart, onStop, onError });
  const { signal } = settings;
  // One campaign is so long that a quorum that is missing is told of, and no master is asked more often for it.
  const campaign = { ...settings, waitTimeout: ttl };
  const isOver = () => signal?.aborted === true || closed.reason !== undefined;
  while (!isOver()) {
    let term: Term;
    try {
      term = await redlock.using(resources, ttl, campaign, (termSignal, lock) =>
        serve(routine, options, termSignal, lock),
      );
    } catch (error) {
      if (isOver()) return;
      if (!(error instanceof ExecutionError)) throw error;
      // Somebody else leads: nothing to tell.
      if (error instanceof ResourceLockedError) continue;
      await onError?.(error);
    }
    if (term) throw term.error;
    await pauseBetweenTerms(redlock, ttl, signal);
  }
}

/** One term as leader. */
async function serve(
  routine: Routine<unknown>,
  { onStart, onStop }: LeadOptions,
  signal: RedlockAbortSignal,
  lock: Lock,
): Promise<Term> {
  // The first error counts.
  let term: Term;
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    try {
      await onStop?.(lock);
    } catch (error) {
      term ??= { error };
    }
  };
  const forget = onAbort(lock.signal, () => {
    stopped ??= stop();
  });
  try {
    await onStart?.(lock);
    await routine(signal, lock);
  } catch (error) {
    if (!isInterruption(error, signal)) term ??= { error };
  }
  forget();
  await (stopped ?? stop());
  return term;
}

/** Whether `error` only tells that the signal has aborted: what it rejects with, or what follows from a lock that is gone. */
function isInterruption(error: unknown, signal: AbortSignal): boolean {
  if (!signal.aborted) return false;
  if (error === signal.reason || error instanceof LockLostError || error instanceof ClosedError) return true;
  return error instanceof Error && (error.name === "AbortError" || error.cause === signal.reason);
}

async function pauseBetweenTerms(
  redlock: Redlock,
  ttl: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { context, closed } = Redlock.internalsOf(redlock);
  const ended = new Cancellation();
  const end = () => ended.cancel(new ClosedError());
  const forgetSignal = signal && onAbort(signal, end);
  const forgetClosed = closed.onCancel(end);
  if (signal?.aborted) end();
  const half = (ttl * pauseFraction) / 2;
  await sleep(context.runtime, half + half * randomFraction(context.runtime), ended);
  forgetSignal?.();
  forgetClosed();
}
