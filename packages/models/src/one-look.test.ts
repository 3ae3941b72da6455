import { expect, test } from "vitest";
import { catalogue } from "./catalogue.ts";
import { checkMutant, checkProtocol } from "./check.ts";

// One model and one mutant of each protocol. `pnpm test:deep` searches for every mutant, `pnpm models` through every state.

const protocols = new Map(catalogue.map((check) => [check.protocol, check]));
const quick = catalogue.find(({ level }) => level === "quick")!;

test(`${quick.protocol}, ${quick.bounds}: holds`, async () => {
  expect(await checkProtocol(quick)).toMatchObject({ passed: true });
});

test.each([...protocols.keys()])("%s: its first mutant is found", async (protocol) => {
  const check = catalogue.find((one) => one.protocol === protocol && one.mutants.length > 0)!;
  expect(await checkMutant(check, check.mutants[0]!)).toMatchObject({ passed: true });
});
