import {
  type ClockReadings,
  hasLeapt,
  type Moment,
  type Reading,
  readingOf,
  uncertaintyAt,
} from "../protocol/reading.ts";
import { WeakListeners } from "../protocol/weak-listeners.ts";
import type { Runtime } from "../time/runtime.ts";
import type { Connection } from "./connection.ts";
import { timeIn } from "./reply-numbers.ts";

/** The readings of the master's clock when a connection is made: the most exact one counts. */
const firstReadings = 3;

/**
 * The clock of the master that a connection leads to, one for all nodes of the connection. Each reading of it comes here,
 * whatever it was made for: an order of tickets (PROTOCOL 7.2), the clock watch (11.1), or a vote that is judged by it (11.4).
 */
export class MasterClock implements ClockReadings {
  readonly #listeners = new WeakListeners<[reading: Reading]>();
  readonly #runtime: Pick<Runtime, "monotonic" | "wall">;
  #best: Reading | undefined;
  #isReadFirst = false;

  constructor(runtime: Pick<Runtime, "monotonic" | "wall">) {
    this.#runtime = runtime;
  }

  now(): Moment {
    return { monotonic: this.#runtime.monotonic(), wall: this.#runtime.wall() };
  }

  /** The most exact reading: one of a busy process is heard late. None if one of our own clocks has leapt since. */
  get best(): Reading | undefined {
    return this.#best && !hasLeapt(this.#best.heard, this.now()) ? this.#best : undefined;
  }

  /** Records that the clock showed `time`, ms, at some moment since `sent`. */
  observe(sent: Moment, time: number): Reading {
    const reading = readingOf(sent, this.now(), time);
    if (isBetter(reading, this.best)) this.#best = reading;
    this.#listeners.call(reading);
    return reading;
  }

  /** Calls `listener` with each reading, for as long as its owner keeps a reference to it. */
  onReading(listener: (reading: Reading) => void): void {
    this.#listeners.add(listener);
  }

  /** The connection may lead to another server. */
  forget(): void {
    this.#best = undefined;
  }

  /**
   * From now on it is read whenever its connection is made: users wait in queues. Not in the burst of calls that needs it,
   * which hears the answers late (PROTOCOL 7.2).
   */
  readFirst(connection: Connection): void {
    if (!this.#isReadFirst) connection.onReady(() => void this.#readOn(connection));
    this.#isReadFirst = true;
  }

  async #readOn(connection: Connection): Promise<void> {
    const { session } = connection;
    for (let count = 0; count < firstReadings; count += 1) {
      const sent = this.now();
      const time = timeIn(await connection.send("TIME", []).catch(() => undefined));
      if (connection.session !== session) return;
      if (count === 0) this.forget();
      if (time === undefined) return;
      this.observe(sent, time);
    }
  }
}

/** The earlier reading stays if it agrees with the later one and is no less exact. */
function isBetter(later: Reading, earlier: Reading | undefined): boolean {
  if (!earlier) return true;
  const uncertainty = uncertaintyAt(earlier, later.heard.monotonic);
  const difference = Math.abs(later.ofMonotonic - earlier.ofMonotonic);
  return later.uncertainty < uncertainty || difference > later.uncertainty + uncertainty;
}
