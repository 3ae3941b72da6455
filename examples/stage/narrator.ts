import { stripVTControlCharacters } from "node:util";
import { now } from "./clock.ts";

const colours = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 };

export type Colour = keyof typeof colours;

const tagWidth = 8;

/** Prints events, each with the seconds since the masters were up. */
export class Narrator {
  #start = now();
  readonly #isColoured = isColourWanted();
  readonly #lines: string[] = [];
  #isSilent = false;

  /** Each line so far, in colour. */
  get lines(): readonly string[] {
    return this.#lines;
  }

  /** From now on the clock counts from `moment`. */
  startClock(moment: number): void {
    this.#start = moment;
  }

  /** Prints no further events. */
  silence(): void {
    this.#isSilent = true;
  }

  /** One event: its time, a word for it, and a sentence. `moment` is the time of the event; default: now. */
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
    this.#lines.push(text);
    console.log(this.#isColoured ? text : stripVTControlCharacters(text));
  }

  paint(colour: Colour, text: string): string {
    return `\u001b[${colours[colour]}m${text}\u001b[0m`;
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
