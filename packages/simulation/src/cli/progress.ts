import { type Runtime, systemRuntime } from "@quorlock/redlock";

/** Interval between lines if the output is no terminal, ms. */
const lineEvery = 10_000;
/** Interval between updates of the bar, ms. */
const drawEvery = 100;
/** Samples of the rate that are taken over the whole work. */
const samplesInAll = 400;
const barWidth = 24;

interface Output {
  readonly isTTY: boolean;
  write(text: string): boolean;
}

interface Sample {
  readonly at: number;
  readonly done: number;
}

/**
 * Shows progress on stderr: a bar on a terminal, lines elsewhere. The time left follows from the rate over the last
 * half of the work that is done: the start is slow (threads start, code is not compiled yet) and must not count for long.
 */
export class Progress {
  readonly #total: number;
  readonly #unit: string;
  readonly #stream: Output;
  /** In order of time; the first is the newest that lies before half of the work done. */
  readonly #samples: Sample[] = [];
  readonly #clock: Pick<Runtime, "monotonic">;
  #shownAt: number;

  constructor(
    total: number,
    unit: string,
    stream: Output = process.stderr,
    clock: Pick<Runtime, "monotonic"> = systemRuntime,
  ) {
    this.#clock = clock;
    this.#shownAt = clock.monotonic();
    this.#total = total;
    this.#unit = unit;
    this.#stream = stream;
  }

  /** `done` counts from the start. */
  reach(done: number): void {
    const now = this.#clock.monotonic();
    const { at, done: before } = this.#baseline({ at: now, done });
    if (now - this.#shownAt < (this.#stream.isTTY ? drawEvery : lineEvery)) return;
    this.#shownAt = now;
    const text = progressText(
      Math.min(done, this.#total),
      this.#total,
      this.#unit,
      (now - at) / (done - before),
    );
    if (this.#stream.isTTY) this.#stream.write(`\r\u001b[K${barOf(done / this.#total)} ${text}`);
    else this.#stream.write(`${text}\n`);
  }

  /** The sample that the rate is measured from. */
  #baseline(sample: Sample): Sample {
    const samples = this.#samples;
    const latest = samples.at(-1);
    // A few hundred samples resolve the rate well enough.
    if (!latest || sample.done - latest.done >= this.#total / samplesInAll) samples.push(sample);
    while (samples.length > 1 && samples[1]!.done <= sample.done / 2) samples.shift();
    return samples[0]!;
  }

  /** Removes the bar, so that the next output starts at the beginning of a line. */
  clear(): void {
    if (this.#stream.isTTY) this.#stream.write("\r\u001b[K");
  }
}

/** No estimate is shown before this share of the work is done. */
const minShare = 0.02;

/** `each`: the duration of one unit, ms. */
export function progressText(done: number, total: number, unit: string, each: number): string {
  const text = `${done} of ${total} ${unit}, ${Math.floor((100 * done) / total)} %`;
  if (done / total < minShare || !Number.isFinite(each)) return text;
  return `${text}, about ${durationText(each * (total - done))} left`;
}

/** Rounds up. */
function durationText(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  if (seconds <= 90) return `${seconds} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function barOf(share: number): string {
  const filled = Math.floor(barWidth * Math.min(1, share));
  return `[${"#".repeat(filled)}${"-".repeat(barWidth - filled)}]`;
}
