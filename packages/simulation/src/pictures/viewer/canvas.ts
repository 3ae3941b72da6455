import type { Palette } from "./palette.ts";

/** A canvas in sharp pixels of its screen, of the size that its style gives it. */
export class Canvas {
  readonly element: HTMLCanvasElement;
  readonly pen: CanvasRenderingContext2D;

  constructor(element: HTMLCanvasElement) {
    const pen = element.getContext("2d");
    if (!pen) throw new Error("this browser has no 2D canvas");
    this.element = element;
    this.pen = pen;
  }

  /** Empty, `width` by `height` CSS pixels. */
  begin(width: number, height: number): void {
    const ratio = globalThis.devicePixelRatio || 1;
    const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.element.width !== wide || this.element.height !== high) {
      this.element.width = wide;
      this.element.height = high;
      this.element.style.height = `${height}px`;
    }
    this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.pen.clearRect(0, 0, width, height);
    this.pen.textBaseline = "middle";
    this.pen.lineCap = "butt";
  }
}

/** The first of the texts that there is room for. */
export function roomiest(pen: CanvasRenderingContext2D, texts: readonly string[], room: number): string {
  return texts.find((text) => pen.measureText(text).width <= room) ?? "";
}

/** `text`, or as much of it as there is room for; nothing where that would say nothing. */
export function fitted(pen: CanvasRenderingContext2D, text: string, room: number): string {
  if (room < 14) return "";
  if (pen.measureText(text).width <= room) return text;
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (pen.measureText(`${text.slice(0, middle)}…`).width <= room) low = middle;
    else high = middle - 1;
  }
  return low < 2 ? "" : `${text.slice(0, low)}…`;
}

export type Hatch = "loose" | "dense" | "crossed";

const spacing: Readonly<Record<Hatch, number>> = { loose: 7, dense: 4.5, crossed: 7 };

/** Lines at 45 degrees through a rectangle; they stay where they are while it moves. */
export function hatch(
  pen: CanvasRenderingContext2D,
  [x, y, width, height]: readonly [number, number, number, number],
  colour: string,
  how: Hatch,
): void {
  pen.save();
  pen.beginPath();
  pen.rect(x, y, width, height);
  pen.clip();
  pen.strokeStyle = colour;
  pen.lineWidth = 1;
  pen.beginPath();
  const step = spacing[how] * Math.SQRT2;
  for (let start = -height; start < width; start += step) {
    pen.moveTo(x + start, y + height);
    pen.lineTo(x + start + height, y);
    if (how === "crossed") {
      pen.moveTo(x + start, y);
      pen.lineTo(x + start + height, y + height);
    }
  }
  pen.stroke();
  pen.restore();
}

export function font({ font: family }: Palette, size: number, weight = 400): string {
  return `${weight} ${size}px ${family}`;
}

/** A rectangle with round corners, never thinner than can be seen. */
export function roundBar(
  pen: CanvasRenderingContext2D,
  [x, y, width, height]: readonly [number, number, number, number],
  radius = 4,
): void {
  pen.beginPath();
  pen.roundRect(x, y, Math.max(1, width), height, Math.min(radius, Math.max(1, width) / 2));
}
