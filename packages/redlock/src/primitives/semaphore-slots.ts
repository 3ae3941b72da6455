import { type Runtime, randomFraction } from "../time/runtime.ts";

/**
 * The slots of a semaphore (PROTOCOL 10.1), most promising first: those released last, then those that were never
 * tried, then the others, tried longest ago first.
 *
 * Each client tries new slots in a random order; otherwise all would try the same one. The order is drawn as slots are
 * taken: a semaphore may have thousands.
 */
export class Slots {
  readonly #runtime: Runtime;
  readonly #prefix: string;
  readonly #limit: number;
  /** The last one comes first. */
  readonly #released: string[] = [];
  readonly #tried = new Set<string>();
  /** The slots in these two. */
  readonly #known = new Set<string>();
  /** The numbers below this one were not drawn, or are what the numbers drawn instead of them were exchanged for. */
  #undrawn: number;
  readonly #exchanged = new Map<number, number>();

  constructor(name: string, limit: number, runtime: Runtime) {
    this.#prefix = `{${name}}:slot:`;
    this.#limit = limit;
    this.#undrawn = this.#limit;
    this.#runtime = runtime;
  }

  /** By number. */
  get all(): readonly string[] {
    return Array.from({ length: this.#limit }, (_, index) => `${this.#prefix}${index}`);
  }

  has(resource: string): boolean {
    return resource.startsWith(this.#prefix);
  }

  /**
   * The `count` most promising slots except those `refused`, or `undefined` if fewer are left. They move to
   * the end.
   */
  take(count: number, refused: ReadonlySet<string>): readonly string[] | undefined {
    const taken: string[] = [];
    const untried: string[] = [];
    while (taken.length < count) {
      const slot = this.#released.pop() ?? this.#draw();
      if (slot === undefined) break;
      untried.push(slot);
      if (!refused.has(slot)) taken.push(slot);
    }
    for (const slot of this.#tried) {
      if (taken.length === count) break;
      if (!refused.has(slot)) taken.push(slot);
    }
    if (taken.length < count) {
      this.#putBack(untried);
      return undefined;
    }
    this.#putBack(untried.filter((slot) => refused.has(slot)));
    for (const slot of taken) {
      this.#tried.delete(slot);
      this.#tried.add(slot);
    }
    return taken;
  }

  /** Moves slots to the front that have just been released. */
  prefer(slots: readonly string[]): void {
    this.#putBack(slots.filter((slot) => this.#tried.delete(slot) || !this.#known.has(slot)));
  }

  #putBack(slots: readonly string[]): void {
    for (const slot of slots.toReversed()) {
      this.#known.add(slot);
      this.#released.push(slot);
    }
  }

  /** A slot that is not known yet, if there is one: one step of a Fisher-Yates shuffle. */
  #draw(): string | undefined {
    while (this.#undrawn > 0) {
      const at = Math.floor(randomFraction(this.#runtime) * this.#undrawn);
      this.#undrawn -= 1;
      const slot = `${this.#prefix}${this.#exchanged.get(at) ?? at}`;
      this.#exchanged.set(at, this.#exchanged.get(this.#undrawn) ?? this.#undrawn);
      this.#exchanged.delete(this.#undrawn);
      if (this.#known.has(slot)) continue;
      this.#known.add(slot);
      return slot;
    }
    return undefined;
  }
}
