import { type Runtime, randomFraction } from "../time/runtime.ts";

/** The slots of a semaphore (PROTOCOL 10.1), most promising first. */
export class Slots {
  /** By number. */
  readonly all: readonly string[];
  #byPreference: Set<string>;

  /** Each client starts in a random order; otherwise all would try the same slot. */
  constructor(name: string, limit: number, runtime: Runtime) {
    this.all = Array.from({ length: limit }, (_, index) => `{${name}}:slot:${index}`);
    const shuffled = this.all.map((slot) => ({ slot, at: randomFraction(runtime) }));
    this.#byPreference = new Set(shuffled.sort((a, b) => a.at - b.at).map(({ slot }) => slot));
  }

  /**
   * The `count` most promising slots except those `refused`, or `undefined` if fewer are left. They move to
   * the end.
   */
  take(count: number, refused: ReadonlySet<string>): readonly string[] | undefined {
    const taken: string[] = [];
    for (const slot of this.#byPreference) {
      if (refused.has(slot)) continue;
      taken.push(slot);
      if (taken.length === count) return this.#moveToEnd(taken);
    }
    return undefined;
  }

  /** Moves slots to the front that have just been released. */
  prefer(slots: readonly string[]): void {
    const preferred = new Set(slots);
    for (const slot of this.#byPreference) preferred.add(slot);
    this.#byPreference = preferred;
  }

  #moveToEnd(slots: readonly string[]): readonly string[] {
    for (const slot of slots) {
      this.#byPreference.delete(slot);
      this.#byPreference.add(slot);
    }
    return slots;
  }
}
