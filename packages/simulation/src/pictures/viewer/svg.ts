import { escaped } from "../markup.ts";

// Elements of SVG as text. Their look is in the style sheet, by their class.

export type Box = readonly [x: number, y: number, width: number, height: number];

export function rect([x, y, width, height]: Box, kind: string): string {
  return `<rect class="${kind}" x="${f(x)}" y="${f(y)}" width="${f(Math.max(0, width))}" height="${f(Math.max(0, height))}"/>`;
}

export function path(d: string, kind: string): string {
  return `<path class="${kind}" d="${d}"/>`;
}

/** `y` is its middle. Nothing where there is nothing to say. */
export function text(x: number, y: number, kind: string, words: string): string {
  return words === "" ? "" : `<text class="${kind}" x="${f(x)}" y="${f(y)}">${escaped(words)}</text>`;
}

export function group(kind: string, parts: readonly string[]): string {
  return `<g class="${kind}">${parts.join("")}</g>`;
}

/** A place, as exact as a screen can show it. */
export function f(number: number): string {
  return String(Math.round(number * 10) / 10);
}

/** At least that wide is a text in any usual font, px. */
export function widthOf(words: string, size: number): number {
  return words.length * size * 0.6;
}

/** The first of the texts that there is room for. */
export function roomiest(texts: readonly string[], size: number, room: number): string {
  return texts.find((words) => widthOf(words, size) <= room) ?? "";
}

/** `words`, or as much of it as there is room for; nothing where that would say nothing. */
export function fitted(words: string, size: number, room: number): string {
  if (widthOf(words, size) <= room) return words;
  const length = Math.floor(room / widthOf("…", size)) - 1;
  return length < 2 ? "" : `${words.slice(0, length)}…`;
}

const spacing = { loose: 7, dense: 4.5, crossed: 7 } as const;

/** Lines at 45 degrees through a rectangle; they stay where they are while it moves. */
export function hatch([x, y, width, height]: Box, how: keyof typeof spacing): string {
  const step = spacing[how] * Math.SQRT2;
  const lines: string[] = [];
  for (let start = -height; start < width; start += step) {
    lines.push(`M${f(start)} ${f(height)}l${f(height)} ${f(-height)}`);
    if (how === "crossed") lines.push(`M${f(start)} 0l${f(height)} ${f(height)}`);
  }
  return `<svg x="${f(x)}" y="${f(y)}" width="${f(width)}" height="${f(height)}">${path(lines.join(""), "hatch")}</svg>`;
}
