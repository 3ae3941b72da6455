import { outside } from "./time/async-context.ts";

type Listener = (argument: never) => void;

/**
 * Typed events with the methods of Node's emitter that users of redlock 5 know, and one difference: an `error` event
 * without a listener throws nothing.
 */
export class Events<Signatures extends { [event in keyof Signatures]: Listener }> {
  readonly #listeners = new Map<keyof Signatures, Array<{ listener: Listener; once: boolean }>>();

  on<E extends keyof Signatures>(event: E, listener: Signatures[E], once = false): this {
    this.#listeners.set(event, [...(this.#listeners.get(event) ?? []), { listener, once }]);
    return this;
  }

  once<E extends keyof Signatures>(event: E, listener: Signatures[E]): this {
    return this.on(event, listener, true);
  }

  off<E extends keyof Signatures>(event: E, listener: Signatures[E]): this {
    const left = (this.#listeners.get(event) ?? []).filter((entry) => entry.listener !== listener);
    this.#listeners.set(event, left);
    return this;
  }

  addListener<E extends keyof Signatures>(event: E, listener: Signatures[E]): this {
    return this.on(event, listener);
  }

  removeListener<E extends keyof Signatures>(event: E, listener: Signatures[E]): this {
    return this.off(event, listener);
  }

  /** Calls the current listeners, in order; returns whether there are any. */
  emit<E extends keyof Signatures>(event: E, argument: Parameters<Signatures[E]>[0]): boolean {
    const entries = this.#listeners.get(event) ?? [];
    outside(() => {
      for (const { listener, once } of entries) {
        if (once) this.off(event, listener as Signatures[E]);
        (listener as (argument: unknown) => void)(argument);
      }
    });
    return entries.length > 0;
  }
}
