import type { DrawnViolation, Overlap, Span } from "../picture.ts";
import type { Chart } from "./chart.ts";

/** How long the view takes to get somewhere, ms. */
const flight = 220;

/** Moves the view: to everything, to a violation, nearer, further, sideways. */
export class Navigation {
  readonly #chart: Chart;
  #flightNumber = 0;

  constructor(chart: Chart) {
    this.#chart = chart;
  }

  showAll(): void {
    this.#flyTo([0, this.#chart.picture.activeUntil]);
  }

  /** Shows the event of the run: its first violation, or its faults. */
  showStory(): void {
    this.#flyTo(this.story);
  }

  get story(): Span {
    const { violations, faults, holds, activeUntil } = this.#chart.picture;
    const ttl = this.#chart.picture.ttl * 1000;
    if (violations[0]) return this.#leadingTo(violations[0], ttl);
    const [first] = faults;
    if (!first) return [0, Math.min(activeUntil, ttl / 2)];
    const last = Math.max(...faults.map(({ until }) => until));
    const ends = holds.filter(({ from }) => from < last).map(({ until }) => until);
    return [Math.max(0, first.from - ttl / 10), Math.min(activeUntil, Math.max(last, ...ends) + ttl / 10)];
  }

  /** A violation with what led to it: from where the holds began that it is about, or a few ttl. */
  #leadingTo({ at }: DrawnViolation, ttl: number): Span {
    const overlap = this.#overlapAt(at);
    const begun = (overlap?.holds ?? []).map((hold) => this.#chart.picture.holds[hold]?.from ?? at);
    const from = Math.max(0, Math.min(at - ttl, ...begun) - ttl / 5, at - 3 * ttl);
    return [from, Math.max(at, overlap?.until ?? at) + ttl / 2];
  }

  /** A violation from near: the overlap that it is about is a good part of the view. */
  showViolation(index: number): void {
    const violation = this.#chart.picture.violations[index];
    if (!violation) return;
    const overlap = this.#overlapAt(violation.at) ?? { from: violation.at, until: violation.at };
    const ttl = this.#chart.picture.ttl * 1000;
    const around = Math.min(Math.max(5 * (overlap.until - overlap.from), ttl / 50), 2 * ttl);
    this.#flyTo([overlap.from - around, overlap.until + around]);
  }

  /** From the middle of what is in view. */
  nextViolation(direction: 1 | -1): DrawnViolation | undefined {
    const { from, until } = this.#chart.window;
    const distance = ({ at }: DrawnViolation): number => direction * (at - (from + until) / 2);
    const ahead = this.#chart.picture.violations.filter(
      (violation) => distance(violation) > (until - from) / 50,
    );
    const [next] = ahead.sort((left, right) => distance(left) - distance(right));
    if (next) this.showAround(next.at);
    return next;
  }

  /** At the same scale. */
  showAround(time: number): void {
    const { from, until } = this.#chart.window;
    this.#flyTo([time - (until - from) / 2, time + (until - from) / 2]);
  }

  /** It is found when the newcomer begins, within the microsecond. */
  #overlapAt(at: number): Overlap | undefined {
    return this.#chart.picture.overlaps.find(({ from, until }) => from <= at + 1 && until >= at - 1);
  }

  zoom(factor: number, x?: number): void {
    const { gutter, width } = this.#chart.layout;
    this.#now(() => this.#chart.window.zoom(factor, x ?? (gutter + width) / 2));
  }

  pan(pixels: number): void {
    this.#now(() => this.#chart.window.pan(pixels));
  }

  #now(move: () => void): void {
    this.#flightNumber += 1;
    move();
    this.#chart.repaint();
  }

  #flyTo([from, until]: Span): void {
    this.#flightNumber += 1;
    const number = this.#flightNumber;
    const { window } = this.#chart;
    const [startFrom, startUntil] = [window.from, window.until];
    const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const begun = performance.now();
    const step = (): void => {
      if (number !== this.#flightNumber) return;
      const share = isCalm ? 1 : Math.min(1, (performance.now() - begun) / flight);
      const eased = 1 - (1 - share) ** 3;
      window.show(startFrom + (from - startFrom) * eased, startUntil + (until - startUntil) * eased);
      this.#chart.repaint();
      if (share < 1) requestAnimationFrame(step);
    };
    step();
  }
}
