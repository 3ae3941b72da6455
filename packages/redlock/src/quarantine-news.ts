import type { NodeError } from "./errors.ts";
import type { Runtime } from "./runtime.ts";

/** Two quarantines that end within this time of each other are taken for one, ms: what a busy network may add. */
const tolerance = 500;

/**
 * Which `QUARANTINE` faults the user is told about: the first of each quarantine of a master. Every vote meets it until it
 * is over, and the attempts tell that; the event tells the change.
 */
export class QuarantineNews {
  readonly #runtime: Pick<Runtime, "monotonic">;
  readonly #maxTtl: number;
  /** For each master, when the quarantine that was told last ends, by the monotonic clock. */
  readonly #ends = new Map<string, number>();

  constructor(runtime: Pick<Runtime, "monotonic">, maxTtl: number) {
    this.#runtime = runtime;
    this.#maxTtl = maxTtl;
  }

  isNews({ node, message }: NodeError): boolean {
    const now = this.#runtime.monotonic();
    const told = this.#ends.get(node) ?? Number.NEGATIVE_INFINITY;
    // A vote that does not count, since it is a repaired key there, does not say for how long.
    const left = /for (\d+) ms more/.exec(message)?.[1];
    const end = now + (left === undefined ? this.#maxTtl : Number(left));
    // Masters' clocks may run at another rate, and an old one is told until it is over.
    const isNew = left === undefined ? now >= told : end > told + tolerance + this.#maxTtl / 100;
    if (isNew) this.#ends.set(node, end);
    return isNew;
  }
}
