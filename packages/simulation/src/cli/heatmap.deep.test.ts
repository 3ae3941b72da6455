import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { UsageError } from "../command-line/options.ts";
import { heatmap } from "./heatmap.ts";

describe("pnpm sim heatmap", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "quorlock-heatmap-"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  test("writes a picture that holds its numbers and the command that made it", async () => {
    const said = vi.spyOn(console, "log").mockImplementation(() => {});
    const out = join(folder, "map.svg");
    expect(await heatmap.run(["--drift", "0.5,20", "--ttl", "200", "--seeds", "3", "--out", out])).toBe(0);
    const drawn = await readFile(out, "utf8");
    expect(drawn).toContain(`pnpm sim heatmap --drift 0.5,20 --ttl 200 --seeds 3 --out ${out}`);
    // Safe at half a per cent, violated at twenty: the client allows for one.
    expect(drawn.match(/class="(safe|unsafe)"/g)).toEqual(['class="safe"', 'class="unsafe"']);
    expect(said).toHaveBeenCalledTimes(2);
    said.mockRestore();
  });

  test.each([
    [["--drift=-1"], "--drift must be per cent, above 0 and below 100"],
    [["--drift", "1,two"], '"two"'],
    [["--drift", "0.1,,1"], '""'],
    [["--ttl", "0"], "--ttl must be whole ms"],
    [["--ttl", "100.5"], '"100.5"'],
    [["--seeds", "0"], "--seeds"],
    [["--drift-factor", "1"], "--drift-factor"],
    [["--drift-factor", "0.01,0.02"], "--drift-factor"],
    [["--out", "map.png"], "--out must end in .svg"],
    [["--rates", "1"], "--rates"],
  ])("%j is bad usage", async (args, text) => {
    const running = heatmap.run(args.includes("--out") ? args : [...args, "--out", "map.svg"]);
    await expect(running).rejects.toThrow(UsageError);
    await expect(running).rejects.toThrow(text);
  });

  test("a missing --out is bad usage", async () => {
    await expect(heatmap.run(["--drift", "1"])).rejects.toThrow("--out is missing");
  });
});
