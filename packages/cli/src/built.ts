import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll } from "vitest";

// For tests: the program as it is published, which starts in a tenth of the time that its sources take. Each file of tests
// builds it once, into a folder that goes with them.

const root = join(import.meta.dirname, "..");
mkdirSync(join(root, "dist"), { recursive: true });
const folder = mkdtempSync(join(root, "dist/built-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
execFileSync(process.execPath, ["../../build/library.js", folder], { cwd: root });
cpSync(join(import.meta.dirname, "serve/page"), join(folder, "esm/page"), { recursive: true });

export const program: string = join(folder, "esm/quorlock.js");
