import { rm } from "node:fs/promises";
import { resolve } from "node:path";
import { keptReports, publishedLibraries, writeReports } from "./api-reports.ts";

// `pnpm run api`, after a build: writes the reports that a change of the public names has to update.

for (const name of publishedLibraries) {
  await rm(keptReports(name), { recursive: true, force: true });
  await writeReports(resolve(import.meta.dirname, "../../packages", name), keptReports(name));
}
