/** One caller's place among those who want resources of the same hold. */
export interface Turn {
  readonly resources: readonly string[];
  begun: boolean;
  /** Called when the turn begins, where it had to be waited for. */
  onBegin: () => void;
}

/** Lets those who want the same resource in one after the other, in the order of their asking. */
export class Turns {
  readonly #line: Turn[] = [];

  get isEmpty(): boolean {
    return this.#line.length === 0;
  }

  /** A place at the end; the turn has begun already where nobody before it wants any of the same. */
  take(resources: readonly string[]): Turn {
    const turn: Turn = { resources, begun: false, onBegin: () => {} };
    this.#line.push(turn);
    turn.begun = this.#isNext(turn);
    return turn;
  }

  /** The turn is over, or given up before it came. */
  end(turn: Turn): void {
    const place = this.#line.indexOf(turn);
    if (place !== -1) this.#line.splice(place, 1);
    for (const next of [...this.#line]) {
      if (next.begun || !this.#isNext(next)) continue;
      next.begun = true;
      next.onBegin();
    }
  }

  #isNext(turn: Turn): boolean {
    for (const before of this.#line) {
      if (before === turn) return true;
      if (before.resources.some((resource) => turn.resources.includes(resource))) return false;
    }
    return false;
  }
}
