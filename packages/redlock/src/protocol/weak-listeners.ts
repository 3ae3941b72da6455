import { keptFor } from "../time/kept.ts";

const registryOfStops = () => new FinalizationRegistry<() => void>((stop) => stop());

/** Calls `act` whenever `node` becomes reachable, for as long as `owner` is referenced; `act` must not lead to it. */
export function onReadyWhileKept<Owner extends object>(
  owner: Owner,
  node: { readonly client: object; onReady(listener: () => void): () => void },
  act: (owner: Owner) => void,
): void {
  const kept = new WeakRef(owner);
  const forget = node.onReady(() => {
    const present = kept.deref();
    if (present) act(present);
  });
  // One registry for each client: it keeps the values given to it alive, and the connection may lead from them back to the
  // owner. With one for all clients, neither would ever be collected; one of a node that is collected with its owner would
  // remove nothing.
  keptFor("registries", node.client, registryOfStops).register(owner, forget);
}

/**
 * Listeners that are called for as long as their owners reference them. A program that creates a Redlock for each
 * request never closes them, and the client that they listen to lives on.
 */
export class WeakListeners<Arguments extends readonly unknown[]> {
  readonly #listeners = new Set<WeakRef<(...args: Arguments) => void>>();
  readonly #gone = new FinalizationRegistry<WeakRef<(...args: Arguments) => void>>((kept) =>
    this.#listeners.delete(kept),
  );

  /** The caller must keep a reference to `listener`. */
  add(listener: (...args: Arguments) => void): void {
    const kept = new WeakRef(listener);
    this.#listeners.add(kept);
    this.#gone.register(listener, kept);
  }

  /** Calls the current listeners. */
  call(...args: Arguments): void {
    for (const kept of [...this.#listeners]) kept.deref()?.(...args);
  }
}
