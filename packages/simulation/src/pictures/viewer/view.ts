import type { Picture } from "../picture.ts";
import { Canvas } from "./canvas.ts";
import { Chart } from "./chart.ts";
import { Detail, type ViewOptions } from "./detail.ts";
import { Keyboard } from "./keyboard.ts";
import { Navigation } from "./navigation.ts";
import { ms } from "./numbers.ts";
import { Overview } from "./overview.ts";
import { Player } from "./player.ts";
import { Pointing } from "./pointing.ts";
import { TimeWindow } from "./time-window.ts";
import { Tooltip } from "./tooltip.ts";

/** A run in the elements of `stage()`: the tracks, and what moves them. */
export class View {
  readonly player: Player;
  readonly #chart: Chart;
  readonly #navigation: Navigation;
  readonly #pointing: Pointing;
  readonly #ended = new AbortController();

  constructor(root: ParentNode, picture: Picture, options: ViewOptions = {}) {
    const element = (id: string): HTMLElement => {
      const found = root.querySelector<HTMLElement>(`#${id}`);
      if (!found) throw new Error(`this page has no element "${id}"`);
      return found;
    };
    const canvas = (id: string): Canvas => new Canvas(element(id) as HTMLCanvasElement);
    const window = new TimeWindow(picture.until);
    const strip = canvas("overview");
    const overview = new Overview(strip, picture, window);
    const chart = new Chart(canvas("chart"), overview, picture, window);
    const navigation = new Navigation(chart, picture);
    const tooltip = new Tooltip(element("tooltip"));
    const detail = new Detail(element("detail"), picture, options);
    this.#chart = chart;
    this.#navigation = navigation;
    this.#pointing = new Pointing(chart, navigation, tooltip, picture, (thing) => detail.show(thing));
    this.player = new Player(element, chart, picture, this.#ended.signal);
    const keyboard = new Keyboard(chart, navigation, tooltip, picture, element("spoken"), this.player);
    slideOverview(strip, overview, navigation);

    const range = element("range");
    chart.onPainted = () => {
      range.textContent = `${ms(window.from, 0)} – ${ms(window.until, 0)}`;
    };
    const onClick = (id: string, act: () => void): void => element(id).addEventListener("click", act);
    onClick("nearer", () => navigation.zoom(1.6));
    onClick("further", () => navigation.zoom(1 / 1.6));
    onClick("all", () => navigation.showAll());
    onClick("next", () => keyboard.goToViolation(1));
    onClick("previous", () => keyboard.goToViolation(-1));
    this.#followSurroundings();
  }

  /** The first violation and what led to it; the whole run where there is none. */
  showStory(): void {
    this.player.tellWhy();
    if (this.#chart.picture.violations.length > 0) this.#navigation.showStory(0);
    else this.#navigation.showAll();
  }

  showAll(): void {
    this.#navigation.showAll();
  }

  showViolation(index: number): void {
    this.#pointing.leave();
    this.#navigation.showViolation(index);
    this.#chart.canvas.element.scrollIntoView({ block: "nearest" });
  }

  /** The colours have changed. */
  repaint(): void {
    this.#chart.resize();
  }

  /** Before its elements go. */
  end(): void {
    this.#ended.abort();
    this.player.pause();
  }

  #followSurroundings(): void {
    const resized = new ResizeObserver(() => this.#chart.resize());
    resized.observe(this.#chart.canvas.element);
    const { signal } = this.#ended;
    signal.addEventListener("abort", () => resized.disconnect());
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", () => this.#chart.resize(), { signal });
  }
}

function slideOverview(canvas: Canvas, overview: Overview, navigation: Navigation): void {
  const { element: strip } = canvas;
  const go = (event: PointerEvent): void => {
    const { left } = strip.getBoundingClientRect();
    navigation.showAround(overview.time(event.clientX - left));
  };
  strip.addEventListener("pointerdown", (event) => {
    strip.setPointerCapture(event.pointerId);
    go(event);
  });
  strip.addEventListener("pointermove", (event) => {
    if (event.buttons > 0) go(event);
  });
}
