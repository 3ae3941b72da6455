import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { UsageError } from "../command-line/options.ts";
import { replayFileOf } from "../lab/link.ts";
import { type ReplayFile, replayFileFrom, textOf } from "../plan/replay-file.ts";
import { PlanError } from "../plan/validate.ts";

/** A link to the lab has a "#", and is no file. @throws UsageError for a file that cannot be read, or that is no replay file. */
export async function readReplay(path: string): Promise<ReplayFile> {
  try {
    if (path.includes("#") && !existsSync(path)) return await replayFileOf(path);
    return replayFileFrom(await readFile(path, "utf8"));
  } catch (error) {
    if (error instanceof PlanError) throw new UsageError(`${path}: ${error.message}`);
    throw new UsageError(`cannot be read: ${messageOf(error)}`);
  }
}

export function writeReplay(path: string, file: ReplayFile): Promise<void> {
  return writeText(path, textOf(file));
}

/** @throws UsageError where the file cannot be written. */
export async function writeText(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text);
  } catch (error) {
    throw new UsageError(`cannot be written: ${messageOf(error)}`);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
