import type { Picture } from "../picture.ts";
import { Chart } from "./chart.ts";
import { showDetail, type ViewOptions } from "./detail.ts";
import { listenToKeys } from "./keyboard.ts";
import { Navigation } from "./navigation.ts";
import { ms } from "./numbers.ts";
import { Player } from "./player.ts";
import { leave, listenToPointers } from "./pointing.ts";
import { TimeWindow } from "./time-window.ts";
import { Tooltip } from "./tooltip.ts";

/** A run in the elements of `stage()`: the tracks, and what moves them. */
export class View {
  readonly player: Player;
  readonly #chart: Chart;
  readonly #navigation: Navigation;
  readonly #tooltip: Tooltip;
  readonly #ended = new AbortController();

  constructor(root: ParentNode, picture: Picture, options: ViewOptions = {}) {
    const element = (id: string): HTMLElement => {
      const found = root.querySelector<HTMLElement>(`#${id}`);
      if (!found) throw new Error(`this page has no element "${id}"`);
      return found;
    };
    const window = new TimeWindow(picture.until);
    const strip = element("overview");
    const chart = new Chart(element("chart") as Element as SVGSVGElement, strip, picture, window);
    const navigation = new Navigation(chart);
    this.#chart = chart;
    this.#navigation = navigation;
    this.#tooltip = new Tooltip(element("tooltip"));
    this.player = new Player(element, chart, this.#ended.signal);
    listenToPointers(chart, navigation, this.#tooltip, (thing) =>
      showDetail(element("detail"), picture, options, thing),
    );
    const spoken = element("spoken");
    const goToViolation = listenToKeys(chart, navigation, this.#tooltip, this.player, spoken);
    slideOverview(strip, picture, navigation);
    const range = element("range");
    chart.onPainted = () => {
      range.textContent = `${ms(window.from, 0)} – ${ms(window.until, 0)}`;
    };
    const onClick = (id: string, act: () => void): void => element(id).addEventListener("click", act);
    onClick("nearer", () => navigation.zoom(1.6));
    onClick("further", () => navigation.zoom(1 / 1.6));
    onClick("all", () => navigation.showAll());
    onClick("next", () => goToViolation(1));
    onClick("previous", () => goToViolation(-1));
    // Colours follow the style sheet; a change of size needs another layout.
    const resized = new ResizeObserver(() => chart.resize());
    resized.observe(chart.element);
    this.#ended.signal.addEventListener("abort", () => resized.disconnect());
  }

  /** The first violation and what led to it; its faults where there is none. */
  showStory(): void {
    this.player.tellWhy();
    this.#navigation.showStory();
  }

  /** The same, as it happens. */
  playStory(): void {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.showStory();
      return;
    }
    const [from, until] = this.#navigation.story;
    this.#chart.window.show(from, until);
    this.player.moveTo(from);
    this.player.play(until);
  }

  showAll(): void {
    this.#navigation.showAll();
  }

  showViolation(index: number): void {
    leave(this.#chart, this.#tooltip);
    this.#navigation.showViolation(index);
    this.#chart.element.scrollIntoView({ block: "nearest" });
  }

  /** Before its elements go. */
  end(): void {
    this.#ended.abort();
    this.player.pause();
  }
}

function slideOverview(strip: HTMLElement, { activeUntil }: Picture, navigation: Navigation): void {
  const go = (event: PointerEvent): void => {
    const { left, width } = strip.getBoundingClientRect();
    navigation.showAround(((event.clientX - left) / width) * activeUntil);
  };
  strip.addEventListener("pointerdown", (event) => {
    strip.setPointerCapture(event.pointerId);
    go(event);
  });
  strip.addEventListener("pointermove", (event) => {
    if (event.buttons > 0) go(event);
  });
}
