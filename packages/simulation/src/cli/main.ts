import { RedlockError } from "@quorlock/redlock";
import { UsageError } from "./arguments.ts";
import { type Command, exitCodes } from "./command.ts";
import { explore } from "./explore.ts";
import { heatmap } from "./heatmap.ts";
import { replay } from "./replay.ts";
import { run } from "./run.ts";
import { scenarios } from "./scenarios.ts";
import { semaphore } from "./semaphore.ts";
import { shrink } from "./shrink.ts";

// The edge: `pnpm sim`, a terminal and an exit code.

const commands: Readonly<Record<string, Command>> = {
  run,
  explore,
  replay,
  shrink,
  heatmap,
  scenarios,
  semaphore,
};

function help(): string {
  const lines = Object.values(commands).map(({ usage, purpose }) => `  pnpm sim ${usage}\n      ${purpose}`);
  return ["Usage:", ...lines, "Exit: 0 ok, 1 violated, 2 unknown, 3 not deterministic, 64 bad usage."].join(
    "\n",
  );
}

async function main([name, ...args]: readonly string[]): Promise<number> {
  if (name === "--help" || name === "help") {
    console.log(help());
    return exitCodes.ok;
  }
  const command = name !== undefined && Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command) {
    console.error(
      `${name === undefined ? "a command is missing" : `there is no command "${name}"`}\n${help()}`,
    );
    return exitCodes["bad usage"];
  }
  const usage = `Usage: pnpm sim ${command.usage}\n  ${command.purpose}`;
  if (args.includes("--help")) {
    console.log(usage);
    return exitCodes.ok;
  }
  try {
    return await command.run(args);
  } catch (error) {
    if (!isBadInput(error)) throw error;
    console.error(`${error.message}\n${usage}`);
    return exitCodes["bad usage"];
  }
}

/** Also a plan whose settings the client itself refuses: it says why. */
function isBadInput(error: unknown): error is Error {
  return error instanceof UsageError || (error instanceof RedlockError && error.code === "INVALID_ARGUMENT");
}

// The faults of masters are errors by the thousand, and nobody reads where each was made.
Error.stackTraceLimit = 0;
process.exitCode = await main(process.argv.slice(2));
