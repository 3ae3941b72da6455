import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { theOnce } from "../../once/once-client.ts";
import type { Viewer } from "../../pictures/timeline.ts";
import { theReadWriteLock } from "../../read-write/read-write-client.ts";
import { type Subject, theClient } from "../../run/subject.ts";
import { theSemaphore } from "../../semaphore/semaphore-client.ts";
import type { Thread } from "../bundled-thread.ts";

// Of the subjects, those that need no compiler and no other library.

const subjects: ReadonlyMap<string, Subject> = new Map([
  ["quorlock", theClient],
  ["semaphore", theSemaphore],
  ["read-write-lock", theReadWriteLock],
  ["once", theOnce],
]);

export const subjectNames: readonly string[] = [...subjects.keys()];

export function mutantNames(): string[] {
  return [];
}

export async function subjectNamed(name: string): Promise<Subject | undefined> {
  return subjects.get(name);
}

export const program = "quorlock-sim";
export const commandLine = "npx quorlock-sim";
export const otherSubjects = "nothing else: mutants and other libraries are in Quorlock's repository alone";
export const hasScenarios = false;

export async function thread(): Promise<Thread> {
  return { filename: fileURLToPath(new URL("trial-thread.js", import.meta.url)), end: async () => {} };
}

/** Bundled when the package was built. */
export async function viewer(): Promise<Viewer> {
  const [script, style] = await Promise.all(
    ["viewer.txt", "viewer.css"].map((file) => readFile(new URL(file, import.meta.url), "utf8")),
  );
  return { script: script!, style: style! };
}
