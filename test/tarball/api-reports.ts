import { readdirSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { Extractor, ExtractorConfig, type IConfigFile } from "@microsoft/api-extractor";
import { manifestIn, repository } from "./published.ts";

// The public names of each published package with their types: `packages/*/api/*.api.md`, one for each subpath.

/** The folder of the reports that are kept. */
export function keptReports(name: string): string {
  return join(repository, "packages", name, "api");
}

/** The text of each report in `folder`. */
export function reportsIn(folder: string): Readonly<Record<string, string>> {
  const names = readdirSync(folder).sort();
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), "utf8")]));
}

/** Writes the reports of the package in `built`, which has its declarations, into `reportFolder`. */
export async function writeReports(built: string, reportFolder: string): Promise<void> {
  await mkdir(reportFolder, { recursive: true });
  const temporary = await realpath(await mkdtemp(join(tmpdir(), "quorlock-api-")));
  try {
    for (const entry of Object.values(manifestIn(built).exports)) {
      if (typeof entry === "string" || !entry.import) continue;
      writeReport(built, join(built, entry.import.types), reportFolder, temporary);
    }
  } finally {
    await rm(temporary, { recursive: true });
  }
}

function writeReport(built: string, declarations: string, reportFolder: string, temporary: string): void {
  const reportFileName = basename(declarations, ".d.ts");
  const configObject: IConfigFile = {
    projectFolder: built,
    mainEntryPointFilePath: declarations,
    compiler: {
      overrideTsconfig: {
        compilerOptions: {
          module: "nodenext",
          target: "es2023",
          lib: ["es2023", "esnext.disposable"],
          types: ["node"],
          typeRoots: [join(repository, "node_modules/@types")],
          skipLibCheck: true,
        },
        files: [declarations],
      },
    },
    apiReport: { enabled: true, reportFileName, reportFolder, reportTempFolder: temporary },
    docModel: { enabled: false },
    dtsRollup: { enabled: false },
    tsdocMetadata: { enabled: false },
    newlineKind: "lf",
  };
  const config = ExtractorConfig.prepare({
    configObject,
    configObjectFullPath: undefined,
    packageJsonFullPath: join(built, "package.json"),
  });
  // Its messages are off by default.
  const result = Extractor.invoke(config, { localBuild: true });
  if (result.errorCount > 0) throw new Error(`${result.errorCount} errors in ${declarations}`);
}
