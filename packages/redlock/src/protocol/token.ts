import type { Runtime } from "../time/runtime.ts";

/** The digits that the tokens of one Redlock begin with. */
const tagLength = 8;

/**
 * The tokens of one Redlock: 32 hexadecimal characters, as redlock 5 writes them. The first eight are its tag, which is
 * drawn once and tells owners apart; the other 96 bits are fresh in each token (PROTOCOL 2.1).
 */
export class Tokens {
  readonly #runtime: Runtime;
  /** Of the latest token. */
  readonly #characters: number[] = Array.from({ length: 32 }, () => 0);
  #isTagged = false;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** The first characters of all its tokens. */
  get tag(): string {
    if (!this.#isTagged) this.next();
    return String.fromCharCode(...this.#characters.slice(0, tagLength));
  }

  next(): string {
    const bytes = this.#runtime.randomBytes(16);
    if (!this.#isTagged) for (let index = 0; index < 4; index += 1) this.#write(index, bytes[index]!);
    this.#isTagged = true;
    // The four bytes that the tag takes the place of are mixed in: what makes two copies of a process differ may be in
    // any of the sixteen (PROTOCOL 2.1).
    for (let index = 4; index < 8; index += 1) this.#write(index, bytes[index]! ^ bytes[index - 4]!);
    for (let index = 8; index < 16; index += 1) this.#write(index, bytes[index]!);
    // In one call: V8 keeps a string that is concatenated piece by piece as its pieces.
    return String.fromCharCode(...this.#characters);
  }

  #write(index: number, byte: number): void {
    this.#characters[2 * index] = hexadecimal[byte >> 4]!;
    this.#characters[2 * index + 1] = hexadecimal[byte & 15]!;
  }
}

const hexadecimal = Array.from("0123456789abcdef", (digit) => digit.charCodeAt(0));

/**
 * The tag in a token that is {@link masked}; `undefined` for a token of another form, as other libraries have. A tag of
 * redlock 5, whose tokens have this form, belongs to no owner.
 */
export function tagIn(token: string | undefined): string | undefined {
  return /^([\da-f]{8})\*{24}(\.\d+)?$/.exec(token ?? "")?.[1];
}

/**
 * Whether the token belongs to a client that uses queues and grants the lock at the release: such a token ends with
 * the number of a round.
 */
export function isOfWaiter(token: string): boolean {
  return /\.\d+$/.test(token);
}

/**
 * A token as answers show it, also on the wire (PROTOCOL 2.17): its beginning tells owners apart, and the number of a
 * round is kept.
 */
export function masked(token: string): string {
  if (typeIn(token) !== undefined) return token;
  const [, waiter = token, round = ""] = /^(.*)(\.\d+)$/s.exec(token) ?? [];
  const shown = Math.min(8, Math.floor(waiter.length / 2));
  return waiter.slice(0, shown) + "*".repeat(waiter.length - shown) + round;
}

/** The type of a key that holds no string, which stands in the place of a token; "no string" if it could not be asked for. */
export function typeIn(owner: string | undefined): string | undefined {
  return /^\(([a-z -]+)\)$/i.exec(owner ?? "")?.[1];
}

/**
 * The type of a key that is no lock of any library: locks are strings, or in some libraries hashes, and expire. (A lock
 * that somebody made permanent by hand still shows whose it is.)
 */
export function foreignIn(owner: string | undefined, remaining: number): string | undefined {
  const type = typeIn(owner) ?? (tagIn(owner) ? undefined : owner && "string");
  const mayBeLock = Number.isFinite(remaining) && /^(string|hash|no string)$/.test(type ?? "string");
  return mayBeLock ? undefined : type;
}

/** The part of a token that identifies the waiter: all but the number of the round. */
export function waiterOf(token: string): string {
  const dot = token.lastIndexOf(".");
  return dot < 0 ? token : token.slice(0, dot);
}
