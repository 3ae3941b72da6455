import type { MastersOptions } from "@quorlock/testbed";
import { expect } from "vitest";
import { Fleet, fresh, type Opened, type OpenOptions, untilConnected } from "./fleet.ts";

/** The longest ttl that the restart guard is told of, ms; the quarantines of these tests are as long. */
export const ttl = 6000;
export const restartGuard = { maxTtl: ttl };

/** Five masters, clients with the restart guard, and what may happen to such masters. */
export class GuardedFleet implements AsyncDisposable {
  readonly fleet: Fleet;

  private constructor(fleet: Fleet) {
    this.fleet = fleet;
  }

  /** As {@link Fleet.forTests}. */
  static forTests(persistence: MastersOptions["persistence"] = "none"): GuardedFleet {
    return new GuardedFleet(Fleet.forTests(5, { persistence }));
  }

  static async start(persistence: MastersOptions["persistence"] = "none", count = 5): Promise<GuardedFleet> {
    return new GuardedFleet(await Fleet.start(count, { persistence }));
  }

  /** All masters have been declared new, and vote. */
  async openNew(options: OpenOptions = {}): Promise<Opened> {
    const opened = this.fleet.open({ restartGuard, ...options });
    await untilConnected(opened);
    await opened.redlock.initialize();
    await this.#warmUp(opened);
    return opened;
  }

  /** One more client of the same masters. */
  async openGuarded(options: OpenOptions = {}): Promise<Opened> {
    const opened = this.fleet.open({ restartGuard, ...options });
    await this.#warmUp(opened);
    return opened;
  }

  /** Until every master has voted: nothing of the connection, or of the scripts, is new any more. */
  async #warmUp({ redlock }: Opened): Promise<void> {
    await this.fleet.teachScripts();
    const lock = await redlock.acquire(fresh("warm-up"), ttl);
    expect((await lock.attempts[0]!).votesFor.size).toBe(this.fleet.masters.length);
    await Promise.all((await lock.release()).attempts);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.fleet.stop();
  }
}
