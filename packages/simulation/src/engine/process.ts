import type { Runtime, Timer } from "@quorlock/redlock";
import { Clocks, type ClocksOptions, type PartsPerMillion } from "../clocks/clocks.ts";
import type { Random } from "../random.ts";
import { Backlog } from "./backlog.ts";
import { type EventId, longestDelay, shortestDelay } from "./engine.ts";
import type { Kernel, TurnTaker } from "./kernel.ts";
import type { TraceValue } from "./trace.ts";

export interface ProcessOptions extends ClocksOptions {
  readonly name: string;
  /** Whether its code uses promises: a client does, a master does not. */
  readonly isAsynchronous: boolean;
  /** Its random bytes, and how late its timers are. */
  readonly random: Random;
  /** Mean lateness of its timers, ms. */
  readonly timerLateness: number;
}

/** Floating point error that may add to a delay, us. */
const rounding = 0.001;

/** The purpose of a turn. */
interface Item {
  readonly kind: "timer" | "delivery";
  act(): void;
}

/**
 * One process of a simulation: its clocks, its timers, its randomness and its pauses. It is the `Runtime` that a
 * client is given.
 *
 * - *Frozen* (a GC pause, SIGSTOP): nothing runs; what falls due or arrives is kept, in order.
 * - *Suspended*: frozen, and the monotonic clock stands still.
 * - *Stalled*: in the middle of a turn. The rest of the turn happens that much later, and so does all else.
 */
export class Process implements TurnTaker, Runtime {
  readonly name: string;
  readonly isAsynchronous: boolean;
  readonly #kernel: Kernel;
  readonly clocks: Clocks;
  readonly #random: Random;
  readonly #timerLateness: number;
  readonly #backlog: Backlog<Item>;
  /** In no order: each knows its place. (A set that is filled and emptied all the time costs more than the timers.) */
  readonly #timers: ProcessTimer[] = [];
  #timersSet = 0;
  /** Called before each reading of a clock; may stall. */
  onClockRead: (() => void) | undefined;
  /** The time for which this turn has been stalled so far, us. */
  #stalledBy = 0;
  /** Until when it is, or was last, frozen; true time, us. */
  #frozenUntil = 0;
  #frozenTime = 0;
  #interruptions = 0;
  #isSuspended = false;
  #isDead = false;

  constructor(kernel: Kernel, options: ProcessOptions) {
    this.#kernel = kernel;
    this.name = options.name;
    this.isAsynchronous = options.isAsynchronous;
    this.clocks = new Clocks(options);
    this.#random = options.random;
    this.#timerLateness = options.timerLateness * 1000;
    this.#backlog = new Backlog(kernel.engine, (item) => this.#kernel.turn(this, item));
    this.#recordClocks();
  }

  /** Writes in the trace what it does, at the time as far as it has got with it. */
  record(...entry: readonly TraceValue[]): void {
    this.#kernel.trace.add(this.now, this.name, ...entry);
  }

  /** True time as far as this process has got with it, us. */
  get now(): number {
    return this.#kernel.now + this.#stalledBy;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  get isFrozen(): boolean {
    return this.#backlog.isClosed;
  }

  get isSuspended(): boolean {
    return this.#isSuspended;
  }

  /** Whether time was lost in the turn that it is having. */
  get isStalled(): boolean {
    return this.#stalledBy > 0;
  }

  /** Until when it is, or was last, frozen; true time, us. */
  get frozenUntil(): number {
    return this.#frozenUntil;
  }

  /** How long it was frozen so far, us; a pause counts in full when it begins, also in the middle of a turn. */
  get frozenTime(): number {
    return this.#frozenTime + this.#stalledBy;
  }

  /**
   * How often time has passed so far in which it did not run, as its own clocks say: it was frozen, its wall clock was set
   * forward, or a timer was much later than its timers are.
   */
  get interruptions(): number {
    return this.#interruptions + (this.isStalled ? 1 : 0);
  }

  /** Mean lateness of its timers, ms. */
  get timerLateness(): number {
    return this.#timerLateness / 1000;
  }

  monotonic(): number {
    this.onClockRead?.();
    return this.clocks.monotonicAt(this.now);
  }

  wall(): number {
    this.onClockRead?.();
    return this.wallNow();
  }

  /** The wall clock as JavaScript shows it: whole milliseconds, rounded down. */
  wallNow(): number {
    return Math.floor(this.clocks.wallAt(this.now));
  }

  randomBytes(count: number): Uint8Array {
    return this.#random.bytes(count);
  }

  /** As Node's setTimeout: whole milliseconds, at least one. */
  setTimer(callback: () => void, delay: number): Timer {
    if (!(delay >= 0 && delay <= longestDelay)) throw new RangeError(`no timer keeps a delay of ${delay} ms`);
    const due = this.clocks.monotonicAt(this.now) + Math.max(1, Math.trunc(delay));
    const late = this.#timerLateness > 0 ? this.#random.exponential(this.#timerLateness) : 0;
    this.#timersSet += 1;
    const timer = new ProcessTimer(this, callback, due, late, this.#timersSet, this.#timers.length);
    this.#timers.push(timer);
    this.#arm(timer);
    return timer;
  }

  /** Something reaches this process, in an event that has just happened. */
  deliver(act: () => void): void {
    this.#pass({ kind: "delivery", act });
  }

  /** Freezes it for `duration` us; longer if it is frozen for longer already. */
  freeze(duration: number): void {
    const until = this.#kernel.now + this.#stalledBy + duration;
    if (until <= this.#frozenUntil) return;
    this.#interruptions += 1;
    this.#frozenTime += until - Math.max(this.#frozenUntil, this.#kernel.now);
    this.#frozenUntil = until;
    this.#kernel.trace.add(this.#kernel.now, this.name, "frozen", until);
    this.#backlog.close();
    this.#kernel.engine.schedule(
      () => this.#thaw(),
      Math.max(shortestDelay, Math.ceil(until - this.#kernel.now)),
    );
  }

  /** Freezes it for `duration` us, in which its monotonic clock stands still. */
  suspend(duration: number): void {
    this.#afterStall(() => {
      this.clocks.suspend(this.#kernel.now);
      this.#isSuspended = true;
      this.#recordClocks();
      this.#rearm();
      this.#kernel.engine.schedule(() => {
        this.clocks.resume(this.#kernel.now);
        this.#isSuspended = false;
        this.#recordClocks();
        this.#rearm();
      }, duration);
      this.freeze(duration);
    });
  }

  /** To be called in a turn of this process: what is left of the turn happens `duration` us later. */
  stall(duration: number): void {
    if (this.#kernel.running === this) this.#stalledBy += duration;
  }

  setRate(rate: PartsPerMillion): void {
    this.#afterStall(() => {
      this.clocks.setRate(this.#kernel.now, rate);
      this.#recordClocks();
      this.#rearm();
    });
  }

  stepWall(by: number): void {
    if (by > 0) this.#interruptions += 1;
    this.clocks.stepWall(by);
    this.#recordClocks();
  }

  /** Its wall clock stands still, until it `isRight` again. */
  setWall(isRight: boolean): void {
    const { now } = this.#kernel;
    if (isRight) this.clocks.setWallRight(now);
    else this.clocks.stopWall(now);
    this.#recordClocks();
  }

  /** It ends: no timer fires and nothing reaches it any more. */
  kill(): void {
    this.#isDead = true;
    this.record("ends");
    for (const timer of [...this.#timers]) timer.cancel();
    this.#backlog.clear();
  }

  endTurn(): void {
    const stalledBy = this.#stalledBy;
    this.#stalledBy = 0;
    if (stalledBy > 0) this.freeze(stalledBy);
  }

  /** @internal */
  forget(timer: ProcessTimer): void {
    if (timer.event !== undefined) this.#kernel.engine.cancel(timer.event);
    if (this.#timers[timer.place] !== timer) return;
    const last = this.#timers.pop()!;
    if (last === timer) return;
    this.#timers[timer.place] = last;
    last.place = timer.place;
  }

  /** @internal In a turn of this process. */
  run(timer: ProcessTimer): void {
    if (this.#timers[timer.place] !== timer) return;
    this.forget(timer);
    if (timer.late > 4 * this.#timerLateness + 2000) this.#interruptions += 1;
    this.#kernel.trace.add(this.#kernel.now, this.name, "timer");
    timer.callback();
  }

  /** Records the readings and rates of its clocks, which hold until the next record. */
  #recordClocks(): void {
    const { now, trace } = this.#kernel;
    const { wallRate: rate } = this.clocks;
    trace.add(
      now,
      this.name,
      "clocks",
      this.clocks.monotonicAt(now),
      this.clocks.wallAt(now),
      rate,
      this.#isSuspended,
    );
  }

  #pass(item: Item): void {
    if (!this.#isDead) this.#backlog.pass(item);
  }

  #arm(timer: ProcessTimer): void {
    if (timer.event !== undefined) this.#kernel.engine.cancel(timer.event);
    timer.event = undefined;
    const delay = this.#stalledBy + this.clocks.untilMonotonic(this.now, timer.due) + timer.late;
    if (delay === Number.POSITIVE_INFINITY) return;
    const isWhole = delay <= longestDelay;
    const ticks = isWhole ? Math.max(shortestDelay, Math.ceil(delay - rounding)) : longestDelay;
    timer.event = this.#kernel.engine.schedule(() => {
      timer.event = undefined;
      if (isWhole) this.#fire(timer);
      else this.#arm(timer);
    }, ticks);
  }

  #fire(timer: ProcessTimer): void {
    timer.isDue = true;
    this.#pass(timer);
  }

  /** A local delay takes another true time now. */
  #rearm(): void {
    const waiting = this.#timers.filter((timer) => !timer.isDue);
    // Of two that are due at the same time the older one fires first.
    for (const timer of waiting.sort((one, other) => one.number - other.number)) this.#arm(timer);
  }

  /** A clock that was read ahead of time, in a stalled turn, keeps its rate until then: it must not step back. */
  #afterStall(act: () => void): void {
    const wait = this.#frozenUntil - this.#kernel.now;
    if (wait > 0) this.#kernel.engine.schedule(act, Math.ceil(wait));
    else act();
  }

  /** As Node's event loop goes on after a pause: timers first, then what lies in the sockets. */
  #thaw(): void {
    if (this.#kernel.now < this.#frozenUntil) return;
    this.#backlog.open((items) => [
      ...items.filter(({ kind }) => kind === "timer"),
      ...items.filter(({ kind }) => kind === "delivery"),
    ]);
  }
}

class ProcessTimer implements Timer, Item {
  readonly kind = "timer";
  readonly #process: Process;
  readonly callback: () => void;
  /** By the monotonic clock. */
  readonly due: number;
  /** Its delay, us. */
  readonly late: number;
  /** In the order of setting. */
  readonly number: number;
  /** Among the timers of its process. */
  place: number;
  event: EventId | undefined;
  isDue = false;

  constructor(
    process: Process,
    callback: () => void,
    due: number,
    late: number,
    number: number,
    place: number,
  ) {
    this.#process = process;
    this.callback = callback;
    this.due = due;
    this.late = late;
    this.number = number;
    this.place = place;
  }

  act(): void {
    this.#process.run(this);
  }

  cancel(): void {
    this.#process.forget(this);
  }

  unref(): void {}
}
