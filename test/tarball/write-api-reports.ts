import { rm } from "node:fs/promises";
import { join } from "node:path";
import { keptReports, writeReports } from "./api-reports.ts";
import { publishedLibraries, repository } from "./published.ts";

// `pnpm run api`, after a build: writes the reports that a change of the public names has to update.

for (const name of publishedLibraries) {
  await rm(keptReports(name), { recursive: true, force: true });
  await writeReports(join(repository, "packages", name), keptReports(name));
}
