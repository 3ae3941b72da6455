import type { Runtime } from "./runtime.ts";

export interface ClockWatchOptions {
  /** A master whose clock is further than this from the median of all is reported, ms. Default 1000. */
  readonly maxOffset?: number;
  /**
   * Whether a master that is astray, or whose clock has stepped within the longest ttl of this client, is left out as if
   * it were unreachable. A majority is still one of all masters. Default false: it is reported, and counts.
   */
  readonly exclude?: boolean;
}

/**
 * Something about a master's clock has changed: it has `stepped` against its own history, is `astray` from the median of
 * all, or is `in line` with it again.
 */
export interface ClockEvent {
  readonly kind: "stepped" | "astray" | "in line";
  /** The master, as `host:port`. */
  readonly node: string;
  /** ms: how far it has stepped; else how far it is ahead of the median. */
  readonly offset: number;
  /** What `offset` may be wrong by, ms: half of the time that the answers took. */
  readonly uncertainty: number;
}

/** Both clocks of this client, ms. */
export interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

/** A master's clock, read over the network: how far it is ahead of each of ours. */
export interface Reading {
  readonly at: number;
  readonly ofMonotonic: number;
  readonly ofWall: number;
  readonly uncertainty: number;
}

/** What our wall clock hides: it is read in whole milliseconds. */
const wallGrain = 1;

/** `time`: what the master's clock showed at some moment between the two, ms. */
export function readingOf(sent: Moment, heard: Moment, time: number): Reading {
  const half = (heard.monotonic - sent.monotonic) / 2;
  return {
    at: heard.monotonic,
    ofMonotonic: time - (sent.monotonic + half),
    ofWall: time - (sent.wall + heard.wall) / 2,
    uncertainty: half + wallGrain,
  };
}

/**
 * How far it has stepped between two readings, ms: 0 where its rate and the uncertainty may explain what they differ by.
 * Where only one of our clocks tells of a step it was that one: the wall clock steps, the monotonic one sleeps.
 */
export function stepBetween(before: Reading, after: Reading, driftFactor: number): number {
  const byMonotonic = after.ofMonotonic - before.ofMonotonic;
  const byWall = after.ofWall - before.ofWall;
  if (Math.sign(byMonotonic) !== Math.sign(byWall)) return 0;
  const step = Math.abs(byMonotonic) < Math.abs(byWall) ? byMonotonic : byWall;
  const explained = before.uncertainty + after.uncertainty + driftFactor * (after.at - before.at);
  return Math.abs(step) > explained ? step : 0;
}

/**
 * How far it is ahead of the median of all, ms. (Of the others' alone it would be no measure: of two, one that is astray
 * moves it half the way.) Of two masters nobody can tell which one it is: 0.
 */
export function strayOf(own: Reading, others: readonly Reading[]): number {
  const offsets = [own, ...others].map(({ ofMonotonic }) => ofMonotonic).sort((a, b) => a - b);
  const low = offsets[Math.floor((offsets.length - 1) / 2)]!;
  const high = offsets[Math.floor(offsets.length / 2)]!;
  return Math.max(0, own.ofMonotonic - high) + Math.min(0, own.ofMonotonic - low);
}

/** The clock of one master, as far as this client knows it. */
export class MasterClock {
  readonly node: string;
  readonly #watch: ClockWatch;
  #latest: Reading | undefined;
  #isAstray = false;
  #steppedAt = Number.NEGATIVE_INFINITY;
  #longestTtl = 0;

  constructor(watch: ClockWatch, node: string) {
    this.#watch = watch;
    this.node = node;
  }

  get latest(): Reading | undefined {
    return this.#latest;
  }

  now(): Moment {
    const { runtime } = this.#watch;
    return { monotonic: runtime.monotonic(), wall: runtime.wall() };
  }

  /** Somebody asks for so long a lock, ms. */
  askedFor(ttl: number): void {
    this.#longestTtl = Math.max(this.#longestTtl, ttl);
  }

  /** Whether it counts as unreachable. */
  get isExcluded(): boolean {
    if (!this.#watch.options.exclude) return false;
    return this.#isAstray || this.#watch.runtime.monotonic() - this.#steppedAt < this.#longestTtl;
  }

  /** It has shown `time`, ms, at some moment since `sent`. */
  hear(sent: Moment, time: number): void {
    const reading = readingOf(sent, this.now(), time);
    const before = this.#latest;
    this.#latest = reading;
    const { uncertainty } = reading;
    const step = before ? stepBetween(before, reading, this.#watch.driftFactor) : 0;
    if (step !== 0) {
      this.#steppedAt = reading.at;
      this.#tell("stepped", step, uncertainty + before!.uncertainty);
    }
    const offset = strayOf(reading, this.#watch.othersThan(this));
    const isAstray = Math.abs(offset) - uncertainty > (this.#watch.options.maxOffset ?? 1000);
    if (isAstray !== this.#isAstray) this.#tell(isAstray ? "astray" : "in line", offset, uncertainty);
    this.#isAstray = isAstray;
  }

  #tell(kind: ClockEvent["kind"], offset: number, uncertainty: number): void {
    this.#watch.tell({ kind, node: this.node, offset, uncertainty });
  }
}

/**
 * Watches the clocks of the masters: keys expire by them, and the promise is that they do not step (PROTOCOL 11, 14.17).
 * They are read with the votes.
 */
export class ClockWatch {
  readonly options: ClockWatchOptions;
  readonly driftFactor: number;
  readonly runtime: Pick<Runtime, "monotonic" | "wall">;
  readonly tell: (event: ClockEvent) => void;
  readonly #clocks: MasterClock[] = [];

  constructor(
    options: ClockWatchOptions,
    driftFactor: number,
    runtime: Pick<Runtime, "monotonic" | "wall">,
    tell: (event: ClockEvent) => void,
  ) {
    this.options = options;
    this.driftFactor = driftFactor;
    this.runtime = runtime;
    this.tell = tell;
  }

  clockOf(node: string): MasterClock {
    const clock = new MasterClock(this, node);
    this.#clocks.push(clock);
    return clock;
  }

  othersThan(clock: MasterClock): readonly Reading[] {
    return this.#clocks.flatMap((other) => (other === clock || !other.latest ? [] : [other.latest]));
  }
}
