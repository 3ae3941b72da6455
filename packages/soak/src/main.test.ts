import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const main = fileURLToPath(new URL("main.ts", import.meta.url));

function soak(
  args: readonly string[],
  env: Record<string, string> = {},
): { status: number | null; said: string } {
  const node = ["--import", "tsx", "--conditions=quorlock-source", main, ...args];
  const { status, stderr } = spawnSync(process.execPath, node, {
    encoding: "utf8",
    env: { ...process.env, ...env },
  });
  return { status, said: stderr };
}

test("bad usage is exit 64, with what is wrong and how it is right", () => {
  const { status, said } = soak(["--minutes", "soon"]);
  expect(said).toContain("--minutes must be a number");
  expect(said).toContain("Usage:");
  expect(status).toBe(64);
});

test("where there are no masters it could not run: exit 2, with the reason", () => {
  const { status, said } = soak(["--minutes", "1"], { REDLOCK_SOURCE: "REDLOCK_NODES", REDLOCK_NODES: "" });
  expect(said).toContain("no masters to be had");
  expect(status).toBe(2);
});
