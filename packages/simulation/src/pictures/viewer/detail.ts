import type { Picture } from "../picture.ts";
import { ruleOf } from "../rules.ts";
import type { Thing } from "../thing.ts";
import { tell } from "./words.ts";

export interface ViewOptions {
  /** Where a rule of the protocol can be read; without it a rule is text. */
  readonly hrefOf?: (rule: string) => string;
}

/** Below the chart: the thing that was clicked, the rule of the protocol that it follows or breaks, and the file. */
export class Detail {
  readonly #element: HTMLElement;
  readonly #picture: Picture;
  readonly #options: ViewOptions;

  constructor(element: HTMLElement, picture: Picture, options: ViewOptions) {
    this.#element = element;
    this.#picture = picture;
    this.#options = options;
  }

  show(thing: Thing | undefined): void {
    this.#element.hidden = thing === undefined;
    if (thing === undefined) return;
    const heading = document.createElement("strong");
    heading.textContent = tell(this.#picture, thing).title;
    this.#element.replaceChildren(heading, ...this.#ruleOf(thing));
  }

  #ruleOf(thing: Thing): readonly HTMLElement[] {
    const rule = ruleOf(this.#picture, thing);
    if (!rule) return [];
    const href = this.#options.hrefOf?.(rule.number);
    const text = document.createElement("p");
    const name = document.createElement(href === undefined ? "span" : "a");
    name.textContent = `Rule ${rule.number}: ${rule.title}`;
    if (href !== undefined) name.setAttribute("href", href);
    const file = document.createElement("code");
    file.textContent = `packages/redlock/src/${rule.file}`;
    text.append(name, " In Quorlock: ", file);
    return [text];
  }
}
