import type { Span } from "../picture.ts";

/** No closer: a hundred microseconds across the screen. */
const narrowest = 100;

/** The stretch of true time that is in view, and where on the screen each moment of it is. */
export class TimeWindow {
  /** Nothing is to be seen after it, us. */
  readonly end: number;
  /** What is in view. */
  from = 0;
  until: number;
  #left = 0;
  #width = 1;

  constructor(end: number) {
    this.end = Math.max(end, narrowest);
    this.until = this.end;
  }

  /** us a pixel */
  get scale(): number {
    return (this.until - this.from) / this.#width;
  }

  /** Where the tracks are drawn, px. */
  place(left: number, width: number): void {
    this.#left = left;
    this.#width = Math.max(1, width);
  }

  x(time: number): number {
    return this.#left + (time - this.from) / this.scale;
  }

  time(x: number): number {
    return this.from + (x - this.#left) * this.scale;
  }

  shows([from, until]: Span): boolean {
    return until >= this.from && from <= this.until;
  }

  /** Left and right of a span, kept within reach of the screen. */
  edges(from: number, until: number): readonly [number, number] {
    return [this.#clip(this.x(from)), this.#clip(this.x(until))];
  }

  show(from: number, until: number): void {
    const span = Math.min(Math.max(until - from, narrowest), this.end);
    const centre = (from + until) / 2;
    this.from = Math.min(Math.max(0, centre - span / 2), this.end - span);
    this.until = this.from + span;
  }

  /** A factor above 1 comes closer; the moment at `x` stays where it is. */
  zoom(factor: number, x: number): void {
    const anchor = this.time(x);
    const span = Math.min(Math.max((this.until - this.from) / factor, narrowest), this.end);
    const from = anchor - ((x - this.#left) / this.#width) * span;
    this.show(from, from + span);
  }

  pan(pixels: number): void {
    const by = pixels * this.scale;
    this.show(this.from + by, this.until + by);
  }

  #clip(x: number): number {
    return Math.min(Math.max(x, this.#left - 10), this.#left + this.#width + 10);
  }
}
