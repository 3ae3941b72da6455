/** A map that makes the value of a key when it is asked for it the first time. */
export class DefaultMap<K, V> extends Map<K, V> {
  readonly #make: (key: K) => V;

  constructor(make: (key: K) => V) {
    super();
    this.#make = make;
  }

  override get(key: K): V {
    if (!this.has(key)) this.set(key, this.#make(key));
    return super.get(key)!;
  }
}
