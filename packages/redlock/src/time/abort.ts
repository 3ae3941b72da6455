import { outside } from "./async-context.ts";
import { forget, keptFor } from "./kept.ts";

/**
 * Calls `listener` once when `signal` aborts. Returns a function that removes it. Node warns of a leak at the eleventh listener
 * of one signal, and ten thousand calls may well wait with the same one: so one native listener serves them all, for as long
 * as there are any.
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  const { listeners, notify } = keptFor("signals", signal, () => listenTo(signal));
  listeners.add(listener);
  return () => {
    if (!listeners.delete(listener) || listeners.size > 0) return;
    signal.removeEventListener("abort", notify);
    forget("signals", signal);
  };
}

function listenTo(signal: AbortSignal): { readonly listeners: Set<() => void>; readonly notify: () => void } {
  const listeners = new Set<() => void>();
  const notify = () => {
    for (const listener of listeners) listener();
  };
  signal.addEventListener("abort", notify);
  return { listeners, notify };
}

const check = Symbol("check");

interface SelfCheckingSignal extends AbortSignal {
  [check]: () => void;
}

const native = AbortSignal.prototype;

const checked = (name: "aborted" | "reason"): PropertyDescriptor => ({
  get(this: SelfCheckingSignal): unknown {
    this[check]();
    return Reflect.get(native, name, this);
  },
});

/**
 * The members of a signal that show whether it has aborted. One prototype for all: own accessors would cost each
 * signal memory.
 */
const selfChecking = Object.create(native, {
  aborted: checked("aborted"),
  reason: checked("reason"),
  throwIfAborted: {
    value(this: SelfCheckingSignal): void {
      this[check]();
      native.throwIfAborted.call(this);
    },
  },
});

/**
 * Returns a controller whose signal calls `onRead` whenever it is read, which may abort it: a timer that is late,
 * because the loop was blocked or the machine suspended, has not aborted it yet. (Listeners are notified by the
 * timer.)
 */
export function selfCheckingController(onRead: () => void): AbortController {
  const controller = new AbortController();
  const signal = Object.setPrototypeOf(controller.signal, selfChecking) as SelfCheckingSignal;
  Object.defineProperty(signal, check, { value: onRead });
  return controller;
}

/**
 * Aborts; redlock 5 puts the reason at `signal.error` too. The only place that aborts signals: their listeners are
 * the user's.
 */
export function abortWith(controller: AbortController, reason?: unknown): void {
  Object.defineProperty(controller.signal, "error", { value: reason, configurable: true });
  outside(() => controller.abort(reason));
}
