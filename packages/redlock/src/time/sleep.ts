import type { Cancellation } from "./cancellation.ts";
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
