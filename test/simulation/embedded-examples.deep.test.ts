import { fileURLToPath } from "node:url";
import { type Ending, runProgram } from "@quorlock/simulation/processes";
import { expect, test } from "vitest";

// An example where there is no server to be had: it still plays, and says on what.

const folder = fileURLToPath(new URL("../../examples/", import.meta.url));

function play(script: string, environment: NodeJS.ProcessEnv): Promise<Ending> {
  const env = { REDLOCK_NODES: "", REDLOCK_SOURCE: "", ...environment };
  return runProgram(script, [], { cwd: folder, env });
}

test("the lottery without any server prints the reasons", {
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
