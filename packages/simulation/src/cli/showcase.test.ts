import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { UsageError } from "../command-line/options.ts";
import { showcase } from "./showcase.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "quorlock-showcase-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function shown(...args: readonly string[]): Promise<readonly string[]> {
  const lines: string[] = [];
  const log = vi.spyOn(console, "log").mockImplementation((line) => void lines.push(String(line)));
  try {
    expect(await showcase.run(args)).toBe(0);
    return lines;
  } finally {
    log.mockRestore();
  }
}

test("the showcase prints the run in the order of time: grants with their votes, the fault, and two holders at once", async () => {
  const lines = await shown();
  const events = lines.flatMap((line) => /^ +[\d,]+ ms {2}(.+)$/.exec(line)?.[1] ?? []);
  expect(events.slice(2)).toEqual([
    "client 0 gets the lock, by the votes of A, B, C",
    "fault: wall clock set by +20,000 ms: master C",
    "client 1 gets the lock, by the votes of C, D, E",
    expect.stringMatching(/^Two holders: .* C voted twice: .* by its own clock the first key has expired\.$/),
    expect.stringMatching(/^A stale write: /),
    "client 1 holds the lock no longer",
    "client 0 holds the lock no longer",
  ]);
});

test("docs/violated-run.svg is the picture that it draws", async () => {
  const out = join(folder, "run.svg");
  expect(await shown("--out", out)).toContain(`written to ${out}`);
  const committed = await readFile(new URL("../../../../docs/violated-run.svg", import.meta.url), "utf8");
  expect((await readFile(out, "utf8")).replace(out, "docs/violated-run.svg")).toBe(committed);
});

test("as a page: the head has the unit of the axis, and the legend stands before the chart", async () => {
  const out = join(folder, "run.html");
  await shown("--out", out);
  const page = await readFile(out, "utf8");
  expect(page).toMatch(/<p class="facts">5 masters .* active for [\d,]+ ms, then calm for [\d,]+ ms<\/p>/);
  const places = ['class="legend"', 'id="chart"'].map((part) => page.indexOf(part));
  expect(places[0]).toBeGreaterThan(0);
  expect(places[0]).toBeLessThan(places[1]!);
  expect(page).toContain("hold 7: a client holds a lock, by its own clock");
});

test.each([
  [["--out", "run.png"], "--out must end in .svg or .html, but is run.png"],
  [["--seed", "2"], "--seed"],
])("%j is bad usage", async (args, text) => {
  const running = showcase.run(args);
  await expect(running).rejects.toThrow(UsageError);
  await expect(running).rejects.toThrow(text);
});
