import type { ClockEvent } from "../errors.ts";
import { type ClockJudge, type ClockReadings, elapsed, type Reading } from "../protocol/reading.ts";
import type { ClockWatchOptions } from "../settings/settings.ts";
import type { Runtime } from "../time/runtime.ts";

/**
 * The difference of a clock, measured by both local clocks. If only one of them shows it, that one is the
 * cause: the wall clock steps, the monotonic clock stops during a suspension.
 */
function agreedDifference(byMonotonic: number, byWall: number): number {
  if (Math.sign(byMonotonic) !== Math.sign(byWall)) return 0;
  return Math.abs(byMonotonic) < Math.abs(byWall) ? byMonotonic : byWall;
}

/** The step between two readings, ms: 0 if drift and uncertainty can explain the difference. */
export function stepBetween(before: Reading, after: Reading, driftFactor: number): number {
  const step = agreedDifference(after.ofMonotonic - before.ofMonotonic, after.ofWall - before.ofWall);
  // The fastest master or slowest client that the drift factor allows: a whole ttl there takes (1 - factor)
  // of it here.
  const drift = (driftFactor / (1 - driftFactor)) * elapsed(before.sent, after.heard);
  return Math.abs(step) > before.uncertainty + after.uncertainty + drift ? step : 0;
}

/**
 * The distance ahead of the median of all masters, ms. The median includes the master itself: without it, a
 * skewed one of two would shift the other's reference halfway. With two masters it is unknown which one is
 * skewed: 0.
 */
export function skewOf(own: Reading, others: readonly Reading[]): number {
  const all = [own, ...others];
  const ahead = (by: "ofMonotonic" | "ofWall"): number =>
    aheadOf(
      own[by],
      all.map((reading) => reading[by]),
    );
  return agreedDifference(ahead("ofMonotonic"), ahead("ofWall"));
}

/** The distance of `own` ahead of the median of `all`. */
function aheadOf(own: number, all: readonly number[]): number {
  const offsets = [...all].sort((a, b) => a - b);
  const low = offsets[Math.floor((offsets.length - 1) / 2)]!;
  const high = offsets[Math.floor(offsets.length / 2)]!;
  return Math.max(0, own - high) + Math.min(0, own - low);
}

/**
 * What the clocks of all masters are watched by. Keys expire by these clocks, and the protocol requires that they do not
 * step (PROTOCOL 1.3, 11). They are read with the votes. The readings of each round decide which of its votes count, see
 * `RoundClocks`.
 */
export interface ClockWatch {
  readonly options: ClockWatchOptions;
  readonly driftFactor: number;
  readonly runtime: Pick<Runtime, "monotonic">;
  readonly emit: (event: ClockEvent) => void;
  /** Each adds itself. */
  readonly clocks: WatchedClock[];
}

/** The clock of one master, as far as this client knows it. */
export class WatchedClock implements ClockJudge {
  readonly node: string;
  latest: Reading | undefined;
  readonly #watch: ClockWatch;
  readonly #onDistrust: () => void;
  #isSkewed = false;
  #steppedAt = Number.NEGATIVE_INFINITY;
  #maxTtl = 0;
  /** Registered by weak reference: this field keeps it alive as long as the node. */
  readonly #onReading = (reading: Reading): void => this.#hear(reading);

  /** `onDistrust`: called if votes are judged, whenever this clock has stepped or is skewed. */
  constructor(watch: ClockWatch, node: string, clock: ClockReadings, onDistrust: () => void) {
    this.#watch = watch;
    watch.clocks.push(this);
    this.node = node;
    this.#onDistrust = onDistrust;
    clock.onReading(this.#onReading);
  }

  /** Whether a vote counts only after its own reading was judged. */
  get judgesVotes(): boolean {
    return this.#watch.options.exclude === true;
  }

  get maxOffset(): number {
    return this.#watch.options.maxOffset ?? 1000;
  }

  /** Records that a lock of this ttl is requested, ms. */
  askedFor(ttl: number): void {
    this.#maxTtl = Math.max(this.#maxTtl, ttl);
  }

  /**
   * Whether a key may have expired early since the clock stepped, while its holder still counts on it: within
   * the longest known ttl (PROTOCOL 11.3).
   */
  get hasSteppedLately(): boolean {
    const period = Math.max(this.#maxTtl, this.#watch.options.maxTtl ?? 0);
    return this.#watch.runtime.monotonic() - this.#steppedAt < period;
  }

  #hear(reading: Reading): void {
    const before = this.latest;
    const step = before ? stepBetween(before, reading, this.#watch.driftFactor) : 0;
    // Of two on their way together that agree the earlier one stays: the longer of them would hide a step.
    if (before && step === 0 && reading.sent.monotonic < before.heard.monotonic) return;
    this.latest = reading;
    const { uncertainty } = reading;
    if (step !== 0) {
      this.#steppedAt = reading.heard.monotonic;
      this.#emit("stepped", step, uncertainty + before!.uncertainty);
    }
    const others = this.#watch.clocks.filter((clock) => clock !== this).flatMap(({ latest }) => latest ?? []);
    const offset = skewOf(reading, others);
    const isSkewed = Math.abs(offset) - uncertainty > this.maxOffset;
    if (isSkewed !== this.#isSkewed) this.#emit(isSkewed ? "skewed" : "synced", offset, uncertainty);
    this.#isSkewed = isSkewed;
    if (step !== 0) this.distrust();
  }

  /** Keys may have expired early: `onDistrust` makes the master itself remember that. */
  distrust(): void {
    if (this.judgesVotes) this.#onDistrust();
  }

  #emit(kind: ClockEvent["kind"], offset: number, uncertainty: number): void {
    this.#watch.emit({ kind, node: this.node, offset, uncertainty });
  }
}
