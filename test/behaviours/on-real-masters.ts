import { afterAll, beforeAll, describe, test } from "vitest";
import { RealMasters, whyNotOn } from "./real.ts";
import { sections } from "./sections.ts";
import { setups } from "./setups.ts";

/** A case waits for no more than 10 s in all, ms. */
const hang = 30_000;

/** The cases on real masters, by one setup. */
export function playOnRealMasters(name: string): void {
  const setup = setups[name]!;
  let masters: RealMasters;
  beforeAll(async () => {
    masters = await RealMasters.start(setup);
  });
  afterAll(() => masters[Symbol.asyncDispose]());
  describe.each(Object.entries(sections))("%s", (_, behaviours) => {
    for (const one of behaviours) {
      const why = whyNotOn(setup, one);
      const title = `${one.rule} ${one.title}`;
      test(title, ({ skip }) => (why === undefined ? masters.play(one) : skip(why)), hang);
    }
  });
}
