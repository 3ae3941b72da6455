import type { Process } from "../engine/process.ts";
import { Checker, type Judged } from "./checker.ts";

interface Call {
  readonly number: number;
  readonly process: Process;
  readonly name: string;
  /** Within which it has to settle by the caller's own clock, ms; infinite: before the run is over. */
  readonly bound: number;
  readonly begunAt: number;
  readonly frozenBefore: number;
  readonly interruptionsBefore: number;
}

/** The caller's clock may be that much slower than true time. */
const slowestClock = 1.06;
/** Timers of whole milliseconds, one after the other. */
const slack = 20;

/**
 * Every call settles within its own time-out, whatever the masters do. Time in which the caller stood still is not counted;
 * and whenever it has stood still, by its own clocks, the round under way takes its time once more.
 */
export class Calls extends Checker {
  readonly #longestRound: number;
  readonly #pending = new Set<Call>();
  #count = 0;
  /** The largest duration of a call, as a fraction of its bound; below 1. */
  readonly longest: Map<string, number> = new Map();

  /** `longestRound`: no round of any call takes longer, ms. */
  constructor(run: Judged, longestRound: number) {
    super(run);
    this.#longestRound = longestRound;
  }

  see(): void {}

  /**
   * In a turn of `process`: the call that `begin` makes is to settle within `bound` ms. Its process may stand still as soon as
   * it has sent something, so the time counts from before.
   */
  async settles<T>(process: Process, name: string, bound: number, begin: () => Promise<T>): Promise<T> {
    this.#count += 1;
    const number = this.#count;
    const { now: begunAt, frozenTime: frozenBefore, interruptions: interruptionsBefore } = process;
    const call = { number, process, name, bound, begunAt, frozenBefore, interruptionsBefore };
    const settled = begin();
    this.#pending.add(call);
    process.record("calls", number, name);
    let how = "done";
    try {
      return await settled;
    } catch (error) {
      how = String((error as { readonly code?: unknown }).code ?? error);
      throw error;
    } finally {
      process.record("settled", number, how);
      this.#pending.delete(call);
      this.#judge(call, "settled only");
    }
  }

  /** The calls that are pending now will not settle. */
  override end(): void {
    for (const call of this.#pending) {
      if (call.process.isDead) continue;
      if (Number.isFinite(call.bound)) this.#judge(call, "had not settled");
      else this.violated("unsettled", `${call.process.name}: ${call.name} never settled`);
    }
  }

  #judge(call: Call, how: string): void {
    const { process, name, bound, begunAt, frozenBefore, interruptionsBefore } = call;
    const took = (process.now - begunAt - (process.frozenTime - frozenBefore)) / 1000;
    const again = (process.interruptions - interruptionsBefore) * Math.min(bound, this.#longestRound);
    // A timer that is late by a tenth of a round has it take its time again: the allowance covers rounds of up to ten times
    // the lateness that is no interruption.
    const limit = (bound + again + slack + 40 * process.timerLateness) * slowestClock;
    this.longest.set(name, Math.max(this.longest.get(name) ?? 0, took / limit));
    if (took <= limit) return;
    const text = `${process.name}: ${name} ${how} after ${took.toFixed(1)} ms awake, bound ${bound.toFixed(1)} ms`;
    this.violated("unsettled", text);
  }
}
