import type { Picture } from "../picture.ts";
import { View } from "./view.ts";

// The page is there already, with everything that can be read without a script; this draws the tracks into it.

function element(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new Error(`this page has no element "${id}"`);
  return found;
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

const view = new View(document, JSON.parse(element("picture").textContent ?? "") as Picture);
for (const button of document.querySelectorAll<HTMLElement>("[data-violation]"))
  button.addEventListener("click", () => view.showViolation(Number(button.getAttribute("data-violation"))));
offerCopy(element("copy"), element("command"));
view.showStory();
