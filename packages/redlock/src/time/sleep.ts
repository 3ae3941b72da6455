import { AbortError, ClosedError } from "../errors.ts";
import { onAbort } from "./abort.ts";
import { Cancellation, Latch } from "./cancellation.ts";
import { maxTimerDelay, type Runtime } from "./runtime.ts";

/** Waits `delay` ms, or until `ended`. */
export async function sleep(runtime: Runtime, delay: number, ended: Latch): Promise<void> {
  if (ended.isOver) return;
  let timer: ReturnType<Runtime["setTimer"]> | undefined;
  const elapsed = new Promise<void>((resolve) => {
    timer = runtime.setTimer(resolve, Math.min(Math.max(0, Math.ceil(delay)), maxTimerDelay));
  });
  await ended.race(elapsed);
  timer?.cancel();
}

/** Waits until all of `work` has settled, `delay` ms, or until `ended`. */
export function settledWithin(
  runtime: Runtime,
  delay: number,
  work: readonly Promise<unknown>[],
  ended: Latch = new Latch(),
): Promise<void> {
  void Promise.allSettled(work).then(() => ended.end());
  return sleep(runtime, delay, ended);
}

/** Like {@link sleep}, or until the caller's signal aborts or the client is closed. */
export async function sleepUnless(
  runtime: Runtime,
  delay: number,
  signal: AbortSignal | undefined,
  closed: Latch,
): Promise<void> {
  const { ended, forget } = endedFromOutside(signal, closed);
  await sleep(runtime, delay, ended);
  forget();
}

/** The end of a call from outside: its caller's signal, and `quit`, which ends `closed`. `forget` it once the call is over. */
export function endedFromOutside(
  signal: AbortSignal | null | undefined,
  closed: Latch,
  resources?: readonly string[],
): { readonly ended: Cancellation; readonly forget: () => void } {
  const ended = new Cancellation();
  const abort = (): void => ended.cancel(() => new AbortError(signal!.reason, resources));
  const forgetSignal = signal && onAbort(signal, abort);
  const forgetQuit = closed.onEnd(() => ended.cancel(() => new ClosedError()));
  if (signal?.aborted) abort();
  return {
    ended,
    forget: () => {
      forgetSignal?.();
      forgetQuit();
    },
  };
}
