/** Steps between numbered states, kept to be walked against their direction. */
export class EdgeList {
  #from = new Int32Array(1 << 16);
  #to = new Int32Array(1 << 16);
  #size = 0;

  add(from: number, to: number): void {
    if (from === -1 || from === to) return;
    if (this.#size === this.#from.length) {
      this.#from = doubled(this.#from);
      this.#to = doubled(this.#to);
    }
    this.#from[this.#size] = from;
    this.#to[this.#size] = to;
    this.#size += 1;
  }

  /** 1 for each of `count` states that is a goal or has a way to one. */
  backwardsFrom(count: number, isGoal: (number: number) => boolean): Uint8Array {
    const { starts, origins } = this.#byTarget(count);
    const reached = new Uint8Array(count);
    const queue = new Int32Array(count);
    let end = 0;
    const reach = (number: number): void => {
      if (reached[number] === 1) return;
      reached[number] = 1;
      queue[end] = number;
      end += 1;
    };
    for (let number = 0; number < count; number += 1) if (isGoal(number)) reach(number);
    for (let next = 0; next < end; next += 1) {
      const number = queue[next]!;
      for (let edge = starts[number]!; edge < starts[number + 1]!; edge += 1) reach(origins[edge]!);
    }
    return reached;
  }

  /** The origins of all edges, sorted by target: those of `n` are from `starts[n]` to `starts[n + 1]`. */
  #byTarget(count: number): { starts: Int32Array; origins: Int32Array } {
    const starts = new Int32Array(count + 1);
    for (let edge = 0; edge < this.#size; edge += 1) starts[this.#to[edge]! + 1]! += 1;
    for (let number = 0; number < count; number += 1) starts[number + 1]! += starts[number]!;
    const free = starts.slice();
    const origins = new Int32Array(this.#size);
    for (let edge = 0; edge < this.#size; edge += 1) {
      const target = this.#to[edge]!;
      origins[free[target]!] = this.#from[edge]!;
      free[target]! += 1;
    }
    return { starts, origins };
  }
}

function doubled(array: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const result = new Int32Array(array.length * 2);
  result.set(array);
  return result;
}
