import { randomInt } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { Redlock } from "@quorlock/redlock";
import { now, parentOf } from "@quorlock/simulation/processes";
import { connect } from "../fixture/connect.ts";

// One of several servers that try to do the same job at the same time; it must be done once.

/** The calls that a server offers. */
export interface Server {
  open(urls: readonly string[]): Promise<void>;
  /** Tries at this moment. `ticket` is missing if another server draws; `after`: the duration of `tryAcquire`, ms. */
  draw(moment: number): Promise<{ readonly ticket?: number; readonly after: number }>;
  leave(): Promise<void>;
}

let redlock: Redlock;

parentOf<object, Server>({
  async open(urls) {
    redlock = connect(urls);
    await redlock.inspect("lottery");
  },
  /**
   * The server holds the lock until it quits. If it released the lock right after the draw, a server that is a moment late
   * would acquire it and draw again.
   */
  async draw(moment) {
    await pause(moment - now());
    const began = now();
    const lock = await redlock.tryAcquire("lottery", 10_000);
    const after = now() - began;
    return lock ? { ticket: randomInt(1_000_000), after } : { after };
  },
  // Releases the lock if it is held.
  leave: () => redlock.quit(),
});
