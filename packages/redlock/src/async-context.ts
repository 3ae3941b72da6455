/** What follows a call through everything that it awaits, and nothing else. */
export interface AsyncContext<T> {
  getStore(): T | undefined;
  run<R>(store: T, callback: () => R): R;
}

/** Node's `AsyncLocalStorage`, which Bun and Deno have as well; `undefined` where there is none, as in browsers. */
export function asyncContext<T>(): AsyncContext<T> | undefined {
  // Asked for at run time: an import would keep the core out of browsers.
  const hooks = globalThis.process?.getBuiltinModule?.("node:async_hooks");
  return hooks && new hooks.AsyncLocalStorage<T>();
}
