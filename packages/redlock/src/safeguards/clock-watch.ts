import type { MasterClock, Moment, Reading } from "../protocol/node.ts";
import type { ClockWatchOptions } from "../settings/settings.ts";
import type { Runtime } from "../time/runtime.ts";

/**
 * Something about a master's clock has changed: it has `stepped` against its own history, is `skewed` from the median of
 * all, or is `synced` with it again.
 */
export interface ClockEvent {
  readonly kind: "stepped" | "skewed" | "synced";
  /** The master, as `host:port`. */
  readonly node: string;
  /** ms: how far it has stepped; else how far it is ahead of the median. */
  readonly offset: number;
  /** What `offset` may be wrong by, ms: half of the time that the answers took. */
  readonly uncertainty: number;
}

/** What our wall clock hides: it is read in whole milliseconds. */
const wallGrain = 1;

/** How much time has passed, ms: by the clock that tells of more, as the other one was set back or has slept. */
function passed(from: Moment, to: Moment): number {
  return Math.max(to.monotonic - from.monotonic, to.wall - from.wall);
}

/** `time`: what the master's clock showed at some moment between the two, ms. */
export function readingOf(sent: Moment, heard: Moment, time: number): Reading {
  const half = (heard.monotonic - sent.monotonic) / 2;
  return {
    sent,
    heard,
    ofMonotonic: time - (sent.monotonic + half),
    ofWall: time - (sent.wall + heard.wall) / 2,
    uncertainty: passed(sent, heard) / 2 + wallGrain,
  };
}

/**
 * By how much a clock differs, where it is measured by each of ours. Where only one of them tells of it, it was that one:
 * the wall clock steps, the monotonic one sleeps.
 */
function agreed(byMonotonic: number, byWall: number): number {
  if (Math.sign(byMonotonic) !== Math.sign(byWall)) return 0;
  return Math.abs(byMonotonic) < Math.abs(byWall) ? byMonotonic : byWall;
}

/**
 * How far it has stepped between two readings, ms: 0 where its rate and the uncertainty may explain what they differ by.
 */
export function stepBetween(before: Reading, after: Reading, driftFactor: number): number {
  const step = agreed(after.ofMonotonic - before.ofMonotonic, after.ofWall - before.ofWall);
  // A master so fast, or a client so slow, that the factor is just used up: (1 - factor) of a ttl here, a whole one there.
  const drift = (driftFactor / (1 - driftFactor)) * passed(before.sent, after.heard);
  return Math.abs(step) > before.uncertainty + after.uncertainty + drift ? step : 0;
}

/**
 * How far it is ahead of the median of all, ms. (Of the others' alone it would be no measure: of two, one that is skewed
 * moves it half the way.) Of two masters nobody can tell which one it is: 0.
 */
export function strayOf(own: Reading, others: readonly Reading[]): number {
  const all = [own, ...others];
  const ahead = (by: "ofMonotonic" | "ofWall"): number =>
    aheadOf(
      own[by],
      all.map((reading) => reading[by]),
    );
  return agreed(ahead("ofMonotonic"), ahead("ofWall"));
}

/** How far `own` is ahead of the median of `all`. */
function aheadOf(own: number, all: readonly number[]): number {
  const offsets = [...all].sort((a, b) => a - b);
  const low = offsets[Math.floor((offsets.length - 1) / 2)]!;
  const high = offsets[Math.floor(offsets.length / 2)]!;
  return Math.max(0, own - high) + Math.min(0, own - low);
}

/** The clock of one master, as far as this client knows it. */
export class WatchedClock implements MasterClock {
  readonly node: string;
  readonly #watch: ClockWatch;
  readonly #onDistrust: () => void;
  #latest: Reading | undefined;
  #isSkewed = false;
  #steppedAt = Number.NEGATIVE_INFINITY;
  #longestTtl = 0;

  constructor(watch: ClockWatch, node: string, onDistrust: () => void) {
    this.#watch = watch;
    this.node = node;
    this.#onDistrust = onDistrust;
  }

  get latest(): Reading | undefined {
    return this.#latest;
  }

  /** Whether a vote has to wait for a reading of its own. */
  get judgesVotes(): boolean {
    return this.#watch.options.exclude === true;
  }

  get maxOffset(): number {
    return this.#watch.maxOffset;
  }

  now(): Moment {
    const { runtime } = this.#watch;
    return { monotonic: runtime.monotonic(), wall: runtime.wall() };
  }

  /** Somebody asks for a lock of this ttl, ms. */
  askedFor(ttl: number): void {
    this.#longestTtl = Math.max(this.#longestTtl, ttl);
  }

  /**
   * Whether a key may have expired early since its clock stepped, and its holder still counts on it: within the
   * longest ttl that is known (PROTOCOL 11.3).
   */
  get hasSteppedLately(): boolean {
    const memory = Math.max(this.#longestTtl, this.#watch.options.maxTtl ?? 0);
    return this.#watch.runtime.monotonic() - this.#steppedAt < memory;
  }

  /** It has shown `time`, ms, at some moment since `sent`. */
  observe(sent: Moment, time: number): Reading {
    const reading = readingOf(sent, this.now(), time);
    const before = this.#latest;
    // Each is sent after the one before was heard: of two that overlap the longer one would hide a step.
    if (before && sent.monotonic < before.heard.monotonic) return reading;
    this.#latest = reading;
    const { uncertainty } = reading;
    const step = before ? stepBetween(before, reading, this.#watch.driftFactor) : 0;
    if (step !== 0) {
      this.#steppedAt = reading.heard.monotonic;
      this.#tell("stepped", step, uncertainty + before!.uncertainty);
    }
    const offset = strayOf(reading, this.#watch.othersThan(this));
    const isSkewed = Math.abs(offset) - uncertainty > this.maxOffset;
    if (isSkewed !== this.#isSkewed) this.#tell(isSkewed ? "skewed" : "synced", offset, uncertainty);
    this.#isSkewed = isSkewed;
    if (step !== 0) this.distrust();
    return reading;
  }

  /** Its keys may have expired early: whoever can is to make the master itself remember that. */
  distrust(): void {
    if (this.judgesVotes) this.#onDistrust();
  }

  #tell(kind: ClockEvent["kind"], offset: number, uncertainty: number): void {
    this.#watch.tell({ kind, node: this.node, offset, uncertainty });
  }
}

/**
 * Watches the clocks of the masters: keys expire by them, and the promise is that they do not step (PROTOCOL 1.3, 11).
 * They are read with the votes. Which votes count is decided for each round by its own readings; see `RoundClocks`.
 */
export class ClockWatch {
  readonly options: ClockWatchOptions;
  readonly driftFactor: number;
  readonly runtime: Pick<Runtime, "monotonic" | "wall">;
  readonly tell: (event: ClockEvent) => void;
  readonly #clocks: WatchedClock[] = [];

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

  get maxOffset(): number {
    return this.options.maxOffset ?? 1000;
  }

  /** `onDistrust`: called where votes are judged, whenever this clock is found to have stepped, or to be skewed. */
  clockOf(node: string, onDistrust: () => void = () => {}): WatchedClock {
    const clock = new WatchedClock(this, node, onDistrust);
    this.#clocks.push(clock);
    return clock;
  }

  othersThan(clock: WatchedClock): readonly Reading[] {
    return this.#clocks.flatMap((other) => (other === clock || !other.latest ? [] : [other.latest]));
  }
}
