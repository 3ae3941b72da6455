import type { Picture } from "../picture.ts";
import { ruleOf } from "../rules.ts";
import type { Thing } from "../thing.ts";
import { tell } from "./words.ts";

export interface ViewOptions {
  /** Where a rule of the protocol can be read; without it a rule is text. */
  readonly hrefOf?: (rule: string) => string;
}

/** Below the chart: the thing that was clicked, the rule of the protocol that it follows or breaks, and the file. */
export function showDetail(
  element: HTMLElement,
  picture: Picture,
  { hrefOf }: ViewOptions,
  thing: Thing | undefined,
): void {
  element.hidden = thing === undefined;
  if (thing === undefined) return;
  const heading = document.createElement("strong");
  heading.textContent = tell(picture, thing).title;
  element.replaceChildren(heading);
  const rule = ruleOf(picture, thing);
  if (!rule) return;
  const text = document.createElement("p");
  const name = document.createElement(hrefOf === undefined ? "span" : "a");
  name.textContent = `Rule ${rule.number}: ${rule.title}`;
  if (hrefOf !== undefined) name.setAttribute("href", hrefOf(rule.number));
  const file = document.createElement("code");
  file.textContent = `packages/redlock/src/${rule.file}`;
  text.append(name, " In Quorlock: ", file);
  element.append(text);
}
