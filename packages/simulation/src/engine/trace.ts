/** What an entry of the trace may carry: everything that tells two runs apart. */
export type TraceValue = string | number | boolean;

/**
 * The hash of everything that happened, in order: two runs of one seed that differ anywhere, in an argument or in
 * a microsecond, differ in it. Two 32-bit multiplicative lanes (as in cyrb53), not cryptographic.
 */
export class Trace {
  #first = 0xdeadbeef;
  #second = 0x41c6ce57;
  #entries = 0;
  readonly #listener: ((time: number, entry: readonly TraceValue[]) => void) | undefined;

  /** `listener` sees each entry in clear; without one nothing is kept. */
  constructor(listener?: (time: number, entry: readonly TraceValue[]) => void) {
    this.#listener = listener;
  }

  get entries(): number {
    return this.#entries;
  }

  /** 16 hexadecimal characters. */
  get hash(): string {
    let first = Math.imul(this.#first ^ (this.#first >>> 16), 2_246_822_507);
    first ^= Math.imul(this.#second ^ (this.#second >>> 13), 3_266_489_909);
    let second = Math.imul(this.#second ^ (this.#second >>> 16), 2_246_822_507);
    second ^= Math.imul(this.#first ^ (this.#first >>> 13), 3_266_489_909);
    return [first, second].map((half) => (half >>> 0).toString(16).padStart(8, "0")).join("");
  }

  /** `time` is true time in us. */
  add(time: number, ...entry: readonly TraceValue[]): void {
    this.#entries += 1;
    this.#number(time);
    for (const value of entry) {
      if (typeof value === "string") this.#string(value);
      else this.#number(Number(value));
    }
    this.#listener?.(time, entry);
  }

  #string(text: string): void {
    for (let index = 0; index < text.length; index += 1) this.#word(text.charCodeAt(index));
    this.#word(~text.length);
  }

  #number(value: number): void {
    if (Number.isSafeInteger(value)) {
      this.#word(value | 0);
      this.#word(Math.floor(value / 2 ** 32));
    } else {
      this.#string(String(value));
    }
  }

  #word(word: number): void {
    this.#first = Math.imul(this.#first ^ word, 2_654_435_761);
    this.#second = Math.imul(this.#second ^ word, 1_597_334_677);
    // Multiplication only carries upwards: bring the high bits down again.
    this.#first ^= this.#first >>> 15;
    this.#second ^= this.#second >>> 17;
  }
}
