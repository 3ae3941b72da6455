/** How often a line is printed where it cannot be overwritten, ms. */
const lineEvery = 10_000;
/** How often the bar is drawn, ms. */
const drawEvery = 100;
const barWidth = 24;

/**
 * How far something has got, on stderr: a bar on a terminal, a line now and then elsewhere. The time left is what
 * the work so far has taken, carried on; nothing is said before there is something to carry on.
 */
export class Progress {
  readonly #total: number;
  readonly #unit: string;
  readonly #stream: NodeJS.WriteStream;
  readonly #begun: number = performance.now();
  #told: number;

  constructor(total: number, unit: string, stream: NodeJS.WriteStream = process.stderr) {
    this.#total = total;
    this.#unit = unit;
    this.#stream = stream;
    this.#told = this.#begun;
  }

  /** So much is done altogether. */
  reach(done: number): void {
    const now = performance.now();
    if (now - this.#told < (this.#stream.isTTY ? drawEvery : lineEvery)) return;
    this.#told = now;
    const text = progressText(Math.min(done, this.#total), this.#total, this.#unit, now - this.#begun);
    if (this.#stream.isTTY) this.#stream.write(`\r\u001b[K${barOf(done / this.#total)} ${text}`);
    else this.#stream.write(`${text}\n`);
  }

  /** Takes the bar away: what is printed next begins a line. */
  clear(): void {
    if (this.#stream.isTTY) this.#stream.write("\r\u001b[K");
  }
}

export function progressText(done: number, total: number, unit: string, elapsed: number): string {
  const text = `${done} of ${total} ${unit}, ${Math.floor((100 * done) / total)} %`;
  if (done === 0 || elapsed < 1000) return text;
  const left = (elapsed / done) * (total - done);
  return `${text}, about ${durationText(left)} left`;
}

/** Rounded up: nobody minds if it is there earlier. */
function durationText(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function barOf(share: number): string {
  const filled = Math.floor(barWidth * Math.min(1, share));
  return `[${"#".repeat(filled)}${"-".repeat(barWidth - filled)}]`;
}
