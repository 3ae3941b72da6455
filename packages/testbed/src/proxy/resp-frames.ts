const carriageReturn = 13;
const lineFeed = 10;

/**
 * Counts the complete commands, or replies, in one direction of a RESP connection, however TCP cuts them.
 * Redis answers in order, one reply for each command, so "the n-th command is answered" is "n replies came".
 * Pushed messages (RESP3 `>`) are no replies and are not counted. A line of an unknown type counts as one frame,
 * which covers inline commands.
 */
export class RespFrames {
  #count = 0;
  /** The line being read, up to its CRLF. */
  #line = "";
  /** Bytes of a bulk string, its CRLF included, still to be skipped. */
  #skip = 0;
  /** For each open aggregate, outermost first, how many elements are missing. */
  readonly #missing: number[] = [];
  /** Whether the open outermost frame is one that does not count. */
  #isPush = false;

  /** Complete frames so far. */
  get complete(): number {
    return this.#count;
  }

  /** Complete frames and the one that has begun. */
  get begun(): number {
    const isOpen = this.#line !== "" || this.#skip > 0 || this.#missing.length > 0;
    return this.#count + (isOpen ? 1 : 0);
  }

  push(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      if (this.#skip > 0) {
        const skipped = Math.min(this.#skip, bytes.length - at);
        at += skipped;
        this.#skip -= skipped;
        if (this.#skip === 0) this.#elementEnded();
        continue;
      }
      const end = bytes.indexOf(lineFeed, at);
      const stop = end < 0 ? bytes.length : end + 1;
      this.#line += bytes.toString("latin1", at, stop);
      at = stop;
      if (end >= 0) this.#lineEnded();
    }
  }

  #lineEnded(): void {
    const line =
      this.#line.charCodeAt(this.#line.length - 2) === carriageReturn
        ? this.#line.slice(0, -2)
        : this.#line.slice(0, -1);
    this.#line = "";
    const size = Number(line.slice(1));
    const type = line[0];
    if (type === "$" || type === "=" || type === "!") this.#bulkBegins(size);
    else if (type === "*" || type === "~" || type === ">") this.#aggregateBegins(size, type === ">");
    else if (type === "%") this.#aggregateBegins(size * 2);
    // Attributes come before the value that they belong to: they and it are one element.
    else if (type === "|") this.#aggregateBegins(size * 2 + 1);
    else this.#elementEnded();
  }

  #bulkBegins(size: number): void {
    if (size >= 0) this.#skip = size + 2;
    else this.#elementEnded();
  }

  #aggregateBegins(elements: number, isPush = false): void {
    if (this.#missing.length === 0) this.#isPush = isPush;
    if (elements > 0) this.#missing.push(elements);
    else this.#elementEnded();
  }

  #elementEnded(): void {
    while (this.#missing.length > 0) {
      const left = (this.#missing.pop() as number) - 1;
      if (left > 0) {
        this.#missing.push(left);
        return;
      }
    }
    if (!this.#isPush) this.#count += 1;
    this.#isPush = false;
  }
}
