import type { Field, Layout, Sort, State } from "../search/layout.ts";

/**
 * The messages in flight, for each combination of `over`. Kinds are powers of two, and several are named by their sum.
 * At most one of each kind is in flight: a message that is sent twice arrives once.
 */
export class Messages {
  readonly #field: Field;

  constructor(layout: Layout, over: readonly Sort[]) {
    this.#field = layout.field(over);
  }

  /** Whether any of `kinds` is. */
  areOnTheirWay(now: State, kinds: number, first?: number, second?: number, third?: number): boolean {
    return (this.#field.get(now, first, second, third) & kinds) !== 0;
  }

  send(next: State, kinds: number, first?: number, second?: number, third?: number): void {
    this.#field.set(next, this.#field.get(next, first, second, third) | kinds, first, second, third);
  }

  /** They have arrived, or are lost. */
  takeAway(next: State, kinds: number, first?: number, second?: number, third?: number): void {
    this.#field.set(next, this.#field.get(next, first, second, third) & ~kinds, first, second, third);
  }

  /** All kinds. Tells which there were. */
  takeAll(next: State, first?: number, second?: number, third?: number): number {
    const kinds = this.#field.get(next, first, second, third);
    this.#field.set(next, 0, first, second, third);
    return kinds;
  }
}
