import type { Field, Layout, Sort, State } from "./layout.ts";

/** One way to give interchangeable things each other's numbers, as it acts on the cells of a state. */
interface Renaming {
  /** For each cell, the one that its value comes from. */
  readonly from: Int32Array;
  /** For each cell that holds the number of a thing, its number afterwards. */
  readonly rename: readonly (readonly number[] | undefined)[];
}

/**
 * Symmetry reduction: of all states that differ only in who is who, the one with the smallest bytes stands for all.
 * Sound as long as a model treats interchangeable things alike, which a test holds by comparing verdicts with and
 * without it.
 */
export class Symmetry {
  readonly #renamings: readonly Renaming[];
  readonly #original: State;
  readonly #renamed: State;

  /** Things of the given sorts may take each other's numbers, where they are interchangeable. */
  constructor(sorts: readonly Sort[], layout: Layout) {
    // The first one changes nothing.
    this.#renamings = assignments(sorts.filter((sort) => sort.interchangeable))
      .slice(1)
      .map((numbers) => renaming(layout, numbers));
    this.#original = layout.blank();
    this.#renamed = layout.blank();
  }

  /** How many states one stands for, at most. */
  get order(): number {
    return this.#renamings.length + 1;
  }

  /** Turns a state into the one that stands for it. */
  canonicalise(state: State): void {
    this.#original.set(state);
    for (const renaming of this.#renamings) {
      if (this.#isSmaller(renaming, state)) state.set(this.#renamed);
    }
  }

  /** Whether the original, renamed, is smaller than `least`. */
  #isSmaller({ from, rename }: Renaming, least: State): boolean {
    let smaller = false;
    for (let cell = 0; cell < least.length; cell += 1) {
      const value = this.#original[from[cell]!]!;
      const names = rename[cell];
      const here = names ? names[value]! : value;
      if (!smaller) {
        const before = least[cell]!;
        if (here > before) return false;
        smaller = here < before;
      }
      this.#renamed[cell] = here;
    }
    return smaller;
  }
}

/** The new number of each thing of each sort, with "none" as 0 at the front. */
type Numbers = ReadonlyMap<Sort, readonly number[]>;

function assignments([sort, ...others]: readonly Sort[]): Numbers[] {
  if (!sort) return [new Map()];
  return permutations(sort.all).flatMap((numbers) =>
    assignments(others).map((rest) => new Map([...rest, [sort, [0, ...numbers]]])),
  );
}

export function permutations(items: readonly number[]): number[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item) =>
    permutations(items.filter((other) => other !== item)).map((rest) => [item, ...rest]),
  );
}

function renaming(layout: Layout, numbers: Numbers): Renaming {
  const from = new Int32Array(layout.width);
  const rename: (readonly number[] | undefined)[] = Array.from({ length: layout.width });
  for (const field of layout.fields) {
    for (const indices of combinations(field)) {
      const renamed = indices.map((index, axis) => numbers.get(field.over[axis]!)?.[index] ?? index);
      const to = field.cell(...renamed);
      from[to] = field.cell(...indices);
      rename[to] = field.of && numbers.get(field.of);
    }
  }
  return { from, rename };
}

function combinations(field: Field): number[][] {
  let result: number[][] = [[]];
  for (const sort of field.over) result = result.flatMap((some) => sort.all.map((index) => [...some, index]));
  return result;
}
