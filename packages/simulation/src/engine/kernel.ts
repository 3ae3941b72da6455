import { breathe, systemDrain } from "./drain.ts";
import { type Engine, type EventId, longestDelay, shortestDelay } from "./engine.ts";
import { Trace } from "./trace.ts";

/** Runs in turns; see `Process`. */
export interface TurnTaker {
  /** Code with promises: its turn ends only when every continuation has run. */
  readonly isAsynchronous: boolean;
  /** Called when its turn is over, still at the time of the turn. */
  endTurn(): void;
}

/** Maximum number of turns before the host may do other work. */
const turnsInOneBreath = 20_000;

/**
 * Runs a simulation: one event, one process, then every promise continuation that follows from it, then the next
 * event.
 *
 * Problem: the real client runs unchanged in simulated processes, all of them in one JavaScript thread. Promise
 * continuations run in one shared queue: without a barrier, the continuations of several processes interleave in an
 * order that depends on the number of `await`s, and a clock reading cannot tell which process asks. Mocked timers
 * alone solve neither.
 *
 * Solution: the kernel owns the clock, and time moves only from event to event. Each event gives one process a turn.
 * If that process is asynchronous, the kernel waits until the promise queue is empty (`Drain`), and only then ends the
 * turn and takes the next event. So the running process is always known, its own drifting clock can be used, and the
 * same seed gives the same run.
 */
export class Kernel {
  /** Whose turn has continuations left. Two kernels of one thread take turns: what a continuation publishes is of one process. */
  static #inTurn: Kernel | undefined;
  readonly engine: Engine;
  readonly trace: Trace;
  readonly #drain = systemDrain();
  #running: TurnTaker | undefined;
  #mustDrain = false;
  #steps = 0;

  constructor(engine: Engine, trace: Trace = new Trace()) {
    this.engine = engine;
    this.trace = trace;
  }

  /** True time, us. */
  get now(): number {
    return this.engine.now;
  }

  /** Events that have happened. */
  get steps(): number {
    return this.#steps;
  }

  /** The process that has the current turn. */
  get running(): TurnTaker | undefined {
    return this.#running;
  }

  /** Gives `process` a turn, in which it does what `item` is. One for each event. */
  turn(process: TurnTaker, item: { act(): void }): void {
    if (this.#running) throw new Error("two processes cannot have a turn in one event");
    this.#running = process;
    item.act();
    if (process.isAsynchronous) this.#mustDrain = true;
    else this.#endTurn();
  }

  /** Runs event after event until `until` (true time, us), or until `isOver` or nothing is left to happen. */
  run(until: number, isOver: () => boolean = () => false): Promise<void> {
    const end = this.#endAt(until);
    let turns = 0;
    return new Promise<void>((resolve, reject) => {
      const go = (): void => {
        if (Kernel.#inTurn !== this && Kernel.#inTurn !== undefined) {
          breathe(go);
          return;
        }
        Kernel.#inTurn = undefined;
        try {
          this.#endTurn();
          while (!end.isReached && !isOver() && this.engine.step()) {
            this.#steps += 1;
            if (!this.#mustDrain) continue;
            this.#mustDrain = false;
            Kernel.#inTurn = this;
            turns += 1;
            if (turns % turnsInOneBreath === 0) breathe(go);
            else this.#drain(go);
            return;
          }
          resolve();
        } catch (error) {
          reject(error);
        }
      };
      this.#drain(go);
    }).finally(end.cancel);
  }

  /** A separate event, or several where no delay is long enough. */
  #endAt(time: number): { readonly isReached: boolean; readonly cancel: () => void } {
    const approach = (): EventId =>
      this.engine.schedule(
        () => {
          if (this.now >= time) end.isReached = true;
          else event = approach();
        },
        Math.min(Math.max(shortestDelay, time - this.now), longestDelay),
      );
    const end = { isReached: false, cancel: () => this.engine.cancel(event) };
    let event = approach();
    return end;
  }

  #endTurn(): void {
    const process = this.#running;
    this.#running = undefined;
    process?.endTurn();
  }
}
