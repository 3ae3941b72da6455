import TinyQueue from "tinyqueue";
import { Fifo } from "./fifo.ts";
import type { LeaseClock } from "./lease-clock.ts";
import { longestTimer, type Runtime, type Timer } from "./runtime.ts";

/** Who has something to do at a time. */
export interface TimerTask {
  /** Called once for each task that was not cancelled. */
  onDue(): void;
  /** Whether it begins something that takes time, and may wait a little until others have. */
  readonly mayWait?: boolean;
}

export interface TimerHandle {
  /** In lease time. */
  readonly due: number;
  /** `undefined` once it has been kept or cancelled. */
  readonly who: TimerTask | undefined;
}

/** Of those that may wait, so many are called in one turn: some milliseconds of work. */
const mostInTurn = 128;

/**
 * The deadlines and renewals of all locks of one client, on one timer: ten thousand locks that are held stand in
 * one heap, and those that are due at one time are seen to in one turn.
 *
 * By lease time: a leap of it brings everything forward at once. The timer only says when to look, so it may come
 * too early, for something that has been cancelled since. It keeps no process alive.
 */
export class Timers {
  readonly #runtime: Runtime;
  readonly #clock: LeaseClock;
  #queue: TinyQueue<Entry> = queueOf([]);
  /** Due, and waiting for their turn. */
  readonly #waiting = new Fifo<Entry>();
  /** Since the queue was last swept: no more than these in it are dead. */
  #cancelled = 0;
  #timer: Timer | undefined;
  /** When the timer is due; minus infinity while timer tasks are kept, since it is set anew after that. */
  #timerDue = Number.POSITIVE_INFINITY;

  constructor(runtime: Runtime, clock: LeaseClock) {
    this.#runtime = runtime;
    this.#clock = clock;
  }

  /** How many stand in it, those included that were cancelled and have not left it yet. */
  get size(): number {
    return this.#queue.length;
  }

  /** How many are due and have not been called, because others are called in this turn. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Calls `who` at `due`, in lease time, or as soon after it as timers allow. */
  add(due: number, who: TimerTask): TimerHandle {
    const entry: Entry = { due, who };
    this.#queue.push(entry);
    if (due < this.#timerDue) this.#setTimer();
    return entry;
  }

  /** Harmless when it has been kept. */
  cancel(timerHandle: TimerHandle | undefined): void {
    if (!timerHandle?.who) return;
    (timerHandle as Entry).who = undefined;
    this.#cancelled += 1;
    // Most locks are released long before their deadline, and nothing may be left of them until then. So at most
    // half of the queue is dead, and a sweep costs as much as the cancellations before it.
    if (this.#cancelled * 2 > this.#queue.length) this.#sweep();
  }

  /** Lease time has leapt ahead of the timer. */
  leap(): void {
    if (this.#timer) this.#setTimer();
  }

  #sweep(): void {
    this.#queue = queueOf(this.#queue.data.filter(({ who }) => who));
    this.#cancelled = 0;
    if (this.#queue.length === 0 && this.#timer) this.#setTimer();
  }

  /** For the earliest; for none when there is none. */
  #setTimer(): void {
    const next = this.#queue.peek();
    // The clock first: if it finds that it has leapt, the timer that is set for that is replaced here as well.
    const isWaiting = this.#waiting.length > 0;
    const left = next && !isWaiting ? next.due - this.#clock.now() : 0;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerDue = isWaiting ? Number.NEGATIVE_INFINITY : (next?.due ?? Number.POSITIVE_INFINITY);
    if (!next && !isWaiting) return;
    const delay = Math.min(Math.max(Math.ceil(left), 0), longestTimer);
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
        if (next.who?.mayWait) this.#waiting.push(next);
        else call(next);
      }
      // Thousands of extensions that are due at once would keep the process from reading any answer until the last of
      // them is sent. This way the first are done before the last begin.
      for (let called = 0; called < mostInTurn && this.#waiting.length > 0; called += 1) {
        call(this.#waiting.shift()!);
      }
    } finally {
      this.#setTimer();
    }
  }
}

interface Entry extends TimerHandle {
  who: TimerTask | undefined;
}

function call(entry: Entry): void {
  const { who } = entry;
  entry.who = undefined;
  who?.onDue();
}

function queueOf(entries: Entry[]): TinyQueue<Entry> {
  return new TinyQueue(entries, (one, other) => one.due - other.due);
}
