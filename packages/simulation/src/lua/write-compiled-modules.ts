import { writeFile } from "node:fs/promises";
import { compiledModules } from "./compiled-modules.ts";

// `pnpm scripts`.
for (const [path, text] of await compiledModules()) await writeFile(path, text);
