import { Checker, type RunEvent } from "./checker.ts";
import type { LockInterval } from "./lock-interval.ts";

/**
 * The resources themselves: who wrote last, and whether it was that one's turn. Where locks come with fencing
 * tokens the resource turns away a token smaller than one it has seen, as the user's own would.
 */
export class Effects extends Checker {
  readonly #latest = new Map<string, LockInterval>();
  readonly #largestTokens = new Map<string, number>();

  see(event: RunEvent): void {
    if (event.is !== "acted") return;
    const { interval } = event;
    // A write in the same turn as a look at the lock that said there is time left. A turn that was stalled in between
    // writes that much later: others may have written first.
    for (const resource of interval.lock.resources)
      this.whenAwake(interval.process, () => this.#reach(resource, interval));
  }

  #reach(resource: string, interval: LockInterval): void {
    interval.process.record("writes", resource, interval.number);
    const { fencingToken } = interval;
    if (fencingToken !== undefined) {
      const largest = this.#largestTokens.get(resource) ?? Number.NEGATIVE_INFINITY;
      if (fencingToken < largest) {
        interval.process.record("is turned away", resource, interval.number);
        this.reached("fence rejected");
        return;
      }
      this.#largestTokens.set(resource, fencingToken);
    }
    const latest = this.#latest.get(resource);
    if (latest && latest !== interval && latest.beganAt > interval.beganAt) {
      this.violated(
        "effect",
        `${interval.process.name} wrote to "${resource}" in hold ${interval.number}, after ${latest.process.name} had ` +
          `written in the later hold ${latest.number}`,
      );
      return;
    }
    this.#latest.set(resource, interval);
  }
}
