import viewerStyle from "@quorlock/simulation/viewer.css?raw";
import labStyle from "./lab.css?raw";

/** The viewer's style sheet is that of a whole page; here the page is the element with the lab. */
function scoped(style: string): string {
  return style
    .replace(/@media \(prefers-color-scheme: dark\) \{\s*:root \{([^}]*)\}\s*\}/, ":host(.dark) {$1}")
    .replaceAll(":root", ":host");
}

/** Styles the lab, and keeps to the light or dark that the site has. */
export function adoptStyle(root: ShadowRoot, ended: AbortSignal): void {
  const style = document.createElement("style");
  style.textContent = scoped(viewerStyle) + labStyle;
  root.append(style);
  const follow = (): void => {
    root.host.classList.toggle("dark", document.documentElement.classList.contains("dark"));
  };
  follow();
  const observer = new MutationObserver(follow);
  observer.observe(document.documentElement, { attributeFilter: ["class"] });
  ended.addEventListener("abort", () => observer.disconnect());
}
