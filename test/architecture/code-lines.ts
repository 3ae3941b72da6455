import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

// Counts code lines: neither comment, nor blank, nor part of an import. Comments are free, so that nobody saves them.
// Counted are the tracked sources in TypeScript, JavaScript, Lua and Vue, without declarations and generated files.

const endings = ["ts", "mts", "cts", "js", "mjs", "cjs", "lua", "vue"];
const isUncounted = /\.d\.ts$|\.generated\./;

/** The part of a script's text that begins at `start`, and whether it counts as code. */
function partAt(text: string, start: number): { readonly end: number; readonly isCode: boolean } {
  const two = text.slice(start, start + 2);
  if (two === "//") return { end: endOr(text.indexOf("\n", start), text), isCode: false };
  if (two === "/*") return { end: endOr(text.indexOf("*/", start + 2) + 2, text, 1), isCode: false };
  const first = text[start]!;
  if (first === '"' || first === "'") return { end: endOfString(text, start), isCode: true };
  if (first === "`") return { end: endOfTemplate(text, start), isCode: true };
  return { end: start + 1, isCode: true };
}

function endOr(end: number, text: string, least = 0): number {
  return end <= least ? text.length : end;
}

/** A string ends at its quote, or at the end of its line: then the quote was part of a regular expression. */
function endOfString(text: string, start: number): number {
  const quote = text[start];
  let at = start + 1;
  while (at < text.length && text[at] !== quote && text[at] !== "\n") at += text[at] === "\\" ? 2 : 1;
  return at + 1;
}

function endOfTemplate(text: string, start: number): number {
  let depth = 0;
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text.startsWith("${", at)) depth += 1;
    else if (depth > 0 && text[at] === "}") depth -= 1;
    else if (text[at] === "`" && depth === 0) return at + 1;
  }
  return text.length;
}

function filled(text: string): number {
  return text.split("\n").filter((line) => line.trim() !== "").length;
}

/** The code lines of a script in TypeScript or JavaScript. */
export function codeLinesOf(text: string): number {
  let code = "";
  for (let at = 0; at < text.length; ) {
    const { end, isCode } = partAt(text, at);
    const part = text.slice(at, end);
    code += isCode ? part : part.replace(/[^\n]/g, "");
    at = end;
  }
  return filled(code.replace(/^import\b[^;]*;/gm, ""));
}

/** The code lines of a script in Lua. */
export function luaLinesOf(text: string): number {
  return filled(text.replace(/--\[\[[\s\S]*?\]\]/g, "").replace(/^\s*--.*$/gm, ""));
}

/**
 * The room of a file. Rooms of the client are the folders of its sources, and its other files; `tests` are all tests, and a
 * package is its sources. Other files, such as the scripts of CI, are `root`.
 */
export function roomOf(file: string): string {
  const [folder = "", name = "", , inside] = file.split("/");
  if (file.endsWith(".test.ts") || folder === "test") return "tests";
  if (folder === "examples" || folder === "packages") {
    if (name !== "redlock") return folder === "examples" ? folder : name;
    const isInRoom = file.startsWith("packages/redlock/src/") && file.split("/").length > 4;
    return isInRoom ? `client/${inside}` : "client/(top)";
  }
  return "root";
}

/** The code lines of each room in the checkout `folder`. */
export function codeLinesIn(folder: string): ReadonlyMap<string, number> {
  const patterns = endings.map((ending) => `*.${ending}`);
  const listed = execFileSync("git", ["-C", folder, "ls-files", ...patterns], { encoding: "utf8" });
  const rooms = new Map<string, number>();
  for (const file of listed.split("\n")) {
    const path = join(folder, file);
    // (A file that was deleted and not committed yet is still listed.)
    if (file === "" || isUncounted.test(file) || !existsSync(path)) continue;
    const text = readFileSync(path, "utf8");
    const lines = file.endsWith(".lua") ? luaLinesOf(text) : codeLinesOf(text);
    rooms.set(roomOf(file), (rooms.get(roomOf(file)) ?? 0) + lines);
  }
  return rooms;
}
