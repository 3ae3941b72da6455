import type { Kernel } from "../engine/kernel.ts";
import type { Findings } from "./findings.ts";
import type { Tenure } from "./tenures.ts";

/**
 * The resources themselves: who wrote last, and whether it was that one's turn. Where locks come with fencing
 * tokens the resource turns away a token smaller than one it has seen, as the user's own would.
 */
export class Effects {
  readonly #kernel: Kernel;
  readonly #findings: Findings;
  readonly #latest = new Map<string, Tenure>();
  readonly #largestTokens = new Map<string, number>();

  constructor(kernel: Kernel, findings: Findings) {
    this.#kernel = kernel;
    this.#findings = findings;
  }

  /**
   * A write in the same turn as a look at the lock that said there is time left. A turn that was stalled in between
   * writes that much later: others may have written first.
   */
  write(resource: string, tenure: Tenure): void {
    const { process } = tenure;
    const wait = process.now - this.#kernel.now;
    if (wait === 0) this.#reach(resource, tenure);
    else
      this.#kernel.engine.schedule(() => {
        if (!process.isDead) this.#reach(resource, tenure);
      }, wait);
  }

  #reach(resource: string, tenure: Tenure): void {
    tenure.process.record("writes", resource, tenure.number);
    const { fencingToken } = tenure;
    if (fencingToken !== undefined) {
      const largest = this.#largestTokens.get(resource) ?? Number.NEGATIVE_INFINITY;
      if (fencingToken < largest) {
        tenure.process.record("is turned away", resource, tenure.number);
        this.#findings.reached("fence rejected");
        return;
      }
      this.#largestTokens.set(resource, fencingToken);
    }
    const latest = this.#latest.get(resource);
    if (latest && latest !== tenure && latest.beganAt > tenure.beganAt) {
      this.#findings.violated(
        "effect",
        `${tenure.process.name} wrote to "${resource}" in hold ${tenure.number}, after ${latest.process.name} had ` +
          `written in the later hold ${latest.number}`,
      );
      return;
    }
    this.#latest.set(resource, tenure);
  }
}
