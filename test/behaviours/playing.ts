import { argv } from "node:process";
import { behaviourMutants, everyMutant, mutatedCopy, publishedCopy } from "@quorlock/simulation/mutants";
import { sections } from "./sections.ts";
import { play } from "./virtual.ts";

// The process in which `evidence.ts` plays the cases against mutants, by their names: one of them may hang it, or end it.

/** The messages of this process: the rule of a case that begins or has failed; and that the mutant has been through all of them. */
export type Said = { readonly begins: string } | { readonly fails: string } | { readonly isOver: true };

const cases = Object.values(sections)
  .flat()
  .filter(({ notOn }) => notOn.virtual === undefined);
// A mutant may leave an error to nobody: the cases tell.
process.on("unhandledRejection", () => {});

for (const name of argv.slice(2)) {
  const mutant = [...behaviourMutants, ...everyMutant].find((one) => one.name === name);
  const copy = mutant ? await mutatedCopy(mutant) : publishedCopy;
  for (const one of cases) {
    say({ begins: one.rule });
    await play(one, copy).catch(() => say({ fails: one.rule }));
  }
  say({ isOver: true });
}
process.disconnect();

function say(said: Said): void {
  process.send!(said);
}
