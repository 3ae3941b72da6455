/** What follows a call through everything that it awaits, and nothing else. */
export interface AsyncContext<T> {
  getStore(): T | undefined;
  run<R>(store: T, callback: () => R): R;
}

/** A routine that is running under a lock, and the one that it is nested in. */
export interface Frame {
  /** Whose lock it is: there are frames of many Redlocks in one context. */
  readonly context: object;
  readonly lock: object;
  readonly outer: Frame | undefined;
}

type Frames = AsyncContext<Frame | undefined>;

/** By this name on the global object: a bundler may load this module twice, and there must be one storage all the same. */
const name = Symbol.for("quorlock.frames");
const shared = globalThis as { [name]?: Frames };

/**
 * The frames that a call is in, of whichever Redlock: one storage for the process, since connections and batches are
 * shared. Made when it is first asked for, by a Redlock that is reentrant. `undefined` where there is no
 * AsyncLocalStorage, as in browsers.
 */
export function frames(): Frames | undefined {
  // Asked for at run time: an import would keep the core out of browsers.
  const hooks = globalThis.process?.getBuiltinModule?.("node:async_hooks");
  if (hooks) shared[name] ??= new hooks.AsyncLocalStorage<Frame | undefined>();
  return hooks && shared[name];
}

/**
 * Runs `callback` in no frame (PROTOCOL 10). Timers, sockets and batches belong to all calls of a process and run in the
 * context of whichever call armed them. So every function of the user's that is called from there is called through
 * this one: it would enter a lock that a stranger's routine is running under. Costs nothing where no Redlock is reentrant.
 */
export function outside<R>(callback: () => R): R {
  const context = shared[name];
  return context ? context.run(undefined, callback) : callback();
}
