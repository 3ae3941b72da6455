/** Limits how many things are faulty at once: each fault acquires a slot for each thing that it affects. */
export class Seats {
  readonly #atOnce: number;
  readonly #taken = new Set<number>();
  readonly #waiting: Array<() => boolean> = [];

  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  /** Those that are in a bad way now. */
  get taken(): ReadonlySet<number> {
    return this.#taken;
  }

  /** Resolves, when there is room and none of `wanted` is taken, with how to give them back. */
  async take(wanted: readonly number[]): Promise<() => void> {
    if (wanted.length > this.#atOnce) throw new RangeError(`${wanted.length} seats of ${this.#atOnce}`);
    const sit = (): boolean => {
      const isFree = wanted.every((one) => !this.#taken.has(one));
      if (!isFree || this.#taken.size + wanted.length > this.#atOnce) return false;
      for (const one of wanted) this.#taken.add(one);
      return true;
    };
    if (!sit()) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(() => {
          if (!sit()) return false;
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
