import { argv, exit } from "node:process";
import {
  behaviourMutants,
  type ClientCopy,
  everyMutant,
  mutatedCopy,
  publishedCopy,
} from "@quorlock/simulation/mutants";
import { sections } from "./sections.ts";
import { play } from "./virtual.ts";

// Which cases fail when a rule is broken? Plays every case against each mutant: of all, or of the names that are given.

const cases = Object.values(sections)
  .flat()
  .filter(({ notOn }) => notOn.virtual === undefined);
// A mutant may leave a rejection to nobody: the cases tell.
process.on("unhandledRejection", () => {});

/** The rules of the cases that fail with this copy of the client, one for each case. */
async function failingWith(copy: ClientCopy): Promise<readonly string[]> {
  const failing: string[] = [];
  for (const one of cases) {
    const hasFailed = await play(one, copy).then(
      () => false,
      () => true,
    );
    if (hasFailed) failing.push(one.rule);
  }
  return failing;
}

const unbroken = await failingWith(publishedCopy);
if (unbroken.length > 0) throw new Error(`cases fail without any fault: ${unbroken.join(", ")}`);

let missed = 0;
// Some change the plan of a run, and not the client.
const mutants = [...behaviourMutants, ...everyMutant].filter(({ planOf }) => planOf === undefined);
for (const mutant of mutants.filter(({ name }) => argv.length < 3 || argv.slice(2).includes(name))) {
  const failing = await failingWith(await mutatedCopy(mutant));
  const isNoticed = mutant.breaks.some((rule) => failing.includes(rule));
  if (!isNoticed) missed += 1;
  const counted = [...new Set(failing)].map(
    (rule) => `${rule} (${failing.filter((one) => one === rule).length})`,
  );
  console.log(
    `${isNoticed ? "noticed" : "MISSED "} ${mutant.breaks.join(", ")}: ${mutant.name}: ${counted.join(", ")}`,
  );
}
console.log(`${missed} missed by their own numbers`);
exit(missed === 0 ? 0 : 1);
