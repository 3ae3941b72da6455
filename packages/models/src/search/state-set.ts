import type { State } from "./layout.ts";

/** States are kept in chunks, so that growing copies nothing but the hash table. */
const chunkBits = 16;
const chunkMask = (1 << chunkBits) - 1;

/** A set of states, each with the number it came in as and the state it was reached from. */
export class StateSet {
  readonly #width: number;
  readonly #chunks: Uint8Array[] = [];
  readonly #hashes: Int32Array[] = [];
  readonly #origins: Int32Array[] = [];
  /** Open addressing; 0 is empty, any other is the number of a state plus 1. */
  #table = new Int32Array(1 << 16);
  #size = 0;

  constructor(width: number) {
    this.#width = width;
  }

  get size(): number {
    return this.#size;
  }

  /** The number of the state. It is new if that is what `size` was before. */
  add(state: State, origin: number): number {
    const hash = hashOf(state);
    const mask = this.#table.length - 1;
    let slot = hash & mask;
    for (let entry = this.#table[slot]!; entry !== 0; entry = this.#table[slot]!) {
      if (this.#holds(entry - 1, hash, state)) return entry - 1;
      slot = (slot + 1) & mask;
    }
    const number = this.#size;
    if ((number & chunkMask) === 0) this.#grow();
    const chunk = number >> chunkBits;
    this.#chunks[chunk]!.set(state, (number & chunkMask) * this.#width);
    this.#hashes[chunk]![number & chunkMask] = hash;
    this.#origins[chunk]![number & chunkMask] = origin;
    this.#table[slot] = number + 1;
    this.#size += 1;
    if (this.#size * 2 > this.#table.length) this.#rehash();
    return number;
  }

  read(number: number, into: State): void {
    const start = (number & chunkMask) * this.#width;
    const chunk = this.#chunks[number >> chunkBits]!;
    for (let cell = 0; cell < this.#width; cell += 1) into[cell] = chunk[start + cell]!;
  }

  /** The state that this one was first reached from; -1 for an initial one. */
  origin(number: number): number {
    return this.#origins[number >> chunkBits]![number & chunkMask]!;
  }

  #holds(number: number, hash: number, state: State): boolean {
    const chunk = number >> chunkBits;
    if (this.#hashes[chunk]![number & chunkMask] !== hash) return false;
    const bytes = this.#chunks[chunk]!;
    const start = (number & chunkMask) * this.#width;
    for (let cell = 0; cell < this.#width; cell += 1) {
      if (bytes[start + cell] !== state[cell]) return false;
    }
    return true;
  }

  #grow(): void {
    this.#chunks.push(new Uint8Array(this.#width << chunkBits));
    this.#hashes.push(new Int32Array(1 << chunkBits));
    this.#origins.push(new Int32Array(1 << chunkBits));
  }

  #rehash(): void {
    const table = new Int32Array(this.#table.length * 2);
    const mask = table.length - 1;
    for (let number = 0; number < this.#size; number += 1) {
      let slot = this.#hashes[number >> chunkBits]![number & chunkMask]! & mask;
      while (table[slot] !== 0) slot = (slot + 1) & mask;
      table[slot] = number + 1;
    }
    this.#table = table;
  }
}

/** FNV-1a, with its bits stirred at the end: the low ones choose the slot. */
function hashOf(state: State): number {
  let hash = 0x811c9dc5;
  for (let cell = 0; cell < state.length; cell += 1) hash = Math.imul(hash ^ state[cell]!, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return hash ^ (hash >>> 13);
}
