/** A rate of 1 for each second of true time is 0 ppm; a clock that gains 10 ms a second runs at +10,000 ppm. */
export type PartsPerMillion = number;

export interface ClocksOptions {
  /** The reading of the wall clock at true time 0, ms since the epoch. */
  readonly wall: number;
  readonly rate: PartsPerMillion;
}

/**
 * The two clocks of one process, each a piecewise affine function of true time.
 *
 * A *rate* moves both, as slewing does on Linux. A *step* moves only the wall clock. While the machine is
 * *suspended* the monotonic clock stands still and the wall clock goes on; a wall clock may *stop* until it is set right.
 * Readings are in ms, true time in us.
 *
 * A segment begins wherever one of the three changes; within it a reading is its start plus elapsed time times rate.
 */
export class Clocks {
  /** Where the segment began: in true time, and what the clocks showed. */
  #since = 0;
  #monotonicThen = 0;
  #wallThen: number;
  #rate: PartsPerMillion;
  /** Local milliseconds in a microsecond of true time. */
  #slope: number;
  #suspended = false;
  /** What the monotonic clock showed when the wall clock stopped, while that stands still. */
  #stoppedAt: number | undefined;

  constructor({ wall, rate }: ClocksOptions) {
    this.#wallThen = wall;
    this.#slope = slopeOf(rate);
    this.#rate = rate;
  }

  get wallRate(): PartsPerMillion {
    return this.#stoppedAt === undefined ? this.#rate : -1_000_000;
  }

  monotonicAt(time: number): number {
    return this.#suspended ? this.#monotonicThen : this.#monotonicThen + (time - this.#since) * this.#slope;
  }

  /** With fractions; a process reads whole milliseconds of it. */
  wallAt(time: number): number {
    return this.#stoppedAt === undefined
      ? this.#wallThen + (time - this.#since) * this.#slope
      : this.#wallThen;
  }

  /** How far the wall clock is behind because it stands still, ms. */
  lostAt(time: number): number {
    return this.#stoppedAt === undefined ? 0 : this.monotonicAt(time) - this.#stoppedAt;
  }

  setRate(time: number, rate: PartsPerMillion): void {
    this.#beginSegment(time);
    this.#slope = slopeOf(rate);
    this.#rate = rate;
  }

  stepWall(by: number): void {
    this.#wallThen += by;
  }

  stopWall(time: number): void {
    this.#beginSegment(time);
    this.#stoppedAt ??= this.#monotonicThen;
  }

  /** The wall clock is set to what it would show if it had not stood still. */
  setWallRight(time: number): void {
    this.#beginSegment(time);
    this.#wallThen += this.lostAt(time);
    this.#stoppedAt = undefined;
  }

  suspend(time: number): void {
    this.#beginSegment(time);
    this.#suspended = true;
  }

  resume(time: number): void {
    this.#beginSegment(time);
    this.#suspended = false;
  }

  /** True time, us with fractions, for the monotonic clock to come from where it is at `time` to `reading`. */
  untilMonotonic(time: number, reading: number): number {
    return this.#suspended ? Number.POSITIVE_INFINITY : (reading - this.monotonicAt(time)) / this.#slope;
  }

  /** The same for the wall clock. */
  untilWall(time: number, reading: number): number {
    return (reading - this.wallAt(time)) / this.#slope;
  }

  #beginSegment(time: number): void {
    this.#monotonicThen = this.monotonicAt(time);
    this.#wallThen = this.wallAt(time);
    this.#since = time;
  }
}

function slopeOf(rate: PartsPerMillion): number {
  if (!(rate > -1_000_000 && Number.isFinite(rate))) {
    throw new RangeError(`a clock's rate must be above -1,000,000 ppm, but is ${rate}`);
  }
  return (1 + rate / 1_000_000) / 1000;
}
