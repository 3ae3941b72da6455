import type { Picture, Span } from "../picture.ts";
import type { Thing } from "../thing.ts";
import type { Layout } from "./layout.ts";
import { group } from "./svg.ts";
import type { TimeWindow } from "./time-window.ts";

/** Everything that a painter needs. */
export interface Scene {
  readonly picture: Picture;
  readonly window: TimeWindow;
  readonly layout: Layout;
  /** All that can be pointed at, by the number that its element has. */
  readonly things: Thing[];
  /** Pointed at; everything of the same token stands out with it. */
  readonly focus: Thing | undefined;
  readonly token: number;
  /** The moment under the pointer, us. */
  readonly moment: number | undefined;
}

/** Elements of a thing that can be pointed at. */
export function pointed({ things }: Scene, thing: Thing, parts: readonly string[]): string {
  return `<g data-thing="${things.push(thing) - 1}">${parts.join("")}</g>`;
}

/** In the colour of a client; those of other tokens are paler than the one that is pointed at. */
export function coloured({ token }: Scene, client: number, its: number, parts: readonly string[]): string {
  const focus = token < 0 ? "" : token === its ? " focused" : " pale";
  return group(`${client < 0 ? "unknown" : `holder-${client % 6}`}${focus}`, parts);
}

/** The spans in view, each with its left and its right; hundreds of one lane within one pixel are one. */
export function inView<T>(
  window: TimeWindow,
  all: readonly T[],
  spanOf: (it: T) => Span,
  laneOf: (it: T) => number = () => 0,
): ReadonlyArray<readonly [it: T, left: number, right: number]> {
  const lastPixel = new Map<number, number>();
  return all.flatMap((it) => {
    const span = spanOf(it);
    if (!window.shows(span)) return [];
    const [left, right] = window.edges(...span);
    if (right <= (lastPixel.get(laneOf(it)) ?? Number.NEGATIVE_INFINITY)) return [];
    lastPixel.set(laneOf(it), Math.floor(right));
    return [[it, left, right] as const];
  });
}

/** The token that a thing is about; -1 is none. */
export function tokenOf(thing: Thing | undefined): number {
  switch (thing?.kind) {
    case "hold":
    case "write":
      return thing.it.token;
    case "key":
      return thing.it[2];
    case "message":
      return thing.it[8];
    default:
      return -1;
  }
}
