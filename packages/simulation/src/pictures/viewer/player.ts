import { type Sentence, sentenceAt, tellRun } from "../telling.ts";
import type { Chart } from "./chart.ts";
import { ms } from "./numbers.ts";

/** Where in the view the moment stays while the run plays, as a share of its width. */
const place = 0.75;

/** Plays the run: what comes after its moment is veiled, and a sentence says what has happened last. */
export class Player {
  readonly #chart: Chart;
  readonly #end: number;
  readonly #sentences: readonly Sentence[];
  readonly #button: HTMLElement;
  readonly #speed: HTMLSelectElement;
  readonly #slider: HTMLInputElement;
  readonly #moment: HTMLElement;
  readonly #sentence: HTMLElement;
  #isPlaying = false;
  /** us; nothing is veiled before it has one. */
  at: number | undefined;
  /** Called when it stands at another moment, us. */
  onStopped: ((at: number) => void) | undefined;

  constructor(element: (id: string) => HTMLElement, chart: Chart, ended: AbortSignal) {
    this.#chart = chart;
    this.#end = chart.picture.activeUntil;
    this.#sentences = tellRun(chart.picture);
    this.#button = element("play");
    this.#speed = element("speed") as HTMLSelectElement;
    this.#slider = element("head") as HTMLInputElement;
    this.#moment = element("moment");
    this.#sentence = element("sentence");
    this.#slider.max = String(this.#end);
    this.#slider.value = String(this.#end);
    this.#button.addEventListener("click", () => this.toggle());
    element("step").addEventListener("click", () => this.step(1));
    element("back").addEventListener("click", () => this.step(-1));
    this.#slider.addEventListener("input", () => {
      this.pause();
      this.moveTo(Number(this.#slider.value));
    });
    ended.addEventListener("abort", () => this.pause());
  }

  toggle(): void {
    if (this.#isPlaying) this.pause();
    else this.play();
  }

  /** To this moment, us; by default to the end. */
  play(until: number = this.#end): void {
    this.#setPlaying(true);
    if (this.at === undefined || this.at >= this.#end) this.moveTo(this.#chart.window.from);
    let before = performance.now();
    const frame = (now: number): void => {
      if (!this.#isPlaying) return;
      // No jump after a time in which the page was not shown.
      const passed = Math.min(now - before, 100);
      before = now;
      this.moveTo((this.at ?? 0) + passed * Number(this.#speed.value));
      // (Nobody has stopped it there.)
      if ((this.at ?? 0) >= until) this.#setPlaying(false);
      else requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  pause(): void {
    if (!this.#isPlaying) return;
    this.#setPlaying(false);
    if (this.at !== undefined) this.onStopped?.(this.at);
  }

  /** To the next thing that happens, or the one before. */
  step(direction: 1 | -1): void {
    this.pause();
    const at = this.at ?? (direction > 0 ? -1 : this.#end + 1);
    const next =
      direction > 0
        ? this.#sentences.find((sentence) => sentence.at > at)
        : this.#sentences.findLast((sentence) => sentence.at < at);
    if (next) this.moveTo(next.at);
  }

  moveTo(at: number): void {
    this.at = Math.min(Math.max(0, at), this.#end);
    const { window } = this.#chart;
    const span = window.until - window.from;
    if (this.at > window.from + place * span && window.until < this.#end)
      window.show(this.at - place * span, this.at + (1 - place) * span);
    else if (this.at < window.from || this.at > window.until)
      window.show(this.at - span / 2, this.at + span / 2);
    this.#slider.value = String(this.at);
    this.#moment.textContent = ms(this.at, 1);
    this.#say(sentenceAt(this.#sentences, this.at));
    this.#chart.veilAfter(this.at);
    if (!this.#isPlaying) this.onStopped?.(this.at);
  }

  /** The first thing that is wrong in the whole run. */
  tellWhy(): void {
    const wrong = this.#sentences.filter(({ isDanger }) => isDanger);
    this.#say(wrong.find(({ until }) => until !== undefined) ?? wrong[0]);
  }

  #say(last: Sentence | undefined): void {
    const text = last ? `${ms(last.at, 1)}: ${last.text}` : "";
    if (this.#sentence.textContent === text) return;
    this.#sentence.textContent = text;
    this.#sentence.classList.toggle("danger", last?.isDanger === true);
  }

  #setPlaying(isPlaying: boolean): void {
    this.#isPlaying = isPlaying;
    this.#button.textContent = isPlaying ? "Pause" : "Play";
    this.#button.setAttribute("aria-pressed", String(isPlaying));
  }
}
