import { EdgeList } from "./edges.ts";
import type { State } from "./layout.ts";
import type { Model, Step } from "./model.ts";
import { StateSet } from "./state-set.ts";
import { tell } from "./story.ts";
import { Symmetry } from "./symmetry.ts";

export interface Exploration {
  /**
   * - _holds_: every reachable state was looked at, and none is wrong.
   * - _violated_: a state that must not be; _stuck_: a state from which the goal is out of reach. With the shortest
   *   way there.
   * - _unfinished_: there are more states than `limit`; nothing is shown.
   * - _blind_: none is wrong, but a state that should have been seen was not.
   */
  readonly verdict: "holds" | "violated" | "stuck" | "unfinished" | "blind";
  /** Empty when it holds. */
  readonly reason: string;
  readonly story: readonly string[];
  readonly states: number;
  /** Steps to the furthest state that was reached. */
  readonly depth: number;
  /** How many states one that was looked at stands for, at most. */
  readonly symmetry: number;
}

export interface SearchBounds {
  /** Maximum number of states. If there are more, the verdict is "unfinished", never "holds". */
  readonly limit: number;
  /** Off: every state for itself. Default: on. */
  readonly symmetry?: boolean;
}

/** Breadth first, so the first state that is wrong is one of the nearest. Stops at it. */
export function explore(model: Model, bounds: SearchBounds): Exploration {
  const slices = new Search(model, bounds).run();
  let slice = slices.next();
  while (!slice.done) slice = slices.next();
  return slice.value;
}

/** The same search; it awaits `pause` between slices of a few milliseconds, which may end it by throwing. */
export async function exploreInSlices(
  model: Model,
  bounds: SearchBounds,
  pause: () => Promise<void>,
): Promise<Exploration> {
  const slices = new Search(model, bounds).run();
  for (;;) {
    const slice = slices.next();
    if (slice.done) return slice.value;
    await pause();
  }
}

/** States that are expanded in one slice. */
const sliceSize = 10_000;

class Search {
  readonly #model: Model;
  readonly #limit: number;
  readonly #symmetry: Symmetry;
  readonly #states: StateSet;
  readonly #edges = new EdgeList();
  readonly #unseen: Map<string, (now: State) => boolean>;
  readonly #next: State;
  #wrong: { readonly number: number; readonly reason: string } | undefined;
  #depth = 0;

  constructor(model: Model, { limit, symmetry = true }: SearchBounds) {
    this.#model = model;
    this.#limit = limit;
    this.#symmetry = new Symmetry(symmetry ? model.layout.sorts : [], model.layout);
    this.#states = new StateSet(model.layout.width);
    this.#unseen = new Map(Object.entries(model.sights));
    this.#next = model.layout.blank();
  }

  *run(): Generator<void, Exploration, void> {
    for (const state of this.#model.initial) {
      this.#next.set(state);
      this.#arrive(-1, false);
    }
    yield* this.#spread();
    if (this.#wrong) return this.#result("violated", this.#wrong.reason, this.#wrong.number);
    if (this.#states.size > this.#limit) {
      return this.#result("unfinished", `more than ${this.#limit} states`);
    }
    const stuck = this.#firstStuck();
    if (stuck !== undefined) {
      return this.#result("stuck", `from here never again: ${this.#model.goal!.name}`, stuck);
    }
    if (this.#unseen.size > 0)
      return this.#result("blind", `never seen: ${[...this.#unseen.keys()].join(", ")}`);
    return this.#result("holds", "");
  }

  /** States are numbered as they are found, so going through them in order is going breadth first. */
  *#spread(): Generator<void, void, void> {
    const now = this.#model.layout.blank();
    let level = this.#states.size;
    for (let number = 0; number < this.#states.size; number += 1) {
      if (this.#wrong || this.#states.size > this.#limit) return;
      if (number === level) {
        this.#depth += 1;
        level = this.#states.size;
      }
      if (number % sliceSize === sliceSize - 1) yield;
      this.#states.read(number, now);
      const step: Step = (_story, change, kind) => {
        this.#next.set(now);
        change(this.#next);
        this.#arrive(number, kind !== "fault");
      };
      this.#model.steps(now, step);
    }
  }

  /** At `#next`, by a step from `origin`. */
  #arrive(origin: number, fair: boolean): void {
    const next = this.#next;
    this.#symmetry.canonicalise(next);
    const before = this.#states.size;
    const number = this.#states.add(next, origin);
    if (this.#model.goal && fair) this.#edges.add(origin, number);
    if (this.#wrong || number !== before) return;
    const reason = this.#model.violation(next);
    if (reason !== undefined) this.#wrong = { number, reason };
    for (const [name, seen] of this.#unseen) if (seen(next)) this.#unseen.delete(name);
  }

  /** The nearest state that has no way of fair steps to the goal. */
  #firstStuck(): number | undefined {
    const { goal, layout } = this.#model;
    if (!goal) return undefined;
    const state = layout.blank();
    const reached = this.#edges.backwardsFrom(this.#states.size, (number) => {
      this.#states.read(number, state);
      return goal.reached(state);
    });
    const stuck = reached.indexOf(0);
    return stuck === -1 ? undefined : stuck;
  }

  #result(verdict: Exploration["verdict"], reason: string, end?: number): Exploration {
    const story = end === undefined ? [] : tell(this.#model, this.#symmetry, this.#wayTo(end));
    const { size } = this.#states;
    return { verdict, reason, story, states: size, depth: this.#depth, symmetry: this.#symmetry.order };
  }

  #wayTo(end: number): State[] {
    const way: State[] = [];
    for (let number = end; number !== -1; number = this.#states.origin(number)) {
      const state = this.#model.layout.blank();
      this.#states.read(number, state);
      way.unshift(state);
    }
    return way;
  }
}
