import { setTimeout as pause } from "node:timers/promises";

/** Polls until `condition` holds; fails with `what` if it does not within `timeout` ms. */
export async function until(
  what: string | (() => string),
  condition: () => boolean | Promise<boolean>,
  timeout = 10_000,
): Promise<void> {
  const deadline = performance.now() + timeout;
  while (!(await condition())) {
    if (performance.now() > deadline)
      throw new Error(`not within ${timeout} ms: ${typeof what === "string" ? what : what()}`);
    await pause(2);
  }
}

/** One turn of the event loop: calls that settle "at once" have settled by then. */
export function turn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
