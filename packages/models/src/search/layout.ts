/** The bytes of one state, one for each cell. The fields of its layout give them their meaning. */
export type State = Uint8Array;

/**
 * A kind of thing that is numbered: nodes, attempts, rounds. Numbers start at 1, so that 0 is "none".
 * Things that differ in nothing but their number are interchangeable, and states that differ only in who is who
 * are searched once.
 */
export interface Sort {
  readonly all: readonly number[];
  readonly interchangeable: boolean;
}

/** The numbers that a state consists of. Each model declares its own. */
export class Layout {
  readonly #fields: Field[] = [];
  readonly #sorts: Sort[] = [];
  #width = 0;

  get width(): number {
    return this.#width;
  }

  get fields(): readonly Field[] {
    return this.#fields;
  }

  get sorts(): readonly Sort[] {
    return this.#sorts;
  }

  sort(count: number, how: { readonly interchangeable: boolean }): Sort {
    const sort = { all: Array.from({ length: count }, (_, index) => index + 1), ...how };
    this.#sorts.push(sort);
    return sort;
  }

  /** A number for each combination of `over`: a plain one, or (`of`) the number of a thing, 0 for none. */
  field(over: readonly Sort[], of?: Sort): Field {
    const field = new Field(this.#width, over, of);
    this.#width += field.cells;
    this.#fields.push(field);
    return field;
  }

  /** A state in which everything is 0. */
  blank(): State {
    return new Uint8Array(this.#width);
  }
}

export class Field {
  readonly over: readonly Sort[];
  readonly of: Sort | undefined;
  readonly cells: number;
  readonly #start: number;
  readonly #second: number;
  readonly #third: number;

  constructor(start: number, over: readonly Sort[], of: Sort | undefined) {
    const [first = 1, second = 1, third = 1] = over.map((sort) => sort.all.length);
    if (over.length > 3) throw new RangeError("a field has three dimensions at most");
    this.over = over;
    this.of = of;
    this.cells = first * second * third;
    this.#start = start;
    this.#second = second;
    this.#third = third;
  }

  /** Where the cell is among the bytes. Indices start at 1; those of dimensions that there are not are 1. */
  cell(first = 1, second = 1, third = 1): number {
    return this.#start + ((first - 1) * this.#second + second - 1) * this.#third + third - 1;
  }

  get(state: State, first = 1, second = 1, third = 1): number {
    return state[this.cell(first, second, third)]!;
  }

  set(state: State, value: number, first = 1, second = 1, third = 1): void {
    // A byte that wraps around would silently become another state.
    if (value < 0 || value > 255) throw new RangeError(`${value} does not fit a cell`);
    state[this.cell(first, second, third)] = value;
  }

  /** All cells. */
  fill(state: State, value: number): void {
    state.fill(value, this.#start, this.#start + this.cells);
  }
}
