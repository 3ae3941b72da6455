import type { Context } from "../protocol/context.ts";
import { answerOf, timeRead } from "../protocol/question.ts";
import { quorumOf } from "../protocol/quorum.ts";
import { hasLeapt, type Moment, type Reading, uncertaintyAt } from "../protocol/reading.ts";
import { askMost } from "./ask-most.ts";

/** The age from which the masters' time is read again, ms; sooner if they did not tell it. */
const maxAge = 10_000;
const maxAgeAlone = 200;
/** A time beyond this, ms (in the year 2112), is none: a ticket is a whole number of microseconds below 2^53. */
const maxTime = 2 ** 52 / 1000;

/**
 * Makes tickets of the times at which calls began (PROTOCOL 7.2). A ticket is in microseconds since the epoch, by the
 * median of the masters' clocks, so that the clocks of clients do not matter. If fewer than a quorum of masters tell
 * their time, it is by our own wall clock.
 *
 * Problem: two clients may have different times, because a master's clock has stepped since one of them read it, or
 * because they heard different masters, whose clocks differ. Each new call of the slow one passes the waiting calls of
 * the other, for as long as the difference is.
 *
 * Solution: the time is behind no ticket that a quorum of masters has named.
 */
export class TicketClock {
  /** The microsecond in which the latest call began, by the monotonic clock: no two calls began in the same one. */
  latestCall = 0;
  readonly #context: Context;
  /** The latest median, until masters that were asked again do not tell their time. */
  #median: Reading | undefined;
  /** When the masters were asked, whether they answered or not. */
  #asked: Moment | undefined;
  readonly #driftFactor: number;
  /** The smallest offset that was behind no ticket of others at that time, by the monotonic clock; ms. */
  #floor = { offset: Number.NEGATIVE_INFINITY, at: 0 };

  /** `driftFactor`: the maximum difference between the rates of two clocks. */
  constructor(context: Context, driftFactor: number) {
    this.#context = context;
    this.#driftFactor = driftFactor;
  }

  /** Whether tickets have to wait until the masters have been asked. */
  get mustAsk(): boolean {
    if (this.#readings.length >= this.#quorum) return false;
    return this.#asked === undefined || hasLeapt(this.#asked, this.#now());
  }

  /** Whether the masters are to be asked again. */
  get isOld(): boolean {
    if (this.mustAsk) return true;
    const since = this.#asked ?? this.#reading!.heard;
    return this.#now().monotonic - since.monotonic > (this.isAlone ? maxAgeAlone : maxAge);
  }

  /** The microsecond of a call that counts as called now. */
  callNow(): number {
    this.latestCall = Math.max(Math.floor(this.#context.runtime.monotonic() * 1000), this.latestCall + 1);
    return this.latestCall;
  }

  /** The ticket of a call, by the microsecond in which it began. */
  ticketOf(call: number): number {
    const offset = Math.max(this.#reading?.ofMonotonic ?? this.#wallOffset, this.#floor.offset);
    return Math.max(1, call + Math.round(offset * 1000));
  }

  /** The ticket of a call that began now. */
  now(): number {
    return this.ticketOf(Math.floor(this.#context.runtime.monotonic() * 1000));
  }

  /** Whether tickets are made by our own clock. */
  get isAlone(): boolean {
    return this.#reading === undefined;
  }

  /**
   * Records a ticket that a quorum of masters has named. Returns whether it shows that our time was behind that of
   * others by more than readings are wrong.
   */
  observe(ticket: number): boolean {
    const ahead = (ticket - this.now()) / 1000;
    if (ahead <= 0 || ticket >= maxTime * 1000) return false;
    const at = this.#context.runtime.monotonic();
    this.#floor = { offset: ticket / 1000 - at, at };
    const reading = this.#reading;
    return reading === undefined || ahead > 2 * uncertaintyAt(reading, at);
  }

  /** Reads the clocks of the masters. A reading that too few answer does not prevent the next. */
  async read(): Promise<void> {
    const { nodes, runtime } = this.#context;
    const asked = this.#now();
    this.#asked = asked;
    await askMost(runtime, nodes.length, this.#quorum, (index, onAnswer) => {
      const node = nodes[index]!;
      if (node.clock) void answerOf(node, timeRead).then(onAnswer);
      else onAnswer();
    });
    this.#lowerFloor();
    if (this.#readings.length < this.#quorum && asked === this.#asked) this.#median = undefined;
  }

  /** The best of each master. */
  get #readings(): readonly Reading[] {
    const readings = this.#context.nodes.flatMap(({ clock }) => clock?.best ?? []);
    return readings.filter(({ ofMonotonic }) => ofMonotonic < maxTime);
  }

  /** The median; the lower one of two in the middle: clients that hear the same masters choose the same. */
  get #reading(): Reading | undefined {
    const readings = this.#readings.toSorted((a, b) => a.ofMonotonic - b.ofMonotonic);
    if (readings.length >= this.#quorum) this.#median = readings[Math.floor((readings.length - 1) / 2)];
    return this.#median;
  }

  get #quorum(): number {
    return quorumOf(this.#context.nodes.length);
  }

  /**
   * Our clock may be fast: a floor that stayed would let our time run ahead of the masters' for ever. It is behind no
   * ticket that was named even if it goes slower (PROTOCOL 7.2).
   */
  #lowerFloor(): void {
    const now = this.#context.runtime.monotonic();
    const { offset, at } = this.#floor;
    this.#floor = { offset: offset - (now - at) * this.#driftFactor, at: now };
  }

  #now(): Moment {
    const { runtime } = this.#context;
    return { monotonic: runtime.monotonic(), wall: runtime.wall() };
  }

  get #wallOffset(): number {
    const { monotonic, wall } = this.#now();
    return wall - monotonic;
  }
}
