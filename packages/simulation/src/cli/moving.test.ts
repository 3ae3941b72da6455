import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { runPlan } from "../run/run-plan.ts";
import { moving, sale } from "./moving.ts";

test("docs/moving.svg is the picture that `pnpm sim moving` draws, without scripts", async () => {
  const folder = await mkdtemp(join(tmpdir(), "quorlock-moving-"));
  const log = vi.spyOn(console, "log").mockImplementation(() => {});
  try {
    expect(await moving.run(["--out", join(folder, "moving.svg")])).toBe(0);
    const drawn = (await readFile(join(folder, "moving.svg"), "utf8")).replace(
      /--out \S+?</,
      "--out docs/moving.svg<",
    );
    expect(drawn).toBe(await readFile(new URL("../../../../docs/moving.svg", import.meta.url), "utf8"));
    expect(drawn).not.toMatch(/<script|<foreignObject|href=|url\(/);
    for (const text of [
      "Client 0 gets the lock",
      "Master B dies: four others are a majority",
      "Client 0, the holder, is cut off",
      "Client 0 is notified, and sells nothing more",
      "Client 1 gets the lock, and sells on",
      "39 items are sold, none oversold",
    ])
      expect(drawn).toContain(`>${text}</text>`);
  } finally {
    log.mockRestore();
    await rm(folder, { recursive: true });
  }
});

test("the sale that it shows violates nothing", async () => {
  const { verdict, violations } = await runPlan(sale);
  expect([verdict, violations]).toEqual(["ok", []]);
});
