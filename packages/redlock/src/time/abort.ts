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

const look = Symbol("look");

interface LookingSignal extends AbortSignal {
  [look]: () => void;
}

const native = AbortSignal.prototype;

/** What of a signal tells whether it has aborted. One prototype for all: accessors of its own would cost each signal. */
const looking = Object.create(native, {
  aborted: {
    get(this: LookingSignal): boolean {
      this[look]();
      return Reflect.get(native, "aborted", this);
    },
  },
  reason: {
    get(this: LookingSignal): unknown {
      this[look]();
      return Reflect.get(native, "reason", this);
    },
  },
  throwIfAborted: {
    value(this: LookingSignal): void {
      this[look]();
      native.throwIfAborted.call(this);
    },
  },
});

/**
 * A controller whose signal calls `look` whenever it is read, which may abort it: a timer that is late, since the loop
 * was blocked or the machine suspended, has not aborted it yet. (Whoever listens is told by the timer.)
 */
export function lookingController(onLook: () => void): AbortController {
  const controller = new AbortController();
  const signal = Object.setPrototypeOf(controller.signal, looking) as LookingSignal;
  Object.defineProperty(signal, look, { value: onLook });
  return controller;
}

/** Aborts; redlock 5 puts the reason at `signal.error` too. The only place that does: its listeners are the user's. */
export function abortWith(controller: AbortController, reason?: unknown): void {
  Object.defineProperty(controller.signal, "error", { value: reason, configurable: true });
  outside(() => controller.abort(reason));
}
