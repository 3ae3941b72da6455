import type { Picture } from "../picture.ts";
import type { Thing } from "../thing.ts";
import type { Chart } from "./chart.ts";
import type { Navigation } from "./navigation.ts";
import type { Player } from "./player.ts";
import type { Tooltip } from "./tooltip.ts";
import { tell } from "./words.ts";

interface Stop {
  readonly at: number;
  readonly thing: Thing;
}

/** Keys for everything that the mouse can do; the text of a tooltip is spoken as well. */
export class Keyboard {
  readonly #chart: Chart;
  readonly #navigation: Navigation;
  readonly #tooltip: Tooltip;
  readonly #picture: Picture;
  readonly #spoken: HTMLElement;
  readonly #player: Player;
  readonly #stops: readonly Stop[];
  #stop = -1;

  constructor(
    chart: Chart,
    navigation: Navigation,
    tooltip: Tooltip,
    picture: Picture,
    spoken: HTMLElement,
    player: Player,
  ) {
    this.#chart = chart;
    this.#navigation = navigation;
    this.#tooltip = tooltip;
    this.#picture = picture;
    this.#spoken = spoken;
    this.#player = player;
    this.#stops = stopsOf(picture);
    chart.element.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const act = this.#actions[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    });
  }

  readonly #actions: Readonly<Record<string, () => void>> = {
    ArrowLeft: () => this.#navigation.pan(-80),
    ArrowRight: () => this.#navigation.pan(80),
    ArrowUp: () => this.#navigation.zoom(1.4),
    ArrowDown: () => this.#navigation.zoom(1 / 1.4),
    "+": () => this.#navigation.zoom(1.4),
    "=": () => this.#navigation.zoom(1.4),
    "-": () => this.#navigation.zoom(1 / 1.4),
    "0": () => this.#navigation.showAll(),
    Home: () => this.#navigation.showAll(),
    n: () => this.goToViolation(1),
    p: () => this.goToViolation(-1),
    ".": () => this.#step(1),
    ",": () => this.#step(-1),
    " ": () => this.#player.toggle(),
    Escape: () => this.#forget(),
  };

  goToViolation(direction: 1 | -1): void {
    const violation = this.#navigation.nextViolation(direction);
    if (violation) this.#speak({ kind: "violation", it: violation });
    else this.#spoken.textContent = "no further violation";
  }

  /** To the next thing that happened: a hold, a fault, a violation. */
  #step(direction: 1 | -1): void {
    this.#stop = Math.min(Math.max(0, this.#stop + direction), this.#stops.length - 1);
    const stop = this.#stops[this.#stop];
    if (!stop) return;
    this.#navigation.showAround(stop.at);
    this.#chart.point(stop.thing, stop.at);
    const { left, top, width } = this.#chart.element.getBoundingClientRect();
    const x = left + (this.#chart.layout.gutter + width) / 2;
    this.#tooltip.show(stop.thing.it, tell(this.#picture, stop.thing), x, Math.max(top, 0) + 60);
    this.#speak(stop.thing);
  }

  #speak(thing: Thing): void {
    const { title, lines } = tell(this.#picture, thing);
    this.#spoken.textContent = [title, ...lines.map((line) => line.join(" "))].join("; ");
  }

  #forget(): void {
    this.#tooltip.hide();
    this.#chart.point(undefined, undefined);
  }
}

function stopsOf({ holds, faults, violations }: Picture): readonly Stop[] {
  const stops: Stop[] = [
    ...holds.map((it): Stop => ({ at: it.from, thing: { kind: "hold", it } })),
    ...faults.map((it): Stop => ({ at: it.from, thing: { kind: "fault", it } })),
    ...violations.map((it): Stop => ({ at: it.at, thing: { kind: "violation", it } })),
  ];
  return stops.sort((left, right) => left.at - right.at);
}
