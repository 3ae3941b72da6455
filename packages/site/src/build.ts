import { rm } from "node:fs/promises";
import { join } from "node:path";
import { build, serve } from "vitepress";
import { reference, root } from "./pages.ts";
import { writeReference } from "./reference.ts";

const folder = join(root, "packages/site");

/** Writes the reference from the sources, then every page. Nothing is loaded from a network. */
export async function buildSite(): Promise<void> {
  await rm(join(root, reference), { recursive: true, force: true });
  await writeReference();
  await build(folder);
}

/** Serves what was built, until the process ends. */
export async function serveSite(port: number): Promise<void> {
  await serve({ root: folder, port });
}
