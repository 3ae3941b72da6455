import { type Masters, startMasters } from "@quorlock/testbed";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Case, mastersOf, nameOf } from "./case.ts";
import { cases } from "./cases.ts";
import { Fixture } from "./fixture.ts";
import { quorlock } from "./libraries/quorlock.ts";

let masters: Masters;
beforeAll(async () => {
  masters = await startMasters(Math.max(...cases.map(mastersOf)), { say: () => {} });
});
afterAll(() => masters?.stop());

async function play(one: Case): Promise<void> {
  await using fixture = await Fixture.start(quorlock, masters.list.slice(0, mastersOf(one)));
  const { conforms, observed } = await one.run(fixture);
  expect(conforms, `${observed}\ndemanded: ${one.bound}`).toBe(true);
}

describe.concurrent("beside each other", () => {
  for (const one of cases) if (one.mostlyWaits) test(nameOf(one), () => play(one));
});

describe("one after the other", () => {
  for (const one of cases) if (!one.mostlyWaits) test(nameOf(one), () => play(one));
});
