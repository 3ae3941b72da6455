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

type EmitterClass = new <Signatures extends SignaturesOf<Signatures>>() => Emitter<Signatures>;

/** Not imported: of the CommonJS code that is published, a bundle of ES modules cannot require it. */
const Base = process.getBuiltinModule("node:events").EventEmitter as unknown as EmitterClass;

/**
 * Typed events: an `EventEmitter` of Node, with one difference: an `error` event without a listener throws nothing.
 */
export class Events<Signatures extends SignaturesOf<Signatures>> extends Base<Signatures> {
  override emit<E extends keyof Signatures>(event: E, ...args: Parameters<Signatures[E]>): boolean {
    return this.listenerCount(event) > 0 && outside(() => super.emit(event, ...args));
  }
}
