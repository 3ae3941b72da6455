import { now } from "@quorlock/simulation/processes";
import type { Stalls } from "@quorlock/testbed";
import type { TimedCall } from "./protocol.ts";

/** Holds calls against the limits that their documentation promises. */
export class Stopwatch {
  readonly #stalls: Stalls;
  readonly #onSlowest: (call: TimedCall) => void;
  #furthest = Number.NEGATIVE_INFINITY;

  /** `onSlowest` is called for each call that exceeds its limit by more than all before it. */
  constructor(stalls: Stalls, onSlowest: (call: TimedCall) => void) {
    this.#stalls = stalls;
    this.#onSlowest = onSlowest;
  }

  /** Settles as `work` does. `limit`: within which it has to, ms. */
  async time<T>(name: string, limit: number, work: () => Promise<T>): Promise<T> {
    const stop = this.start(name, limit);
    try {
      return await work();
    } finally {
      stop();
    }
  }

  /** For a part of a call; what is returned stops the time. */
  start(name: string, limit: number): () => void {
    const began = now();
    const stood = this.#stalls.total;
    return () => {
      const stoodStill = this.#stalls.total - stood;
      const beyond = now() - began - limit - stoodStill;
      if (beyond <= this.#furthest) return;
      this.#furthest = beyond;
      this.#onSlowest({ name, beyond, stoodStill });
    };
  }
}
