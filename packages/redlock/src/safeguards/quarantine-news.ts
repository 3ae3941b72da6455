import type { NodeError } from "../errors.ts";
import type { Runtime } from "../time/runtime.ts";

/** Two quarantines that end within this time of each other are taken for one, ms: what a busy network may add. */
const tolerance = 500;

/**
 * Which `QUARANTINE` faults of one master the user is told about: the first of each quarantine. Every vote meets it until it
 * is over, and the attempts tell that; the event tells the change.
 */
export class QuarantineNews {
  readonly #runtime: Pick<Runtime, "monotonic">;
  readonly #maxTtl: number;
  /** When the quarantine that was told last ends, by the monotonic clock. */
  #end = Number.NEGATIVE_INFINITY;

  constructor(runtime: Pick<Runtime, "monotonic">, maxTtl: number) {
    this.#runtime = runtime;
    this.#maxTtl = maxTtl;
  }

  isNews({ message }: NodeError): boolean {
    const now = this.#runtime.monotonic();
    const told = this.#end;
    // A vote that does not count, since it is a repaired key there, does not say for how long.
    const left = /for (\d+) ms more/.exec(message)?.[1];
    const end = now + (left === undefined ? this.#maxTtl : Number(left));
    // Masters' clocks may run at another rate, and an old one is told until it is over.
    const isNew = left === undefined ? now >= told : end > told + tolerance + this.#maxTtl / 100;
    if (isNew) this.#end = end;
    return isNew;
  }
}
