import type { Picture } from "../picture.ts";
import type { Canvas } from "./canvas.ts";
import { holderColour, type Palette } from "./palette.ts";
import type { TimeWindow } from "./time-window.ts";

const height = 46;

/** The whole run, small, with a frame around what is in view. */
export class Overview {
  readonly #canvas: Canvas;
  readonly #picture: Picture;
  readonly #window: TimeWindow;

  constructor(canvas: Canvas, picture: Picture, window: TimeWindow) {
    this.#canvas = canvas;
    this.#picture = picture;
    this.#window = window;
  }

  paint(palette: Palette, width: number): void {
    const { pen } = this.#canvas;
    const { clients, holds, violations, overlaps, faults } = this.#picture;
    this.#canvas.begin(width, height);
    const x = (time: number): number => (time / this.#picture.activeUntil) * width;
    pen.fillStyle = palette.faint;
    pen.beginPath();
    pen.roundRect(0, 0, width, height, 6);
    pen.fill();
    pen.fillStyle = palette.dangerBand;
    for (const { from, until } of overlaps) pen.fillRect(x(from), 0, Math.max(2, x(until) - x(from)), height);
    const line = Math.min(6, (height - 16) / clients.length);
    for (const { client, from, until } of holds) {
      pen.fillStyle = holderColour(palette, client);
      pen.fillRect(x(from), 9 + client * line, Math.max(1, x(until) - x(from)), line - 1);
    }
    pen.fillStyle = palette.muted;
    for (const { from } of faults) pen.fillRect(x(from), height - 6, 1.5, 6);
    pen.fillStyle = palette.danger;
    for (const { at } of violations) pen.fillRect(x(at) - 1, 0, 2.5, 8);
    this.#frame(palette, x(this.#window.from), x(this.#window.until), width);
  }

  #frame(palette: Palette, left: number, right: number, width: number): void {
    const { pen } = this.#canvas;
    pen.fillStyle = palette.ground;
    pen.globalAlpha = 0.62;
    pen.fillRect(0, 0, left, height);
    pen.fillRect(right, 0, Math.max(0, width - right), height);
    pen.globalAlpha = 1;
    pen.strokeStyle = palette.ink;
    pen.lineWidth = 1.5;
    pen.beginPath();
    const wide = Math.max(4, Math.min(right, width) - left - 1.5);
    pen.roundRect(Math.min(left + 0.75, width - wide - 0.75), 0.75, wide, height - 1.5, 5);
    pen.stroke();
  }

  /** The moment at a place of it. */
  time(x: number): number {
    return (x / Math.max(1, this.#canvas.element.clientWidth)) * this.#picture.activeUntil;
  }
}
