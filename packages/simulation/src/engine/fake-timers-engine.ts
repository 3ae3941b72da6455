import { type Clock, withGlobal } from "@sinonjs/fake-timers";
import { checkDelay, type Engine, type EventId } from "./engine.ts";

/**
 * A global whose timers are plain numbers. With Node's own, every fake timer would be an object with `ref` and
 * `unref` made to measure: 876 against 234 ns each.
 */
const plainGlobal = { setTimeout: () => 1, clearTimeout: () => {}, Date };

/** The event queue on @sinonjs/fake-timers, whose millisecond is our microsecond. The reference. */
export class FakeTimersEngine implements Engine {
  readonly #clock: Clock = withGlobal(plainGlobal as never).createClock(0);

  get now(): number {
    return this.#clock.now;
  }

  get pending(): number {
    return this.#clock.countTimers();
  }

  schedule(callback: () => void, delay: number): EventId {
    checkDelay(delay);
    return this.#clock.setTimeout(callback, delay) as unknown as EventId;
  }

  cancel(event: EventId): void {
    this.#clock.clearTimeout(event);
  }

  step(): boolean {
    if (this.#clock.countTimers() === 0) return false;
    this.#clock.next();
    return true;
  }
}
