#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { RedlockError } from "@quorlock/redlock";
import { interruptedCode, interruption } from "../command-line/interruption.ts";
import { asksForHelp, flag, parse, UsageError } from "../command-line/options.ts";
import { helpText, known, type Program } from "../command-line/program.ts";
import { exit, exitCodes } from "./command.ts";
import { commands } from "./commands.ts";
import { commandLine, program } from "./edition.ts";

// The entry point of `pnpm sim` and of the published program: the only module of the simulator that handles the terminal and the exit code.

const options = { version: flag("the version of the program") };

function help(): string {
  const about = Object.values(commands).flatMap((one) => [`${program} ${one.usage}`, `    ${one.about}`]);
  const examples = ["showcase --out showcase.html", "run --seed 7 --html run.html", "explore --seeds 2000"];
  return textOf({
    usage: "COMMAND [OPTION...]",
    about: [...about, `Options of a command: ${program} COMMAND --help`],
    options,
    examples,
  });
}

function textOf(described: Program): string {
  return helpText({ ...described, exit }, program, commandLine);
}

function version(): string {
  const manifest = readFileSync(new URL(import.meta.resolve("@quorlock/simulation/package.json")), "utf8");
  return (JSON.parse(manifest) as { readonly version: string }).version;
}

function say(text: string): number {
  console.log(text);
  return exitCodes.ok;
}

async function main([name = "", ...args]: readonly string[]): Promise<number> {
  let called = "";
  try {
    if (name === "help" || asksForHelp([name])) return say(help());
    if (name.startsWith("-")) {
      parse([name, ...args], options);
      return say(version());
    }
    if (name === "") throw new UsageError("a command is missing");
    const command = commands[known("command", name, Object.keys(commands))]!;
    called = `${name} `;
    if (asksForHelp(args)) return say(textOf(command));
    if (!command.isInterruptible) return await command.run(args);
    using interrupted = interruption();
    const code = await command.run(args, interrupted);
    return interrupted.aborted ? interruptedCode : code;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const isMistake = isBadInput(error);
    // After a mistake one line and not the whole help, which would push the mistake out of sight.
    console.error(
      isMistake ? `${message} (${commandLine} ${called}--help)` : `${program} ${called}failed: ${message}`,
    );
    return isMistake ? exitCodes["bad usage"] : exitCodes.failed;
  }
}

/** True also for a plan whose settings the client refuses: the client's message names the setting. */
function isBadInput(error: unknown): boolean {
  return error instanceof UsageError || (error instanceof RedlockError && error.code === "INVALID_ARGUMENT");
}

// Simulated masters fail thousands of times in a run: stack traces of these errors cost time and are never read.
Error.stackTraceLimit = 0;
process.exitCode = await main(process.argv.slice(2));
