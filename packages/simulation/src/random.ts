/**
 * A seeded source of randomness: sfc32 (Chris Doty-Humphrey's small fast counting generator, 128 bits of state,
 * passes PractRand), seeded through splitmix32 so that neighbouring seeds have nothing in common.
 *
 * Each part of a simulation draws from its own stream ({@link Random.stream}): one more draw in the network
 * then leaves the workload as it was, which keeps a shrunk or mutated run close to the one it came from.
 */
export class Random {
  readonly #seed: readonly number[];
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  /** The same parts give the same numbers, on every machine and every version of Node. */
  constructor(...parts: readonly (number | string)[]) {
    this.#seed = parts.flatMap(wordsOf);
    const next = splitmix32(this.#seed);
    this.#a = next();
    this.#b = next();
    this.#c = next();
    for (let warmUp = 0; warmUp < 12; warmUp += 1) this.uint32();
  }

  /** A separate source, named within this one's seed. Independent of what was drawn here so far. */
  stream(name: string): Random {
    return new Random(...this.#seed, name);
  }

  uint32(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (this.#c << 21) | (this.#c >>> 11);
    this.#c = (this.#c + sum) | 0;
    return sum >>> 0;
  }

  /** Uniform in [0, 1), 32 bits of it. */
  fraction(): number {
    return this.uint32() / 2 ** 32;
  }

  /** Uniform in [from, to). */
  between(from: number, to: number): number {
    return from + this.fraction() * (to - from);
  }

  /** A whole number, uniform in [from, to], both included. */
  integer(from: number, to: number): number {
    return from + Math.floor(this.fraction() * (to - from + 1));
  }

  /** True with this probability. */
  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<T>(list: readonly T[]): T {
    if (list.length === 0) throw new RangeError("nothing to pick from");
    return list[this.integer(0, list.length - 1)]!;
  }

  /** Exponentially distributed, with this mean. */
  exponential(mean: number): number {
    return -mean * Math.log(1 - this.fraction());
  }

  /** Log-normally distributed about this median; `sigma` is the standard deviation of the logarithm. */
  logNormal(median: number, sigma: number): number {
    const radius = Math.sqrt(-2 * Math.log(1 - this.fraction()));
    return median * Math.exp(sigma * radius * Math.cos(2 * Math.PI * this.fraction()));
  }

  /** Uniform between two positive bounds on a logarithmic scale: every order of magnitude is as likely. */
  logUniform(from: number, to: number): number {
    return from * Math.exp(this.fraction() * Math.log(to / from));
  }

  bytes(count: number): Uint8Array {
    const bytes = new Uint8Array(count);
    for (let index = 0; index < count; index += 4) {
      const word = this.uint32();
      for (let part = 0; part < 4 && index + part < count; part += 1)
        bytes[index + part] = word >>> (8 * part);
    }
    return bytes;
  }
}

/** A number as its low and high 32 bits, a string as its UTF-16 code units and its length. */
function wordsOf(part: number | string): number[] {
  if (typeof part === "number") return [part | 0, Math.floor(part / 2 ** 32) | 0];
  return [...Array.from(part, (character) => character.charCodeAt(0)), part.length];
}

function splitmix32(words: readonly number[]): () => number {
  let state = 0x9e3779b9;
  const next = (): number => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = state ^ (state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) | 0;
  };
  for (const word of words) state = Math.imul(next() ^ word, 0x85ebca6b);
  return next;
}
