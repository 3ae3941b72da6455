/** A map that makes the value of a key when it is asked for it the first time. */
export class DefaultMap<K, V> extends Map<K, V> {
  readonly #make: (key: K) => V;

  constructor(make: (key: K) => V) {
    super();
    this.#make = make;
  }

  override get(key: K): V {
    const known = super.get(key);
    if (known !== undefined) return known;
    const made = this.#make(key);
    this.set(key, made);
    return made;
  }
}
