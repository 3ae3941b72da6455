import { now } from "@quorlock/simulation/processes";
import type { Write } from "../history/history.ts";

/**
 * The resource: a number for each key. A holder of the key's lock reads it and writes it plus one. The store does not
 * stop two holders from doing so at once; an overwritten value is lost.
 */
export class Store {
  readonly #values = new Map<string, number>();
  readonly #time: () => number;
  #accepted = 0;

  constructor(time: () => number = now) {
    this.#time = time;
  }

  /** Writes that were done. */
  get accepted(): number {
    return this.#accepted;
  }

  /** The number of accepted writes that are missing from the values. */
  get lost(): number {
    let sum = 0;
    for (const value of this.#values.values()) sum += value;
    return this.#accepted - sum;
  }

  read(key: string): number {
    return this.#values.get(key) ?? 0;
  }

  /** Executes the write, unless the writer's deadline has passed. */
  write(draft: Omit<Write, "at" | "accepted">, deadline: number | undefined): Write {
    const at = this.#time();
    const accepted = deadline === undefined || at < deadline;
    if (accepted) {
      this.#values.set(draft.key, draft.value);
      this.#accepted += 1;
    }
    return { ...draft, at, accepted };
  }
}
