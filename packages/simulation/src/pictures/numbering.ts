/** Numbers names in the order in which they first come up. */
export class Numbering {
  readonly #numbers = new Map<string, number>();

  numberOf(name: string): number {
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    this.#numbers.set(name, this.#numbers.size);
    return this.#numbers.size - 1;
  }

  /** -1 where it never came up. */
  find(name: string): number {
    return this.#numbers.get(name) ?? -1;
  }

  get names(): readonly string[] {
    return [...this.#numbers.keys()];
  }
}
