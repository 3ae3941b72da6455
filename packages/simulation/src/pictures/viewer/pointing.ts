import type { Thing } from "../thing.ts";
import type { Chart } from "./chart.ts";
import type { Navigation } from "./navigation.ts";
import type { Tooltip } from "./tooltip.ts";
import { tell } from "./words.ts";

/** Further than this is a drag, px. */
const clickSlack = 4;

/** Mouse, pen and fingers on the chart: pointing, panning, pinching, the wheel. */
export function listenToPointers(
  chart: Chart,
  navigation: Navigation,
  tooltip: Tooltip,
  onClick: (thing: Thing | undefined) => void,
): void {
  const { element } = chart;
  const pointers = new Map<number, PointerEvent>();
  let travelled = 0;
  const point = (event: MouseEvent): void => {
    const x = event.clientX - element.getBoundingClientRect().left;
    const thing = chart.thingAt(event.clientX, event.clientY);
    const { gutter, width } = chart.layout;
    element.style.cursor = thing ? "pointer" : "";
    chart.point(thing, x >= gutter && x <= width ? chart.window.time(x) : undefined);
    if (thing) tooltip.show(thing.it, tell(chart.picture, thing), event.clientX, event.clientY);
    else tooltip.hide();
  };
  element.addEventListener("pointerdown", (event) => {
    if (pointers.size === 0) travelled = 0;
    pointers.set(event.pointerId, event);
    element.setPointerCapture(event.pointerId);
  });
  element.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return point(event);
    const by = event.clientX - before.clientX;
    travelled += Math.abs(by);
    const other = [...pointers.values()].find(({ pointerId }) => pointerId !== event.pointerId);
    pointers.set(event.pointerId, event);
    if (other) pinch(chart, navigation, before, event, other);
    else if (travelled > clickSlack) {
      tooltip.hide();
      navigation.pan(-by);
    }
  });
  element.addEventListener("pointerup", (event) => {
    pointers.delete(event.pointerId);
    // A finger cannot hover: a tap is its way to point.
    if (travelled > clickSlack) return;
    point(event);
    onClick(chart.thingAt(event.clientX, event.clientY));
  });
  element.addEventListener("pointercancel", (event) => pointers.delete(event.pointerId));
  element.addEventListener("pointerleave", () => leave(chart, tooltip));
  const onWheel = (event: WheelEvent): void => {
    event.preventDefault();
    turn(chart, navigation, event);
    point(event);
  };
  element.addEventListener("wheel", onWheel, { passive: false });
}

/** Nothing is pointed at any more. */
export function leave(chart: Chart, tooltip: Tooltip): void {
  tooltip.hide();
  chart.element.style.cursor = "";
  chart.point(undefined, undefined);
}

function pinch(
  { element }: Chart,
  navigation: Navigation,
  before: PointerEvent,
  now: PointerEvent,
  other: PointerEvent,
): void {
  const distance = (event: PointerEvent): number => Math.max(20, Math.abs(event.clientX - other.clientX));
  const { left } = element.getBoundingClientRect();
  navigation.zoom(distance(now) / distance(before), (now.clientX + other.clientX) / 2 - left);
}

function turn({ element }: Chart, navigation: Navigation, event: WheelEvent): void {
  const { left } = element.getBoundingClientRect();
  // Lines and pages are what some mice count in.
  const unit = [1, 16, 400][event.deltaMode] ?? 1;
  const sideways = event.shiftKey ? event.deltaX + event.deltaY : event.deltaX;
  if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) navigation.pan(sideways * unit);
  else navigation.zoom(Math.exp((-event.deltaY * unit) / 320), event.clientX - left);
}
