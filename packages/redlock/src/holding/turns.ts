/** One call's position among those that want resources of the same lease. */
export interface Turn {
  readonly resources: readonly string[];
  hasBegun: boolean;
  /** Called when the turn begins, if it did not begin at once. */
  onBegin: () => void;
}

/** Admits calls that want the same resource one after the other, in FIFO order. */
export class Turns {
  readonly #turns: Turn[] = [];

  get isEmpty(): boolean {
    return this.#turns.length === 0;
  }

  /** Adds a turn at the end. It has begun already if no earlier one wants any of the same resources. */
  take(resources: readonly string[]): Turn {
    const turn: Turn = { resources, hasBegun: false, onBegin: () => {} };
    this.#turns.push(turn);
    turn.hasBegun = this.#isNext(turn);
    return turn;
  }

  /** Ends a turn, or removes it before it began. */
  end(turn: Turn): void {
    const place = this.#turns.indexOf(turn);
    if (place !== -1) this.#turns.splice(place, 1);
    for (const next of [...this.#turns]) {
      if (next.hasBegun || !this.#isNext(next)) continue;
      next.hasBegun = true;
      next.onBegin();
    }
  }

  #isNext(turn: Turn): boolean {
    const wanted = new Set(turn.resources);
    for (const before of this.#turns) {
      if (before === turn) return true;
      if (before.resources.some((resource) => wanted.has(resource))) return false;
    }
    return false;
  }
}
