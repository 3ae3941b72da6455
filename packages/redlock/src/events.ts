import { outside } from "./time/async-context.ts";

type Listener = (...args: never[]) => void;
type SignaturesOf<Events> = { [event in keyof Events]: Listener };

/** Node's emitter with typed events. Declared here: users without `@types/node` compile it too. */
export interface Emitter<Signatures extends SignaturesOf<Signatures>> {
  on<E extends keyof Signatures>(event: E, listener: Signatures[E]): this;
  once<E extends keyof Signatures>(event: E, listener: Signatures[E]): this;
  off<E extends keyof Signatures>(event: E, listener: Signatures[E]): this;
  addListener<E extends keyof Signatures>(event: E, listener: Signatures[E]): this;
  removeListener<E extends keyof Signatures>(event: E, listener: Signatures[E]): this;
  prependListener<E extends keyof Signatures>(event: E, listener: Signatures[E]): this;
  prependOnceListener<E extends keyof Signatures>(event: E, listener: Signatures[E]): this;
  removeAllListeners(event?: keyof Signatures): this;
  /** Calls the current listeners, in order; returns whether there are any. */
  emit<E extends keyof Signatures>(event: E, ...args: Parameters<Signatures[E]>): boolean;
  listeners<E extends keyof Signatures>(event: E): Signatures[E][];
  rawListeners<E extends keyof Signatures>(event: E): Signatures[E][];
  listenerCount(event: keyof Signatures): number;
  eventNames(): (keyof Signatures)[];
  /** The number of listeners of one event above which Node warns of a leak. */
  setMaxListeners(count: number): this;
  getMaxListeners(): number;
}

interface Entry {
  readonly listener: Listener;
  readonly once: boolean;
  /** A listener that emits again must not have it called twice. */
  hasFired?: boolean;
}

/** The behaviour of Node's emitter, for runtimes without it. */
export class PlainEmitter {
  readonly #entries = new Map<PropertyKey, readonly Entry[]>();
  #maxListeners = 10;

  on(event: PropertyKey, listener: Listener): this {
    return this.#set(event, [...this.#of(event), { listener, once: false }]);
  }

  once(event: PropertyKey, listener: Listener): this {
    return this.#set(event, [...this.#of(event), { listener, once: true }]);
  }

  off(event: PropertyKey, listener: Listener): this {
    const latest = this.#of(event).findLastIndex((entry) => entry.listener === listener);
    return this.#set(
      event,
      this.#of(event).filter((_, index) => index !== latest),
    );
  }

  addListener(event: PropertyKey, listener: Listener): this {
    return this.on(event, listener);
  }

  removeListener(event: PropertyKey, listener: Listener): this {
    return this.off(event, listener);
  }

  prependListener(event: PropertyKey, listener: Listener): this {
    return this.#set(event, [{ listener, once: false }, ...this.#of(event)]);
  }

  prependOnceListener(event: PropertyKey, listener: Listener): this {
    return this.#set(event, [{ listener, once: true }, ...this.#of(event)]);
  }

  removeAllListeners(event?: PropertyKey): this {
    if (event === undefined) this.#entries.clear();
    else this.#entries.delete(event);
    return this;
  }

  emit(event: PropertyKey, ...args: readonly unknown[]): boolean {
    const entries = this.#of(event);
    for (const entry of entries) {
      if (entry.hasFired) continue;
      if (entry.once) {
        entry.hasFired = true;
        this.#set(
          event,
          this.#of(event).filter((other) => other !== entry),
        );
      }
      Reflect.apply(entry.listener, this, args);
    }
    return entries.length > 0;
  }

  listeners(event: PropertyKey): Listener[] {
    return this.#of(event).map(({ listener }) => listener);
  }

  rawListeners(event: PropertyKey): Listener[] {
    return this.listeners(event);
  }

  listenerCount(event: PropertyKey): number {
    return this.#of(event).length;
  }

  eventNames(): PropertyKey[] {
    return [...this.#entries.keys()];
  }

  setMaxListeners(count: number): this {
    this.#maxListeners = count;
    return this;
  }

  getMaxListeners(): number {
    return this.#maxListeners;
  }

  #of(event: PropertyKey): readonly Entry[] {
    return this.#entries.get(event) ?? [];
  }

  #set(event: PropertyKey, entries: readonly Entry[]): this {
    if (entries.length > 0) this.#entries.set(event, entries);
    else this.#entries.delete(event);
    return this;
  }
}

type EmitterClass = new <Signatures extends SignaturesOf<Signatures>>() => Emitter<Signatures>;

/** Read at run time: an import would not work in browsers. */
const nodes = globalThis.process?.getBuiltinModule?.("node:events")?.EventEmitter;
const Base: EmitterClass = (nodes ?? PlainEmitter) as unknown as EmitterClass;

/**
 * Typed events: an `EventEmitter` of Node where there is one, and one difference: an `error` event without a listener
 * throws nothing.
 */
export class Events<Signatures extends SignaturesOf<Signatures>> extends Base<Signatures> {
  override emit<E extends keyof Signatures>(event: E, ...args: Parameters<Signatures[E]>): boolean {
    return this.listenerCount(event) > 0 && outside(() => super.emit(event, ...args));
  }
}
