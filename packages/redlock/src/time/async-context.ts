/** A value that follows a call through everything that it awaits. */
interface AsyncContext<T> {
  getStore(): T | undefined;
  run<R>(store: T, callback: () => R): R;
}

/** A routine that is running under a lock, and the routine that it is nested in. */
export interface Frame {
  /** The Redlock that the lock belongs to: one context has frames of many. */
  readonly context: object;
  readonly lock: object;
  readonly outer: Frame | undefined;
}

export type Frames = AsyncContext<Frame | undefined>;

/**
 * Stored under this name on the global object: a bundler may load this module twice, and there must be only one
 * storage.
 */
const name = Symbol.for("quorlock.frames");
const shared = globalThis as { [name]?: Frames };

/**
 * The frames of the current call, of all Redlocks: one storage for the process, since connections and batches are
 * shared. Created when a reentrant Redlock first uses it.
 */
export function frames(): Frames {
  shared[name] ??= new (process.getBuiltinModule("node:async_hooks").AsyncLocalStorage)<Frame | undefined>();
  return shared[name];
}

const frameOf = ([first]: readonly string[]): string => `routine of the lock on ${JSON.stringify(first)}`;

/** Runs the routine of a lock on `resources`, so that {@link isAwaitedByRoutineOf} knows it. */
export function asRoutineOf<T>(resources: readonly string[], routine: () => T | Promise<T>): Promise<T> {
  const name = frameOf(resources);
  return { [name]: async (): Promise<T> => await routine() }[name]!();
}

/**
 * Whether such a routine waits for the current call, as V8 tells in a stack: of whom each call is awaited. Costs nothing
 * before it is asked for, unlike an AsyncLocalStorage. Elsewhere false: for messages only.
 */
export function isAwaitedByRoutineOf(resources: readonly string[]): boolean {
  const { stackTraceLimit } = Error;
  Reflect.set(Error, "stackTraceLimit", 100);
  const { stack } = new Error("where am I?");
  Reflect.set(Error, "stackTraceLimit", stackTraceLimit);
  return String(stack).includes(frameOf(resources));
}

/** Whether the current call has a frame; never if no Redlock is reentrant. */
export function isInFrame(): boolean {
  return shared[name]?.getStore() !== undefined;
}

/**
 * Runs `callback` in no frame (PROTOCOL 10.7). Timers, sockets and batches serve all calls of a process and run in the
 * context of the call that started them. So every user function that is called from there must be called through this
 * function: otherwise it could enter a lock of another caller's routine. Costs nothing if no Redlock is reentrant.
 */
export function outside<R>(callback: () => R): R {
  const context = shared[name];
  return context ? context.run(undefined, callback) : callback();
}
