import TinyQueue from "tinyqueue";
import { Fifo } from "./fifo.ts";
import type { LeaseClock } from "./lease-clock.ts";
import { maxTimerDelay, type Runtime, type Timer } from "./runtime.ts";

/** An object with a callback for a certain time. */
export interface TimerTask {
  /** Called once for each task that was not cancelled. */
  onDue(): void;
  /** Whether the callback starts longer work, and may be deferred a little after others. */
  readonly mayWait?: boolean;
}

export interface TimerHandle {
  /** In lease time. */
  readonly due: number;
  /** `undefined` after the callback or the cancellation. */
  readonly task: TimerTask | undefined;
}

/** A timer that is later than this by lease time is not relied on any more, ms. */
const maxLateness = 1000;

/** The number of deferrable tasks that are called in one turn: some milliseconds of work (PROTOCOL 12.11). */
const maxPerTurn = 128;

/**
 * The deadlines and renewals of all locks of one client, on one timer: the tasks of ten thousand held locks are in
 * one heap, and those due at the same time run in one turn.
 *
 * Tasks are due by lease time: a clock jump brings everything forward at once. The timer only says when to check, so
 * it may fire too early, for a task that has been cancelled since. It does not keep the process alive.
 */
export class Timers {
  readonly #runtime: Runtime;
  readonly #clock: LeaseClock;
  #queue: TinyQueue<Entry> = queueOf([]);
  /** Due tasks that wait for their turn. */
  readonly #waiting = new Fifo<Entry>();
  /** Cancellations since the last sweep of the queue: at most this many of its entries are dead. */
  #cancelled = 0;
  #timer: Timer | undefined;
  /** The due time of the timer; minus infinity while tasks are called, since it is set again after that. */
  #timerDue = Number.POSITIVE_INFINITY;
  /** When the timer is to fire, in lease time. */
  #firesAt = 0;

  constructor(runtime: Runtime, clock: LeaseClock) {
    this.#runtime = runtime;
    this.#clock = clock;
  }

  /** The number of entries, those included that were cancelled and not removed yet. */
  get size(): number {
    return this.#queue.length;
  }

  /** The number of due tasks that have not been called, because others are called in this turn. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Calls `task` at `due`, in lease time, or as soon after it as timers allow. */
  add(due: number, task: TimerTask): TimerHandle {
    const entry: Entry = { due, task };
    this.#queue.push(entry);
    if (due < this.#timerDue || this.#isDead) this.#setTimer();
    return entry;
  }

  /** One timer serves all tasks: one that was set while a test had faked the timers would be the end of all of them. */
  get #isDead(): boolean {
    if (!this.#timer) return false;
    return this.#timer.isForeign === true || this.#clock.latest > this.#firesAt + maxLateness;
  }

  /** No effect after the task was called. */
  cancel(timerHandle: TimerHandle | undefined): void {
    if (!timerHandle?.task) return;
    (timerHandle as Entry).task = undefined;
    this.#cancelled += 1;
    // Most locks are released long before their deadline, and nothing may be left of them until then. So at most half
    // of the queue is dead, and a sweep costs as much as the cancellations before it.
    if (this.#cancelled * 2 > this.#queue.length) this.#sweep();
  }

  /** Sets the timer again after a clock jump. */
  clockJumped(): void {
    if (this.#timer) this.#setTimer();
  }

  #sweep(): void {
    this.#queue = queueOf(this.#queue.data.filter(({ task }) => task));
    this.#cancelled = 0;
    if (this.#queue.length === 0 && this.#timer) this.#setTimer();
  }

  /** Sets the timer for the earliest task, or none if there is none. */
  #setTimer(): void {
    const next = this.#queue.peek();
    // The clock is read first: if it detects a jump, the timer that is set for the jump is replaced here as well.
    const isWaiting = this.#waiting.length > 0;
    const left = next && !isWaiting ? next.due - this.#clock.now() : 0;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerDue = isWaiting ? Number.NEGATIVE_INFINITY : (next?.due ?? Number.POSITIVE_INFINITY);
    if (!next && !isWaiting) return;
    const delay = Math.min(Math.max(Math.ceil(left), 0), maxTimerDelay);
    this.#firesAt = this.#clock.latest + delay;
    this.#timer = this.#runtime.setTimer(() => this.#look(), delay);
    this.#timer.unref();
  }

  #look(): void {
    this.#timer = undefined;
    this.#timerDue = Number.NEGATIVE_INFINITY;
    const now = this.#clock.now();
    try {
      for (let next = this.#queue.peek(); next && next.due <= now; next = this.#queue.peek()) {
        this.#queue.pop();
        if (next.task?.mayWait) this.#waiting.push(next);
        else call(next);
      }
      // Thousands of extensions that are due at once would keep the process from reading any answer until the last
      // one is sent. With turns, the first ones are finished before the last ones begin.
      for (let called = 0; called < maxPerTurn && this.#waiting.length > 0; called += 1) {
        call(this.#waiting.shift()!);
      }
    } finally {
      this.#setTimer();
    }
  }
}

interface Entry extends TimerHandle {
  task: TimerTask | undefined;
}

function call(entry: Entry): void {
  const { task } = entry;
  entry.task = undefined;
  task?.onDue();
}

function queueOf(entries: Entry[]): TinyQueue<Entry> {
  return new TinyQueue(entries, (one, other) => one.due - other.due);
}
