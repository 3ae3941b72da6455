import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, inject, test } from "vitest";
import { publishedPackages, repository } from "./published.ts";

// The published packages resolve, and have types, in every way in which users load it.

const run = promisify(execFile);

/** The output of a program of the repository about the package. */
async function complaintsOf(program: string, name: string, ...args: string[]): Promise<string> {
  const file = join(repository, "node_modules/.bin", program);
  return await run(file, [inject("tarballs")[name]!, ...args]).then(
    () => "",
    ({ stdout, stderr }: { stdout: string; stderr: string }) => `${stdout}${stderr}`,
  );
}

test("all packages are packed", () => {
  expect(Object.keys(inject("tarballs")).sort()).toEqual([...publishedPackages].sort());
  expect(publishedPackages.length).toBeGreaterThan(7);
});

test.each(publishedPackages)("%s is as publint wants it", async (name) => {
  expect(await complaintsOf("publint", name, "--strict")).toBe("");
});

test.each(publishedPackages)("%s has types for each way of loading it", async (name) => {
  expect(await complaintsOf("attw", name)).toBe("");
});
