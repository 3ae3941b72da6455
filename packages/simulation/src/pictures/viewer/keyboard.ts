import type { Thing } from "../thing.ts";
import type { Chart } from "./chart.ts";
import type { Navigation } from "./navigation.ts";
import type { Player } from "./player.ts";
import type { Tooltip } from "./tooltip.ts";
import { tell } from "./words.ts";

/**
 * Keys for everything that the mouse can do; the text of a tooltip is spoken as well. Returns what the buttons for
 * violations do.
 */
export function listenToKeys(
  chart: Chart,
  navigation: Navigation,
  tooltip: Tooltip,
  player: Player,
  spoken: HTMLElement,
): (direction: 1 | -1) => void {
  const stops = stopsIn(chart);
  let place = -1;
  const speak = (thing: Thing): void => {
    const { title, lines } = tell(chart.picture, thing);
    spoken.textContent = [title, ...lines.map((line) => line.join(" "))].join("; ");
  };
  const goToViolation = (direction: 1 | -1): void => {
    const violation = navigation.nextViolation(direction);
    if (violation) speak({ kind: "violation", it: violation });
    else spoken.textContent = "no further violation";
  };
  /** To the next thing that happened: a hold, a fault, a violation. */
  const step = (direction: 1 | -1): void => {
    place = Math.min(Math.max(0, place + direction), stops.length - 1);
    const stop = stops[place];
    if (!stop) return;
    navigation.showAround(stop.at);
    chart.point(stop.thing, stop.at);
    const { left, top, width } = chart.element.getBoundingClientRect();
    const x = left + (chart.layout.gutter + width) / 2;
    tooltip.show(stop.thing.it, tell(chart.picture, stop.thing), x, Math.max(top, 0) + 60);
    speak(stop.thing);
  };
  const actions: Readonly<Record<string, () => void>> = {
    ArrowLeft: () => navigation.pan(-80),
    ArrowRight: () => navigation.pan(80),
    ArrowUp: () => navigation.zoom(1.4),
    ArrowDown: () => navigation.zoom(1 / 1.4),
    "+": () => navigation.zoom(1.4),
    "=": () => navigation.zoom(1.4),
    "-": () => navigation.zoom(1 / 1.4),
    "0": () => navigation.showAll(),
    Home: () => navigation.showAll(),
    n: () => goToViolation(1),
    p: () => goToViolation(-1),
    ".": () => step(1),
    ",": () => step(-1),
    " ": () => player.toggle(),
    Escape: () => {
      tooltip.hide();
      chart.point(undefined, undefined);
    },
  };
  chart.element.addEventListener("keydown", (event) => {
    const act = actions[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  });
  return goToViolation;
}

function stopsIn({ picture: { holds, faults, violations } }: Chart) {
  return [
    ...holds.map((it) => ({ at: it.from, thing: { kind: "hold", it } as Thing })),
    ...faults.map((it) => ({ at: it.from, thing: { kind: "fault", it } as Thing })),
    ...violations.map((it) => ({ at: it.at, thing: { kind: "violation", it } as Thing })),
  ].sort((left, right) => left.at - right.at);
}
