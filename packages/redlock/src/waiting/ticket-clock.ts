import type { Context } from "../protocol/context.ts";
import type { Answer } from "../protocol/node.ts";
import { answerOf, timeRead } from "../protocol/question.ts";
import { quorumOf } from "../protocol/quorum.ts";
import { askMost } from "./shared-work.ts";

/** The age from which the masters' time is read again, ms; sooner if they did not tell it. */
const maxAge = 10_000;
const maxAgeAlone = 200;
/** Clocks of two machines drift apart by less than this part of the time. */
const drift = 1e-4;
/** If the wall clock and the monotonic clock differ by this much more than at the reading, one has stepped, ms. */
const stepThreshold = 50;
/** A time beyond this, ms (in the year 2112), is none: a ticket is a whole number of microseconds below 2^53. */
const maxTime = 2 ** 52 / 1000;

/** The offset of a clock from our monotonic clock, ms. */
interface Reading {
  readonly offset: number;
  /** Half of the time that the reading took. */
  readonly uncertainty: number;
  /** The time of the reading by the monotonic clock, and the difference of our two clocks at that time. */
  readonly at: number;
  readonly wallOffset: number;
}

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
  #reading: Reading | undefined;
  /** When the masters were asked, whether they answered or not. */
  #asked: Reading | undefined;
  readonly #driftFactor: number;
  /** The smallest offset that was behind no ticket of others at {@link #flooredAt}, by the monotonic clock, ms. */
  #floor = Number.NEGATIVE_INFINITY;
  #flooredAt = 0;

  /** `driftFactor`: the maximum difference between the rates of two clocks. */
  constructor(context: Context, driftFactor: number) {
    this.#context = context;
    this.#driftFactor = driftFactor;
  }

  /** Whether tickets have to wait until the masters have been asked. */
  get mustAsk(): boolean {
    return this.#asked === undefined || Math.abs(this.#wallOffset() - this.#asked.wallOffset) > stepThreshold;
  }

  /** Whether the masters are to be asked again. */
  get isOld(): boolean {
    if (this.mustAsk) return true;
    const age = this.#context.runtime.monotonic() - this.#asked!.at;
    return age > (this.isAlone ? maxAgeAlone : maxAge);
  }

  /** The masters may be others. */
  expire(): void {
    this.#asked = undefined;
  }

  /** The microsecond of a call that counts as called now. */
  callNow(): number {
    this.latestCall = Math.max(Math.floor(this.#context.runtime.monotonic() * 1000), this.latestCall + 1);
    return this.latestCall;
  }

  /** The ticket of a call, by the microsecond in which it began. */
  ticketOf(call: number): number {
    const offset = Math.max(this.#reading?.offset ?? this.#wallOffset(), this.#floor);
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
    this.#flooredAt = this.#context.runtime.monotonic();
    this.#floor = ticket / 1000 - this.#flooredAt;
    return (
      this.#reading === undefined ||
      ahead > 2 * uncertaintyAt(this.#reading, this.#context.runtime.monotonic())
    );
  }

  /** Reads the clocks of the masters. A reading that too few answer does not prevent the next. */
  async read(): Promise<void> {
    const { nodes, runtime } = this.#context;
    const quorum = quorumOf(nodes.length);
    const readings: Reading[] = [];
    const mustForget = this.mustAsk;
    const asked = this.#readingOf(0, runtime.monotonic());
    this.#asked = asked;
    await askMost(runtime, nodes.length, quorum, (index, onAnswer) => {
      const sentAt = runtime.monotonic();
      const onTime = (answer: Answer): void => {
        if (answer.is === "time" && answer.time < maxTime)
          readings.push(this.#readingOf(answer.time, sentAt));
        onAnswer();
      };
      if (!nodes[index]!.queue) onAnswer();
      else void answerOf(nodes[index]!, timeRead).then(onTime);
    });
    this.#lowerFloor();
    // The lower one of two in the middle: clients that hear the same masters choose the same.
    readings.sort((a, b) => a.offset - b.offset);
    const median = readings[Math.floor((readings.length - 1) / 2)];
    if (readings.length >= quorum && isBetter(median!, this.#reading)) this.#reading = median;
    else if (readings.length < quorum && mustForget && asked === this.#asked) this.#reading = undefined;
  }

  /**
   * Our clock may be fast: a floor that stayed would let our time run ahead of the masters' for ever. It is behind no
   * ticket that was named even if it goes slower (PROTOCOL 7.2).
   */
  #lowerFloor(): void {
    const now = this.#context.runtime.monotonic();
    this.#floor -= (now - this.#flooredAt) * this.#driftFactor;
    this.#flooredAt = now;
  }

  #readingOf(time: number, sentAt: number): Reading {
    const at = this.#context.runtime.monotonic();
    const uncertainty = (at - sentAt) / 2;
    return { offset: time - sentAt - uncertainty, uncertainty, at, wallOffset: this.#wallOffset() };
  }

  #wallOffset(): number {
    const { runtime } = this.#context;
    return runtime.wall() - runtime.monotonic();
  }
}

/** The earlier reading stays if it agrees with the later one and is no less exact. */
function isBetter(later: Reading, earlier: Reading | undefined): boolean {
  if (!earlier) return true;
  const uncertainty = uncertaintyAt(earlier, later.at);
  const difference = Math.abs(later.offset - earlier.offset);
  return later.uncertainty < uncertainty || difference > later.uncertainty + uncertainty;
}

function uncertaintyAt({ uncertainty, at }: Reading, time: number): number {
  return uncertainty + (time - at) * drift;
}
