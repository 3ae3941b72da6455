import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { expect, it } from "vitest";

// PROTOCOL 2.1.

const run = promisify(execFile);

/** Draws a token, and another one in each process that is started from the snapshot of it. */
const program = `
  import { Tokens } from "./protocol/token.ts";
  import { systemRuntime } from "./time/system.ts";
  const tokens = new Tokens(systemRuntime);
  tokens.next();
  require("node:v8").startupSnapshot.setDeserializeMainFunction(() => console.log(tokens.next()));
`;

it("processes that are started from a snapshot of a warm one draw their own tokens", async () => {
  const directory = await mkdtemp(join(tmpdir(), "quorlock-snapshot-"));
  try {
    const [entry, blob] = ["entry.cjs", "snapshot.blob"].map((name) => join(directory, name)) as [
      string,
      string,
    ];
    const resolveDir = fileURLToPath(new URL("../../packages/redlock/src/", import.meta.url));
    await build({
      stdin: { contents: program, resolveDir, loader: "ts" },
      bundle: true,
      platform: "node",
      format: "cjs",
      outfile: entry,
      logLevel: "silent",
    });
    await run(process.execPath, ["--snapshot-blob", blob, "--build-snapshot", entry]);
    const start = async () => (await run(process.execPath, ["--snapshot-blob", blob])).stdout.trim();
    const tokens = [await start(), await start(), await start()];
    expect(tokens.every((token) => /^[0-9a-f]{32}$/.test(token))).toBe(true);
    expect(new Set(tokens).size).toBe(3);
    // The tag is in the snapshot: 96 bits tell the tokens apart.
    expect(new Set(tokens.map((token) => token.slice(0, 8))).size).toBe(1);
  } finally {
    await rm(directory, { recursive: true });
  }
});
