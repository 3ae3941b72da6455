import type { Picture } from "../picture.ts";
import type { Canvas } from "./canvas.ts";
import { type Layout, layoutOf } from "./layout.ts";
import type { Overview } from "./overview.ts";
import { paintAxis, paintMoment, paintVeil } from "./paint/axis.ts";
import { paintCalls, paintHolds, paintKeys } from "./paint/bars.ts";
import { paintFaults } from "./paint/faults.ts";
import { paintMargins } from "./paint/margins.ts";
import { paintMessages } from "./paint/messages.ts";
import { paintOverlapBands, paintOverlapFrames, paintViolations } from "./paint/overlaps.ts";
import { paintNames, paintTracks } from "./paint/tracks.ts";
import { type Palette, readPalette } from "./palette.ts";
import { type Scene, tokenOf } from "./scene.ts";
import { Targets, type Thing } from "./targets.ts";
import type { TimeWindow } from "./time-window.ts";

/** Paints what is in view, at most once a frame. */
export class Chart {
  readonly canvas: Canvas;
  readonly window: TimeWindow;
  readonly picture: Picture;
  readonly #overview: Overview;
  readonly #targets = new Targets();
  #layout: Layout;
  #palette: Palette;
  #focus: Thing | undefined;
  #moment: number | undefined;
  #veiledAfter: number | undefined;
  #isDue = false;
  /** Called after each painting. */
  onPainted: (() => void) | undefined;

  constructor(canvas: Canvas, overview: Overview, picture: Picture, window: TimeWindow) {
    this.canvas = canvas;
    this.window = window;
    this.picture = picture;
    this.#overview = overview;
    this.#palette = readPalette(canvas.element);
    this.#layout = this.#measure();
  }

  get layout(): Layout {
    return this.#layout;
  }

  /** Its size may have changed, or light and dark. */
  resize(): void {
    this.#palette = readPalette(this.canvas.element);
    this.#layout = this.#measure();
    this.repaint();
  }

  /** The thing at a place, if there is one. */
  thingAt(x: number, y: number): Thing | undefined {
    return x < this.#layout.gutter ? undefined : this.#targets.at(x, y);
  }

  point(focus: Thing | undefined, moment: number | undefined): void {
    this.#focus = focus;
    this.#moment = moment;
    this.repaint();
  }

  /** Events after this moment (us) have not happened yet. */
  veilAfter(at: number): void {
    this.#veiledAfter = at;
    this.repaint();
  }

  repaint(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      this.#paint();
      this.onPainted?.();
    });
  }

  #measure(): Layout {
    const layout = layoutOf(this.picture, this.canvas.element.clientWidth);
    this.window.place(layout.gutter, layout.width - layout.gutter);
    return layout;
  }

  #paint(): void {
    const { pen } = this.canvas;
    const layout = this.#layout;
    this.canvas.begin(layout.width, layout.height);
    this.#targets.clear();
    const scene: Scene = {
      pen,
      layout,
      picture: this.picture,
      window: this.window,
      palette: this.#palette,
      targets: this.#targets,
      focus: this.#focus,
      token: tokenOf(this.#focus),
      moment: this.#moment,
    };
    paintOverlapBands(scene);
    paintAxis(scene);
    paintTracks(scene);
    paintMargins(scene);
    paintMessages(scene);
    paintCalls(scene);
    paintKeys(scene);
    paintHolds(scene);
    paintOverlapFrames(scene);
    paintFaults(scene);
    if (this.#veiledAfter !== undefined) paintVeil(scene, this.#veiledAfter);
    paintNames(scene);
    paintViolations(scene);
    paintMoment(scene);
    this.#overview.paint(this.#palette, layout.width);
  }
}
