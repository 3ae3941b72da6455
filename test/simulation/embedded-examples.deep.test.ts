import { fileURLToPath } from "node:url";
import { type Ending, runProgram } from "@quorlock/simulation/processes";
import { expect, test } from "vitest";

// The examples where there is no server to be had: they still play, and say on what.

const folder = fileURLToPath(new URL("../../examples/", import.meta.url));

function play(script: string, environment: NodeJS.ProcessEnv): Promise<Ending> {
  const env = { REDLOCK_NODES: "", REDLOCK_SOURCE: "", ...environment };
  return runProgram(script, [], { cwd: folder, env });
}

test.concurrent("the sale, on embedded masters that are killed and hung", { timeout: 90_000 }, async () => {
  const { code, output, errors } = await play("sale/main.ts", { REDLOCK_SOURCE: "embedded" });
  expect(errors).toBe("");
  expect(code, output).toBe(0);
  expect(output).toMatch(
    /embedded masters: a model of Redis in this process, since REDLOCK_SOURCE asks for them/,
  );
  expect(output).toMatch(/with the lock +sold +100 +oversold +0 +at most 1 at a time/);
  for (const event of ["killed", "hung", "back", "cut", "aborted", "granted", "healed"]) {
    expect(output).toMatch(new RegExp(`^ *\\d+\\.\\d\\d s {2}${event} `, "m"));
  }
});

test.concurrent("the lottery without any server prints the reasons", {
  timeout: 60_000,
}, async () => {
  // A Docker engine that is unreachable, no program on the PATH, and no installation.
  const { code, output } = await play("lottery/main.ts", {
    PATH: folder,
    DOCKER_HOST: "tcp://127.0.0.1:1",
    REDLOCK_NO_INSTALL: "1",
  });
  expect(code, output).toBe(0);
  expect(output).toMatch(
    /no real masters to be had: .*local-binary: neither .*installed: REDLOCK_NO_INSTALL=1/,
  );
  expect(output).toMatch(/embedded masters: .*, since no server is to be had on this machine/);
  expect(output).toContain("drawn 1 time by 6 servers");
});
