import { onAbort } from "./abort.ts";
import { Cancellation } from "./cancellation.ts";
import { maxTimerDelay, type Runtime } from "./runtime.ts";

/** Waits `delay` ms, or until the cancellation. */
export async function sleep(runtime: Runtime, delay: number, cancellation: Cancellation): Promise<void> {
  if (cancellation.reason) return;
  let timer: ReturnType<Runtime["setTimer"]> | undefined;
  const elapsed = new Promise<void>((resolve) => {
    timer = runtime.setTimer(resolve, Math.min(Math.ceil(delay), maxTimerDelay));
  });
  await cancellation.race(elapsed);
  timer?.cancel();
}

/** The same, or until the caller's signal aborts or the client is closed. */
export async function sleepUnless(
  runtime: Runtime,
  delay: number,
  signal: AbortSignal | undefined,
  closed: Cancellation,
): Promise<void> {
  const ended = new Cancellation();
  const end = () => ended.cancel(new Error("the pause is over"));
  const unsubscribeSignal = signal && onAbort(signal, end);
  const unsubscribeClosed = closed.onCancel(end);
  if (signal?.aborted) end();
  await sleep(runtime, delay, ended);
  unsubscribeSignal?.();
  unsubscribeClosed();
}
