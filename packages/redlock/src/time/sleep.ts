import { onAbort } from "./abort.ts";
import { Latch } from "./cancellation.ts";
import { maxTimerDelay, type Runtime } from "./runtime.ts";

/** Waits `delay` ms, or until `ended`. */
export async function sleep(runtime: Runtime, delay: number, ended: Latch): Promise<void> {
  if (ended.isOver) return;
  let timer: ReturnType<Runtime["setTimer"]> | undefined;
  const elapsed = new Promise<void>((resolve) => {
    timer = runtime.setTimer(resolve, Math.min(Math.ceil(delay), maxTimerDelay));
  });
  await ended.race(elapsed);
  timer?.cancel();
}

/** The same, or until the caller's signal aborts or the client is closed. */
export async function sleepUnless(
  runtime: Runtime,
  delay: number,
  signal: AbortSignal | undefined,
  closed: Latch,
): Promise<void> {
  const ended = new Latch();
  const end = (): void => ended.end();
  const unsubscribeSignal = signal && onAbort(signal, end);
  const unsubscribeClosed = closed.onEnd(end);
  if (signal?.aborted) end();
  await sleep(runtime, delay, ended);
  unsubscribeSignal?.();
  unsubscribeClosed();
}
