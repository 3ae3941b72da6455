import { argv } from "node:process";
import { behaviourMutants, everyMutant, mutatedCopy, publishedCopy } from "@quorlock/simulation/mutants";
import { sections } from "./sections.ts";
import { play } from "./virtual.ts";

// The process in which `evidence.ts` plays the cases against mutants, by their names: one of them may hang it, or end it.

/** What it says: before each case, and after each mutant. */
export type Said = { readonly begins: string } | { readonly failing: readonly string[] };

const cases = Object.values(sections)
  .flat()
  .filter(({ notOn }) => notOn.virtual === undefined);
// A mutant may leave an error to nobody: the cases tell.
process.on("unhandledRejection", () => {});
process.on("uncaughtException", () => {});

for (const name of argv.slice(2)) {
  const mutant = [...behaviourMutants, ...everyMutant].find((one) => one.name === name);
  const copy = mutant ? await mutatedCopy(mutant) : publishedCopy;
  const failing: string[] = [];
  for (const one of cases) {
    process.send?.({ begins: one.rule } satisfies Said);
    await play(one, copy).catch(() => failing.push(one.rule));
  }
  process.send?.({ failing } satisfies Said);
}
process.disconnect?.();
process.exit();
