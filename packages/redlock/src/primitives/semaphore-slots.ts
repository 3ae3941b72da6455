import { type Runtime, randomFraction } from "../time/runtime.ts";

/** The slots of a semaphore (PROTOCOL 10.1), in the order in which they are worth a try. */
export class Slots {
  /** In the order of their numbers. */
  readonly all: readonly string[];
  readonly #order: Set<string>;

  /** Each client begins in an order of its own, or all would try the same slot. */
  constructor(name: string, limit: number, runtime: Runtime) {
    this.all = Array.from({ length: limit }, (_, index) => `{${name}}:slot:${index}`);
    const drawn = this.all.map((slot) => ({ slot, at: randomFraction(runtime) }));
    this.#order = new Set(drawn.sort((a, b) => a.at - b.at).map(({ slot }) => slot));
  }

  /** The `count` that promise most, apart from those `refused`; nothing where fewer are left. They go to the back. */
  take(count: number, refused: ReadonlySet<string>): readonly string[] | undefined {
    const taken: string[] = [];
    for (const slot of this.#order) {
      if (refused.has(slot)) continue;
      taken.push(slot);
      if (taken.length === count) return this.#toBack(taken);
    }
    return undefined;
  }

  /** These have just been freed: they come first. */
  prefer(slots: readonly string[]): void {
    const others = [...this.#order].filter((slot) => !slots.includes(slot));
    this.#order.clear();
    for (const slot of [...slots, ...others]) this.#order.add(slot);
  }

  #toBack(slots: readonly string[]): readonly string[] {
    for (const slot of slots) {
      this.#order.delete(slot);
      this.#order.add(slot);
    }
    return slots;
  }
}
