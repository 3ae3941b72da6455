import { outside } from "./async-context.ts";

interface Waiting {
  readonly listeners: Set<() => void>;
  readonly tell: () => void;
}

/**
 * Who waits for a signal. Node warns of a leak at the eleventh listener of one signal, and ten thousand calls
 * that wait with the same one are nothing unusual: so one listener serves them all, as long as there are any.
 */
const waitingFor = new WeakMap<AbortSignal, Waiting>();

/** Calls back once when `signal` aborts. Returns how to take the listener away. */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  const { listeners, tell } = waitingFor.get(signal) ?? listenTo(signal);
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    signal.removeEventListener("abort", tell);
    waitingFor.delete(signal);
  };
}

function listenTo(signal: AbortSignal): Waiting {
  const listeners = new Set<() => void>();
  const tell = () => {
    for (const listener of listeners) listener();
  };
  const waiting = { listeners, tell };
  waitingFor.set(signal, waiting);
  signal.addEventListener("abort", tell);
  return waiting;
}

/** Aborts; redlock 5 puts the reason at `signal.error` too. The only place that does: its listeners are the user's. */
export function abortWith(controller: AbortController, reason?: unknown): void {
  Object.defineProperty(controller.signal, "error", { value: reason, configurable: true });
  outside(() => controller.abort(reason));
}
