import type { TooltipText } from "./words.ts";

/** From the pointer, px. */
const away = 16;

/** One element that stays: it is moved, and rewritten only when it is about something else. */
export class Tooltip {
  readonly #element: HTMLElement;
  #subject: unknown;

  constructor(element: HTMLElement) {
    this.#element = element;
  }

  show(subject: unknown, text: TooltipText, x: number, y: number): void {
    if (this.#subject !== subject) {
      this.#subject = subject;
      this.#write(text);
      this.#element.hidden = false;
    }
    this.#place(x, y);
  }

  hide(): void {
    this.#subject = undefined;
    this.#element.hidden = true;
  }

  #write({ title, lines, isDanger }: TooltipText): void {
    const heading = document.createElement("strong");
    heading.textContent = title;
    const list = document.createElement("dl");
    for (const [name, value] of lines) {
      const term = document.createElement("dt");
      term.textContent = name;
      const description = document.createElement("dd");
      description.textContent = value;
      list.append(term, description);
    }
    this.#element.classList.toggle("danger", isDanger);
    this.#element.replaceChildren(heading, list);
  }

  /** Beside the pointer, on the side where there is room. */
  #place(x: number, y: number): void {
    const { offsetWidth: width, offsetHeight: height } = this.#element;
    const [wide, high] = [document.documentElement.clientWidth, window.innerHeight];
    const left = x + away + width > wide - 8 ? x - away - width : x + away;
    const top = y + away + height > high - 8 ? y - away - height : y + away;
    const [safeLeft, safeTop] = [Math.max(8, Math.min(left, wide - width - 8)), Math.max(8, top)];
    this.#element.style.transform = `translate(${Math.round(safeLeft)}px, ${Math.round(safeTop)}px)`;
  }
}
