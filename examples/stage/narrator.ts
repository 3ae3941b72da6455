import { now } from "./clock.ts";

const colours = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 };

export type Colour = keyof typeof colours;

const tagWidth = 8;

/** Prints what happens, each line with the seconds since the masters were up. */
export class Narrator {
  #start = now();
  readonly #isColoured = isColourWanted();
  #isSilent = false;

  /** From now on the clock counts from `moment`. */
  startClock(moment: number): void {
    this.#start = moment;
  }

  /** What happens from now on is not told any more. */
  silence(): void {
    this.#isSilent = true;
  }

  /** One event: when, a word, and what happened. `moment` is when it did, where that was not just now. */
  event(tag: string, colour: Colour, text: string, moment: number = now()): void {
    if (this.#isSilent) return;
    const seconds = ((moment - this.#start) / 1000).toFixed(2).padStart(7);
    this.line(`${this.paint("dim", `${seconds} s`)}  ${this.paint(colour, tag.padEnd(tagWidth))}  ${text}`);
  }

  heading(text: string): void {
    this.line("");
    this.line(this.paint("bold", text));
    this.line("");
  }

  line(text: string): void {
    console.log(text);
  }

  paint(colour: Colour, text: string): string {
    return this.#isColoured ? `\u001b[${colours[colour]}m${text}\u001b[0m` : text;
  }
}

function isColourWanted(): boolean {
  const { NO_COLOR = "", TERM } = process.env;
  return process.stdout.isTTY && NO_COLOR === "" && TERM !== "dumb";
}

/** "Anna, Ben and Cleo" */
export function listed(names: readonly (string | number)[]): string {
  return new Intl.ListFormat("en-GB", { type: "conjunction" }).format(names.map(String));
}

/** "1,958 ms" */
export function milliseconds(duration: number): string {
  return `${Math.round(duration).toLocaleString("en-GB")} ms`;
}
