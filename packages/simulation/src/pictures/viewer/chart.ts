import type { Picture } from "../picture.ts";
import type { Thing } from "../thing.ts";
import { type Layout, layoutOf } from "./layout.ts";
import { paintOverview } from "./overview.ts";
import { paintAxis, paintMoment, paintVeil } from "./paint/axis.ts";
import { paintCalls, paintHolds, paintKeys } from "./paint/bars.ts";
import { paintFaults } from "./paint/faults.ts";
import { paintMargins } from "./paint/margins.ts";
import { paintMessages } from "./paint/messages.ts";
import { paintOverlapBands, paintOverlapFrames, paintViolations } from "./paint/overlaps.ts";
import { paintNames, paintTracks } from "./paint/tracks.ts";
import { type Scene, tokenOf } from "./scene.ts";
import type { TimeWindow } from "./time-window.ts";

/** A mark is small and meant; a bar is large, and lines run across it. */
const order: readonly Thing["kind"][] = ["violation", "fault", "write", "message"];

/** Paints what is in view, at most once a frame. */
export class Chart {
  readonly element: SVGSVGElement;
  readonly window: TimeWindow;
  readonly picture: Picture;
  readonly #overview: Element;
  layout: Layout;
  #things: readonly Thing[] = [];
  #focus: Thing | undefined;
  #moment: number | undefined;
  #veiledAfter: number | undefined;
  #isDue = false;
  /** Called after each painting. */
  onPainted: (() => void) | undefined;

  constructor(element: SVGSVGElement, overview: Element, picture: Picture, window: TimeWindow) {
    this.element = element;
    this.window = window;
    this.picture = picture;
    this.#overview = overview;
    this.layout = this.#measure();
  }

  /** Its size may have changed. */
  resize(): void {
    this.layout = this.#measure();
    this.repaint();
  }

  /** The thing at a place of the screen, if there is one. */
  thingAt(x: number, y: number): Thing | undefined {
    const root = this.element.getRootNode() as Document | ShadowRoot;
    const drawn = root.elementsFromPoint(x, y).filter((one) => this.element.contains(one));
    const things = drawn.flatMap((one) => {
      const number = one.closest("[data-thing]")?.getAttribute("data-thing");
      return number ? [this.#things[Number(number)]!] : [];
    });
    const marks = order.flatMap((kind) => things.filter((thing) => thing.kind === kind));
    return marks[0] ?? things[0];
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
    const layout = layoutOf(this.picture, this.element.clientWidth);
    this.window.place(layout.gutter, layout.width - layout.gutter);
    return layout;
  }

  #paint(): void {
    const { picture, window, layout } = this;
    const things: Thing[] = [];
    this.#things = things;
    const token = tokenOf(this.#focus);
    const scene: Scene = { layout, picture, window, things, focus: this.#focus, token, moment: this.#moment };
    const parts = [
      ...paintOverlapBands(scene),
      ...paintAxis(scene),
      ...paintTracks(scene),
      ...paintMargins(scene),
      ...paintMessages(scene),
      ...paintCalls(scene),
      ...paintKeys(scene),
      ...paintHolds(scene),
      ...paintOverlapFrames(scene),
      ...paintFaults(scene),
      ...(this.#veiledAfter === undefined ? [] : paintVeil(scene, this.#veiledAfter)),
      ...paintNames(scene),
      ...paintViolations(scene),
      ...paintMoment(scene),
    ];
    this.element.style.height = `${layout.height}px`;
    this.element.innerHTML = `<g aria-hidden="true">${parts.join("")}</g>`;
    this.#overview.innerHTML = paintOverview(picture, window, layout.width);
  }
}
