#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { RedlockError } from "@quorlock/redlock";
import { interruptedCode, interruption } from "../command-line/interruption.ts";
import { suggestion } from "../command-line/nearest.ts";
import { asksForHelp, flag, optionLines, parse, UsageError } from "../command-line/options.ts";
import { type Command, exampleLines, exitCodes, exitLine, helpOf } from "./command.ts";
import { commands } from "./commands.ts";
import { commandLine, program } from "./edition.ts";

// The entry point of `pnpm sim` and of the published program: the only module of the simulator that handles the terminal and the exit code.

function help(): string {
  const lines = Object.values(commands).map(
    ({ usage, purpose }) => `  ${program} ${usage}\n      ${purpose}`,
  );
  return [
    "Usage:",
    ...lines,
    "Options:",
    ...optionLines(options),
    `Options of a command: ${program} COMMAND --help`,
    exitLine,
    ...exampleLines(examples),
  ].join("\n");
}

const options = { version: flag("the version of the program") };
const examples = ["showcase --out showcase.html", "run --seed 7 --html run.html", "explore --seeds 2000"];

function version(): string {
  const manifest = readFileSync(new URL(import.meta.resolve("@quorlock/simulation/package.json")), "utf8");
  return (JSON.parse(manifest) as { readonly version: string }).version;
}

async function showVersion(args: readonly string[]): Promise<number> {
  parse(args, options);
  console.log(version());
  return exitCodes.ok;
}

async function main([name, ...args]: readonly string[]): Promise<number> {
  if (name === "help" || (name !== undefined && asksForHelp([name]))) {
    console.log(help());
    return exitCodes.ok;
  }
  if (name?.startsWith("-")) return await runCommand("", { run: showVersion }, [name, ...args]);
  const command = name !== undefined && Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command) {
    console.error(name === undefined ? "a command is missing" : unknownCommand(name), seeHelp());
    return exitCodes["bad usage"];
  }
  if (asksForHelp(args)) {
    console.log(helpOf(command));
    return exitCodes.ok;
  }
  return await runCommand(name!, command, args);
}

function unknownCommand(name: string): string {
  return `unknown command "${name}": ${suggestion(name, Object.keys(commands))}`;
}

/** After a mistake: one line and not the whole help, which would push the mistake out of sight. */
function seeHelp(command = ""): string {
  return `(${commandLine} ${command}--help)`;
}

async function runCommand(
  name: string,
  command: Pick<Command, "run" | "isInterruptible">,
  args: readonly string[],
): Promise<number> {
  try {
    if (!command.isInterruptible) return await command.run(args);
    using interrupted = interruption();
    const code = await command.run(args, interrupted);
    return interrupted.aborted ? interruptedCode : code;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    console.error(
      isBadInput(error)
        ? `${message} ${seeHelp(name && `${name} `)}`
        : `${program} ${name} failed: ${message}`,
    );
    return isBadInput(error) ? exitCodes["bad usage"] : exitCodes.failed;
  }
}

/** True also for a plan whose settings the client refuses: the client's message names the setting. */
function isBadInput(error: unknown): boolean {
  return error instanceof UsageError || (error instanceof RedlockError && error.code === "INVALID_ARGUMENT");
}

// Simulated masters fail thousands of times in a run: stack traces of these errors cost time and are never read.
Error.stackTraceLimit = 0;
process.exitCode = await main(process.argv.slice(2));
