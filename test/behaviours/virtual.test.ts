import { env } from "node:process";
import { editedFiles, editedScripts, mutatedCopy } from "@quorlock/simulation/mutants";
import { describe, expect, test } from "vitest";
import { rules } from "../architecture/protocol.ts";
import { behaviourMutants, mutants } from "./mutants.ts";
import { publishedCopy } from "./published-copy.ts";
import { sections } from "./sections.ts";
import { unobservable } from "./unobservable.ts";
import { play } from "./virtual.ts";

/** `QUORLOCK_MUTANT=name`: the client with that fault. */
async function copyUnderTest() {
  const name = env["QUORLOCK_MUTANT"];
  if (name === undefined) return publishedCopy;
  const mutant = mutants.find((one) => one.name === name);
  if (!mutant) throw new Error(`QUORLOCK_MUTANT: no mutant is called "${name}"`);
  return mutatedCopy(mutant);
}

test("each rule has a case, or a reason why not", () => {
  const cases = Object.values(sections)
    .flat()
    .map(({ rule }) => rule);
  const without = rules.filter(({ number }) => !cases.includes(number)).map(({ number }) => number);
  expect(without).toEqual(Object.keys(unobservable));
});

test.each(behaviourMutants)("the fault finds its place: $name", async (mutant) => {
  const places = (await editedFiles(mutant)).size + editedScripts(mutant).size;
  expect(places > 0 || mutant.connections !== undefined).toBe(true);
});

const copy = await copyUnderTest();

describe.each(Object.entries(sections))("%s", (_, behaviours) => {
  for (const one of behaviours) {
    const why = one.notOn.virtual;
    test(`${one.rule} ${one.title}`, ({ skip }) => (why === undefined ? play(one, copy) : skip(why)));
  }
});
