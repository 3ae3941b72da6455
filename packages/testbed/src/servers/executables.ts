import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";

/** The folders of `PATH`, read at every call: tests change it. */
export function foldersOnPath(): string[] {
  const { PATH = "" } = process.env;
  // An empty entry would mean the current directory, which is never intended.
  return PATH.split(delimiter).filter((folder) => folder !== "");
}

/** The first executable with one of the names, the first name preferred, in the folders (default `PATH`). */
export function findExecutable(
  names: readonly string[],
  folders: readonly string[] = foldersOnPath(),
): string | undefined {
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutableFile);
}

function isExecutableFile(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
