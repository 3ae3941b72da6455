import type { Runtime, Timer } from "../time/runtime.ts";

/** Masters that answer later than the others by this, ms, and by as long as those took, are not awaited. */
const minGrace = 10;

/**
 * Asks `count` masters, and resolves when all have answered. Once `enough` have, the others have as long again, so that
 * a master that hangs delays nobody.
 */
export function askMost(
  runtime: Runtime,
  count: number,
  enough: number,
  ask: (index: number, onAnswer: () => void) => void,
): Promise<void> {
  return new Promise((resolve) => {
    const startedAt = runtime.monotonic();
    let answers = 0;
    let timer: Timer | undefined;
    const onAnswer = (): void => {
      answers += 1;
      if (answers === count) {
        timer?.cancel();
        resolve();
      } else if (answers === enough)
        timer = runtime.setTimer(resolve, Math.ceil(minGrace + runtime.monotonic() - startedAt));
    };
    for (let index = 0; index < count; index += 1) ask(index, onAnswer);
  });
}
