import type { Picture } from "../picture.ts";
import type { Thing } from "../thing.ts";
import type { Chart } from "./chart.ts";
import type { Navigation } from "./navigation.ts";
import type { Tooltip } from "./tooltip.ts";
import { tell } from "./words.ts";

/** Further than this is a drag, px. */
const clickSlack = 4;

/** Mouse, pen and fingers on the chart: pointing, panning, pinching, the wheel. */
export class Pointing {
  readonly #chart: Chart;
  readonly #navigation: Navigation;
  readonly #tooltip: Tooltip;
  readonly #picture: Picture;
  readonly #onClick: (thing: Thing | undefined) => void;
  readonly #pointers = new Map<number, PointerEvent>();
  #travelled = 0;

  constructor(
    chart: Chart,
    navigation: Navigation,
    tooltip: Tooltip,
    picture: Picture,
    onClick: (thing: Thing | undefined) => void,
  ) {
    this.#chart = chart;
    this.#navigation = navigation;
    this.#tooltip = tooltip;
    this.#picture = picture;
    this.#onClick = onClick;
    const { element } = chart;
    element.addEventListener("pointerdown", (event) => this.#down(event));
    element.addEventListener("pointermove", (event) => this.#move(event));
    element.addEventListener("pointerup", (event) => this.#up(event));
    element.addEventListener("pointercancel", (event) => this.#pointers.delete(event.pointerId));
    element.addEventListener("pointerleave", () => this.leave());
    element.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
  }

  leave(): void {
    this.#tooltip.hide();
    this.#chart.element.style.cursor = "";
    this.#chart.point(undefined, undefined);
  }

  #down(event: PointerEvent): void {
    if (this.#pointers.size === 0) this.#travelled = 0;
    this.#pointers.set(event.pointerId, event);
    this.#chart.element.setPointerCapture(event.pointerId);
  }

  #move(event: PointerEvent): void {
    const before = this.#pointers.get(event.pointerId);
    if (!before) {
      this.#point(event);
      return;
    }
    const by = event.clientX - before.clientX;
    this.#travelled += Math.abs(by);
    const [other] = [...this.#pointers.values()].filter(({ pointerId }) => pointerId !== event.pointerId);
    this.#pointers.set(event.pointerId, event);
    if (other) this.#pinch(before, event, other);
    else if (this.#travelled > clickSlack) {
      this.#tooltip.hide();
      this.#navigation.pan(-by);
    }
  }

  #up(event: PointerEvent): void {
    this.#pointers.delete(event.pointerId);
    // A finger cannot hover: a tap is its way to point.
    if (this.#travelled > clickSlack) return;
    this.#point(event);
    this.#onClick(this.#chart.thingAt(event.clientX, event.clientY));
  }

  #pinch(before: PointerEvent, now: PointerEvent, other: PointerEvent): void {
    const distance = (event: PointerEvent): number => Math.max(20, Math.abs(event.clientX - other.clientX));
    const { left } = this.#chart.element.getBoundingClientRect();
    this.#navigation.zoom(distance(now) / distance(before), (now.clientX + other.clientX) / 2 - left);
  }

  #point(event: PointerEvent): void {
    const x = event.clientX - this.#chart.element.getBoundingClientRect().left;
    const thing = this.#chart.thingAt(event.clientX, event.clientY);
    const { gutter, width } = this.#chart.layout;
    const isInside = x >= gutter && x <= width;
    this.#chart.element.style.cursor = thing ? "pointer" : "";
    this.#chart.point(thing, isInside ? this.#chart.window.time(x) : undefined);
    if (thing) this.#tooltip.show(thing.it, tell(this.#picture, thing), event.clientX, event.clientY);
    else this.#tooltip.hide();
  }

  #wheel(event: WheelEvent): void {
    event.preventDefault();
    const { left } = this.#chart.element.getBoundingClientRect();
    // Lines and pages are what some mice count in.
    const unit = [1, 16, 400][event.deltaMode] ?? 1;
    const sideways = event.shiftKey ? event.deltaX + event.deltaY : event.deltaX;
    if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY))
      this.#navigation.pan(sideways * unit);
    else this.#navigation.zoom(Math.exp((-event.deltaY * unit) / 320), event.clientX - left);
    this.#point(event as unknown as PointerEvent);
  }
}
