import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Done } from "./searches.ts";
import { modules } from "./tlc.ts";

const page = fileURLToPath(new URL("../../../docs/specification.md", import.meta.url));
const examples = join(modules, "counterexamples");
const [opening, closing] = ["<!-- figures: written by `pnpm spec --write` -->", "<!-- end of figures -->"];

/** Writes the figures of a whole run into docs/specification.md, and the counterexample of each variant beside the modules. */
export function writePage(done: readonly Done[]): void {
  const text = readFileSync(page, "utf8");
  const [before, rest] = text.split(opening);
  const after = rest?.split(closing)[1];
  if (before === undefined || after === undefined) throw new Error(`${page} has no place for the figures`);
  writeFileSync(page, `${before}${opening}\n\n${figures(done)}\n\n${closing}${after}`);
  rmSync(examples, { recursive: true, force: true });
  mkdirSync(examples);
  for (const one of done) if (one.variant) writeFileSync(join(examples, fileOf(one)), exampleOf(one));
}

function figures(done: readonly Done[]): string {
  const searches = done.filter(({ variant }) => variant === undefined);
  const variants = done.filter(({ variant }) => variant !== undefined);
  return [
    "| module | bounds | states | depth | s |",
    "| --- | --- | --- | --- | --- |",
    ...searches.map(({ part, bounds, found }) => {
      const how = bounds.simulate ? `, random, seed ${bounds.simulate.seed}` : "";
      const { states, depth, seconds } = found;
      return `| ${nameOf(part.module)} | ${bounds.name}${how} | ${states} | ${depth} | ${Math.round(seconds)} |`;
    }),
    "",
    "| variant | breaks | refutes | steps |",
    "| --- | --- | --- | --- |",
    ...variants.map((one) => {
      const { part, variant, found } = one;
      const name = `[${variant!.name}](../spec/counterexamples/${fileOf(one)})`;
      return `| ${name} | ${variant!.breaks.join(", ")} | ${nameOf(part.module)}: ${found.verdict} | ${found.depth} |`;
    }),
  ].join("\n");
}

function exampleOf({ part, bounds, variant, found }: Done): string {
  const { name, breaks, overridden, by } = variant!;
  return [
    `${name} (${breaks.join(", ")})`,
    `${part.module}, ${bounds.name}, ${overridden} <- ${by}: ${found.verdict} is violated. Each step shows what it changes.`,
    "",
    ...found.steps,
    "",
  ].join("\n");
}

function fileOf({ part, variant }: Done): string {
  return `${nameOf(part.module)}-${variant!.by}.txt`.toLowerCase();
}

function nameOf(module: string): string {
  return module.replace("Model", "");
}
