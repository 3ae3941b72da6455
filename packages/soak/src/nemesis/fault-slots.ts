/** Limits the number of faulty things: each fault acquires a slot for each thing that it affects. */
export class FaultSlots {
  readonly #atOnce: number;
  readonly #taken = new Set<number>();
  readonly #waiting: Array<() => boolean> = [];

  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  /** The things that are faulty now. */
  get taken(): ReadonlySet<number> {
    return this.#taken;
  }

  /** Resolves when slots are free and none of `wanted` is taken, with a function that frees them. */
  async take(wanted: readonly number[]): Promise<() => void> {
    if (wanted.length > this.#atOnce) throw new RangeError(`${wanted.length} slots of ${this.#atOnce}`);
    const take = (): boolean => {
      const isFree = wanted.every((one) => !this.#taken.has(one));
      if (!isFree || this.#taken.size + wanted.length > this.#atOnce) return false;
      for (const one of wanted) this.#taken.add(one);
      return true;
    };
    if (!take()) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(() => {
          if (!take()) return false;
          resolve();
          return true;
        });
      });
    }
    return () => {
      for (const one of wanted) this.#taken.delete(one);
      for (const wait of [...this.#waiting]) {
        if (wait()) this.#waiting.splice(this.#waiting.indexOf(wait), 1);
      }
    };
  }
}
