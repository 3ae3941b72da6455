import { spawnSync } from "node:child_process";
import { runCommand } from "@quorlock/simulation/command-line";
import { optionsFrom, usageOf } from "./options.ts";
import { workloads } from "./workloads.ts";

// The entry point of `pnpm bench`. It reads the command line before anything is built; `run.ts` measures what was built.

async function buildAndRun(args: readonly string[]): Promise<number> {
  optionsFrom(args, workloads);
  console.log("builds what it measures");
  const command = ["--silent", "--filter", "@quorlock/bench", "run", "measure", ...args];
  const { status, error } = spawnSync("pnpm", command, { stdio: "inherit" });
  if (error) throw error;
  return status ?? 1;
}

// pnpm passes the "--" after its own options on to the script.
const args = process.argv.slice(2).filter((argument) => argument !== "--");
process.exitCode = await runCommand(args, usageOf(workloads), buildAndRun);
