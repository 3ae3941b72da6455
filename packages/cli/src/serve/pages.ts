import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

/** An HTML page that needs nothing else. */
export interface Page {
  readonly html: string;
  /** The Content-Security-Policy that lets its script and its style sheet run, and nothing else. */
  readonly policy: string;
}

/** Beside this file, and beside the program that is published. */
function textOf(file: string): string {
  return readFileSync(new URL(`page/${file}`, import.meta.url), "utf8");
}

function hashOf(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

function pageFrom(file: string, script: string): Page {
  const style = textOf("page.css");
  const html = textOf(file)
    .replace("<style></style>", () => `<style>${style}</style>`)
    .replace("<script></script>", () => `<script>${script}</script>`);
  const policy = [
    "default-src 'none'",
    `script-src ${script === "" ? "'none'" : hashOf(script)}`,
    `style-src ${hashOf(style)}`,
    "connect-src 'self'",
    "img-src data:",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
  return { html, policy };
}

export function mainPage(): Page {
  return pageFrom("page.html", textOf("page.js"));
}

export function loginPage(): Page {
  return pageFrom("login.html", "");
}
