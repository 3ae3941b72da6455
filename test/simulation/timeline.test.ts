import { expect, test } from "vitest";
import { viewer } from "../../packages/simulation/src/cli/viewer.ts";
import { record } from "../../packages/simulation/src/pictures/recording.ts";
import { timeline } from "../../packages/simulation/src/pictures/timeline.ts";
import { twoHolders } from "./two-holders.ts";

test("the page needs no other files", async () => {
  const page = timeline(await record(twoHolders), { command: "pnpm sim run --seed 1" }, await viewer());
  expect(page).not.toMatch(/https?:|src=|@import|url\(/);
  expect(page).toContain("pnpm sim run --seed 1");
  expect(page).toContain('class="verdict violated"');
});

test("the same run produces the same page", async () => {
  const caption = { command: "again" };
  const page = timeline(await record(twoHolders), caption, await viewer());
  expect(timeline(await record(twoHolders), caption, await viewer())).toBe(page);
});

test("no text ends the element that it is in", async () => {
  const recording = await record(twoHolders);
  const nasty = "</script><script>alert(1)</script>";
  const violations = [{ kind: "belief", at: 1, detail: nasty } as const];
  const page = timeline(
    { ...recording, outcome: { ...recording.outcome, violations } },
    { title: nasty, command: nasty },
    await viewer(),
  );
  expect(page).not.toContain("alert(1)</script>");
  expect(page.match(/<script/g)).toHaveLength(2);
});
