/** The values of a trace entry: everything that distinguishes two runs. */
export type TraceValue = string | number | boolean;

/** The hash of a text, so that a repeated text is read only once. */
interface Digest {
  readonly first: number;
  readonly second: number;
}

/** Number of texts that are remembered: names and commands recur all the time, tokens for a while. */
const maxDigests = 4096;

/**
 * The hash of everything that happened, in order: two runs of one seed that differ anywhere, in an argument or in
 * a microsecond, differ in it. Two 32-bit multiplicative lanes (as in cyrb53), not cryptographic.
 */
export class Trace {
  readonly #state = new Lanes(0xdeadbeef, 0x41c6ce57);
  readonly #digests = new Map<string, Digest>();
  readonly #listener: ((time: number, entry: readonly TraceValue[]) => void) | undefined;
  /** Otherwise nobody asks for the hash, and nothing need be put into words. */
  readonly isOn: boolean;

  /** `listener` sees each entry in clear; without one nothing is kept. */
  constructor(listener?: (time: number, entry: readonly TraceValue[]) => void, isOn = true) {
    this.#listener = listener;
    this.isOn = isOn;
  }

  /** 16 hexadecimal characters. */
  get hash(): string {
    const { first, second } = this.#state.final;
    return [first, second].map((half) => (half >>> 0).toString(16).padStart(8, "0")).join("");
  }

  /** `time` is true time in us. */
  add(time: number, ...entry: readonly TraceValue[]): void {
    if (!this.isOn) return;
    this.#state.word(entry.length);
    this.#number(time);
    for (let index = 0; index < entry.length; index += 1) {
      const value = entry[index]!;
      if (typeof value === "string") this.#text(value);
      else this.#number(Number(value));
    }
    this.#listener?.(time, entry);
  }

  #text(text: string): void {
    const { first, second } = this.#digests.get(text) ?? this.#read(text);
    this.#state.word(first);
    this.#state.word(second);
  }

  #read(text: string): Digest {
    const lanes = new Lanes(~text.length, text.length);
    for (let index = 0; index < text.length; index += 1) lanes.word(text.charCodeAt(index));
    if (this.#digests.size >= maxDigests) this.#digests.clear();
    const digest = lanes.final;
    this.#digests.set(text, digest);
    return digest;
  }

  #number(value: number): void {
    if (!Number.isSafeInteger(value)) {
      this.#text(String(value));
      return;
    }
    this.#state.word(value | 0);
    this.#state.word(Math.floor(value / 2 ** 32));
  }
}

class Lanes {
  #first: number;
  #second: number;

  constructor(first: number, second: number) {
    this.#first = first | 0;
    this.#second = second | 0;
  }

  word(word: number): void {
    const first = Math.imul(this.#first ^ word, 2_654_435_761);
    const second = Math.imul(this.#second ^ word, 1_597_334_677);
    // Multiplication only carries upwards: bring the high bits down again.
    this.#first = first ^ (first >>> 15);
    this.#second = second ^ (second >>> 17);
  }

  /** The hash of all words so far; each lane contributes to both halves. */
  get final(): Digest {
    let first = Math.imul(this.#first ^ (this.#first >>> 16), 2_246_822_507);
    first ^= Math.imul(this.#second ^ (this.#second >>> 13), 3_266_489_909);
    let second = Math.imul(this.#second ^ (this.#second >>> 16), 2_246_822_507);
    second ^= Math.imul(this.#first ^ (this.#first >>> 13), 3_266_489_909);
    return { first, second };
  }
}
