import type { Picture } from "../picture.ts";
import { Canvas } from "./canvas.ts";
import { Chart } from "./chart.ts";
import { Keyboard } from "./keyboard.ts";
import { Navigation } from "./navigation.ts";
import { ms } from "./numbers.ts";
import { Overview } from "./overview.ts";
import { Pointing } from "./pointing.ts";
import { TimeWindow } from "./time-window.ts";
import { Tooltip } from "./tooltip.ts";

// The page is there already, with everything that can be read without a script; this draws the tracks into it.

function element(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new Error(`this page has no element "${id}"`);
  return found;
}

function canvas(id: string): Canvas {
  return new Canvas(element(id) as HTMLCanvasElement);
}

function offerCopy(button: HTMLElement, command: HTMLElement): void {
  const tell = (text: string): void => {
    button.textContent = text;
    setTimeout(() => {
      button.textContent = "Copy";
    }, 1500);
  };
  button.addEventListener("click", () => {
    // A file:// page may have no clipboard: then the command is selected, for the user's own copy.
    getSelection()?.selectAllChildren(command);
    const copying = navigator.clipboard?.writeText(command.textContent ?? "") ?? Promise.reject(new Error());
    copying.then(
      () => tell("Copied"),
      () => tell("Press Ctrl+C"),
    );
  });
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

function start(): void {
  const picture = JSON.parse(element("picture").textContent ?? "") as Picture;
  const window = new TimeWindow(picture.until);
  const strip = canvas("overview");
  const overview = new Overview(strip, picture, window);
  const chart = new Chart(canvas("chart"), overview, picture, window);
  const navigation = new Navigation(chart, picture);
  const tooltip = new Tooltip(element("tooltip"));
  const pointing = new Pointing(chart, navigation, tooltip, picture);
  const keyboard = new Keyboard(chart, navigation, tooltip, picture, element("spoken"));
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
  for (const button of document.querySelectorAll<HTMLElement>("[data-violation]")) {
    button.addEventListener("click", () => {
      pointing.leave();
      navigation.showViolation(Number(button.getAttribute("data-violation")));
      chart.canvas.element.scrollIntoView({ block: "nearest" });
    });
  }
  offerCopy(element("copy"), element("command"));

  new ResizeObserver(() => chart.resize()).observe(chart.canvas.element);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => chart.resize());
  if (picture.violations.length > 0) navigation.showStory(0);
  else navigation.showAll();
}

start();
