import type { Cancellation } from "./cancellation.ts";

/** So many may be at work at once; the others wait, in the order of their coming. */
export class Places {
  #free: number;
  readonly #line = new Set<() => void>();

  constructor(count: number) {
    this.#free = count;
  }

  /** Takes one, if any is free. */
  take(): boolean {
    if (this.#free === 0) return false;
    this.#free -= 1;
    return true;
  }

  /** Waits for one; `false`, with none taken, where one of `ends` came before. */
  async wait(...ends: readonly Cancellation[]): Promise<boolean> {
    let enter!: () => void;
    const entered = new Promise<void>((resolve) => {
      enter = resolve;
    });
    this.#line.add(enter);
    const forget = ends.map((end) => end.onCancel(enter));
    await entered;
    for (const one of forget) one();
    const isTaken = !this.#line.delete(enter);
    if (!ends.some((end) => end.reason)) return true;
    if (isTaken) this.leave();
    return false;
  }

  /** Gives one back, to whoever is next in the line. */
  leave(): void {
    const [next] = this.#line;
    if (!next) this.#free += 1;
    else {
      this.#line.delete(next);
      next();
    }
  }
}
