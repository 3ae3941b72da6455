import type { Picture } from "../picture.ts";
import type { Layout } from "./layout.ts";
import type { Palette } from "./palette.ts";
import type { Targets, Thing } from "./targets.ts";
import type { TimeWindow } from "./time-window.ts";

/** Everything that a painter needs. */
export interface Scene {
  readonly pen: CanvasRenderingContext2D;
  readonly picture: Picture;
  readonly window: TimeWindow;
  readonly layout: Layout;
  readonly palette: Palette;
  readonly targets: Targets;
  /** Pointed at; everything of the same token stands out with it. */
  readonly focus: Thing | undefined;
  readonly token: number;
  /** The moment under the pointer, us. */
  readonly moment: number | undefined;
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
