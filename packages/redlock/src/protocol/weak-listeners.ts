import type { LockNode } from "./node.ts";

/**
 * How to take a listener away whose owner is gone. By its node: a registry keeps what it is given, and through the connection
 * that may lead back to the owner. With one registry for all nodes neither would ever be collected.
 */
const forgetting = new WeakMap<LockNode, FinalizationRegistry<() => void>>();

/** Calls `act` whenever `node` can be reached (again), for as long as `owner` is kept. */
export function onReadyWhileKept<Owner extends object>(
  owner: Owner,
  node: LockNode,
  act: (owner: Owner) => void,
): void {
  const kept = new WeakRef(owner);
  const forget = node.onReady(() => {
    const present = kept.deref();
    if (present) act(present);
  });
  const registry = forgetting.get(node) ?? new FinalizationRegistry<() => void>((stop) => stop());
  forgetting.set(node, registry);
  registry.register(owner, forget);
}

/**
 * Listeners that are called for as long as somebody else has them. Whoever makes a Redlock for each request never says
 * that it was the last, and the client that it listens to lives on.
 */
export class WeakListeners<Arguments extends readonly unknown[]> {
  readonly #listeners = new Set<WeakRef<(...args: Arguments) => void>>();
  readonly #gone = new FinalizationRegistry<WeakRef<(...args: Arguments) => void>>((kept) =>
    this.#listeners.delete(kept),
  );

  /** `listener` has to be kept by whoever adds it. */
  add(listener: (...args: Arguments) => void): void {
    const kept = new WeakRef(listener);
    this.#listeners.add(kept);
    this.#gone.register(listener, kept);
  }

  /** Calls those that are there now. */
  call(...args: Arguments): void {
    for (const kept of [...this.#listeners]) kept.deref()?.(...args);
  }
}
