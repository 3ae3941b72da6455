import type { Picture } from "../picture.ts";

/** A track: its name beside it, or above it where the screen is narrow. */
export interface Row {
  readonly top: number;
  readonly height: number;
  /** Where its bars are, below a name that stands above them. */
  readonly body: number;
}

export interface Layout {
  readonly width: number;
  readonly height: number;
  /** The names' column; 0 where they stand above. */
  readonly gutter: number;
  readonly axis: Row;
  readonly faults: Row;
  readonly clients: readonly Row[];
  readonly wire: Row;
  readonly masters: readonly Row[];
  readonly margins: Row;
  /** Of a hold's bar, and of a key's. */
  readonly bar: number;
  readonly key: number;
  /** The strip in which a clock's curve is drawn. */
  readonly strip: number;
}

/** Below this the names stand above their tracks. */
const narrow = 720;
const gutterWidth = 180;
const nameHeight = 20;

export function layoutOf(picture: Picture, width: number): Layout {
  const isNarrow = width < narrow;
  const above = isNarrow ? nameHeight : 0;
  const bar = 24;
  const key = picture.resources.length > 2 ? 14 : 18;
  const strip = 16;
  let top = 0;
  const row = (height: number, name = above): Row => {
    const made = { top, height: height + name, body: top + name };
    top += made.height;
    return made;
  };
  const axis = row(40, 0);
  const faults = row(picture.faults.length > 0 ? 58 : 0, picture.faults.length > 0 ? above : 0);
  const clients = picture.clients.map(() => row(bar + 46));
  const wire = row(48);
  const masterHeight = Math.max(1, picture.resources.length) * (key + 3) + strip + 13;
  const masters = picture.masters.map(() => row(masterHeight));
  const margins = row(96);
  const gutter = isNarrow ? 0 : gutterWidth;
  return {
    width,
    height: top,
    gutter,
    axis,
    faults,
    clients,
    wire,
    masters,
    margins,
    bar,
    key,
    strip,
  };
}
