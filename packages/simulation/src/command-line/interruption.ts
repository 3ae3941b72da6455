/** The exit code of a command that Ctrl-C ended, as shells have it: 128 and the number of SIGINT. */
export const interruptedCode = 130;

/** Aborts at the first Ctrl-C; a second one ends the process at once. */
export function interruption(): AbortSignal & Disposable {
  const controller = new AbortController();
  const onSignal = (): void => {
    if (controller.signal.aborted) process.exit(interruptedCode);
    controller.abort();
  };
  process.on("SIGINT", onSignal);
  return Object.assign(controller.signal, { [Symbol.dispose]: () => void process.off("SIGINT", onSignal) });
}

/** Passes items on until `signal` aborts, and does not wait for the item that is on its way then. */
export async function* until<T>(signal: AbortSignal, items: AsyncIterable<T>): AsyncGenerator<T, void, void> {
  const iterator = items[Symbol.asyncIterator]();
  const left = new AbortController();
  const aborted = new Promise<undefined>((resolve) => {
    signal.addEventListener("abort", () => resolve(undefined), { signal: left.signal });
  });
  try {
    while (!signal.aborted) {
      const next = await Promise.race([iterator.next(), aborted]);
      if (!next || next.done) return;
      yield next.value;
      // Work that never leaves the microtask queue gives way here: only the event loop delivers the signal.
      await new Promise((resolve) => setImmediate(resolve));
    }
  } finally {
    left.abort();
  }
}
