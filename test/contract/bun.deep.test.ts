import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { startMasters } from "@quorlock/testbed";
import { expect, test } from "vitest";
import { runtimes } from "../process/runtimes.ts";

// PROTOCOL 2.18.

const run = promisify(execFile);

test("Bun.RedisClient fulfills the contract, under Bun", async () => {
  await using masters = await startMasters(2, { say: () => {} });
  const [bun] = await runtimes["Bun"]!("");
  const spec = join(import.meta.dirname, "bun.spec.ts");
  const args = ["test", "--conditions=quorlock-source", "--timeout", "60000", spec];
  const { stderr } = await run(bun, args, {
    env: { ...process.env, MASTER: masters.urls[0], SECOND_MASTER: masters.urls[1] },
  });
  console.log(stderr.slice(stderr.lastIndexOf("\n\n")));
  expect(Number(/(\d+) pass\n/.exec(stderr)?.[1])).toBeGreaterThan(120);
  expect(stderr).toContain(" 0 fail\n");
});
