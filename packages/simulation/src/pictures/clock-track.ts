import type { ClockStretch } from "./picture.ts";

interface Segment {
  readonly at: number;
  /** Readings at `at`, ms. */
  readonly monotonic: number;
  readonly wall: number;
  /** ppm */
  readonly rate: number;
  readonly isSuspended: boolean;
}

type Reading = "monotonic" | "wall";

/** The two clocks of one process over a whole run, from its trace. */
export class ClockTrack {
  readonly #segments: Segment[] = [];

  /** In the order of time. */
  add(segment: Segment): void {
    const last = this.#segments.at(-1);
    // A clock may change several times at one moment: the last change counts.
    if (last?.at === segment.at) this.#segments.pop();
    this.#segments.push(segment);
  }

  /** The first moment from `from` on at which the clock shows `reading` or more; infinite where it never does. */
  first(clock: Reading, reading: number, from: number): number {
    const begin = Math.max(
      0,
      this.#segments.findLastIndex(({ at }) => at <= from),
    );
    for (let index = begin; index < this.#segments.length; index += 1) {
      const segment = this.#segments[index]!;
      const earliest = Math.max(from, segment.at);
      const missing = reading - shows(segment, clock, earliest);
      const reached = missing <= 0 ? earliest : earliest + missing / slope(segment, clock);
      if (reached < (this.#segments[index + 1]?.at ?? Number.POSITIVE_INFINITY)) return reached;
    }
    return Number.POSITIVE_INFINITY;
  }

  /** The offset of the wall clock over time; an ideal clock shows `epoch` at true time 0, ms. */
  stretches(epoch: number, end: number): ClockStretch[] {
    return this.#segments.map((segment, index) => {
      const until = Math.max(segment.at, this.#segments[index + 1]?.at ?? end);
      const offsetAt = (time: number): number => rounded(shows(segment, "wall", time) - epoch - time / 1000);
      return [segment.at, until, offsetAt(segment.at), offsetAt(until), segment.rate];
    });
  }

  /** The first reading of the wall clock, ms. */
  get wallAtStart(): number {
    return this.#segments[0]?.wall ?? 0;
  }
}

function slope({ rate, isSuspended }: Segment, clock: Reading): number {
  return clock === "monotonic" && isSuspended ? 0 : (1 + rate / 1_000_000) / 1000;
}

function shows(segment: Segment, clock: Reading, time: number): number {
  return segment[clock] + (time - segment.at) * slope(segment, clock);
}

function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
