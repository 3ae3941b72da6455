/** How often a line is printed where it cannot be overwritten, ms. */
const lineEvery = 10_000;
/** How often the bar is drawn, ms. */
const drawEvery = 100;
const barWidth = 24;

interface Output {
  readonly isTTY: boolean;
  write(text: string): boolean;
}

/**
 * How far something has got, on stderr: a bar on a terminal, a line now and then elsewhere. The time left is what
 * the work has taken since its first part was through, carried on: what it takes to start does not come again.
 */
export class Progress {
  readonly #total: number;
  readonly #unit: string;
  readonly #stream: Output;
  #first: { readonly at: number; readonly done: number } | undefined;
  #told: number = performance.now();

  constructor(total: number, unit: string, stream: Output = process.stderr) {
    this.#total = total;
    this.#unit = unit;
    this.#stream = stream;
  }

  /** So much is done altogether. */
  reach(done: number): void {
    const now = performance.now();
    this.#first ??= { at: now, done };
    if (now - this.#told < (this.#stream.isTTY ? drawEvery : lineEvery)) return;
    this.#told = now;
    const { at, done: before } = this.#first;
    const text = progressText(
      Math.min(done, this.#total),
      this.#total,
      this.#unit,
      (now - at) / (done - before),
    );
    if (this.#stream.isTTY) this.#stream.write(`\r\u001b[K${barOf(done / this.#total)} ${text}`);
    else this.#stream.write(`${text}\n`);
  }

  /** Takes the bar away: what is printed next begins a line. */
  clear(): void {
    if (this.#stream.isTTY) this.#stream.write("\r\u001b[K");
  }
}

/** Until so much is done nothing is said about the rest. */
const leastShare = 0.02;

/** `each`: what one of them takes, ms. */
export function progressText(done: number, total: number, unit: string, each: number): string {
  const text = `${done} of ${total} ${unit}, ${Math.floor((100 * done) / total)} %`;
  if (done / total < leastShare || !Number.isFinite(each)) return text;
  return `${text}, about ${durationText(each * (total - done))} left`;
}

/** Rounded up: nobody minds if it is there earlier. */
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
