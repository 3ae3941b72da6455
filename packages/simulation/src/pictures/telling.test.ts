import { expect, test } from "vitest";
import { stories } from "../lab/stories.ts";
import { pictureOf } from "./picture-of.ts";
import { record } from "./recording.ts";
import { whyTwo } from "./telling.ts";

test("two holders are explained by the fault that ended the first key, not by a cut-off of that master after it", async () => {
  const clock = stories.find(({ name }) => name === "clock")!;
  const picture = pictureOf(await record(clock.plan(1, false)));
  const [overlap] = picture.overlaps;
  const told = whyTwo(picture, overlap!);
  expect(told).toContain(
    "C voted twice: wall clock set by +20,000 ms: master C, and by its own clock the first key has expired.",
  );
  const cut = {
    ...picture.faults[0]!,
    kind: "cut" as const,
    from: overlap!.from - 1,
    words: `cut off ${picture.masters[2]!.name}`,
  };
  expect(whyTwo({ ...picture, faults: [...picture.faults, cut] }, overlap!)).toBe(told);
});
