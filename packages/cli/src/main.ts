#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { interruption } from "@quorlock/simulation/command-line";
import { Command, CommanderError, InvalidArgumentError } from "commander";
import { diagnose, exitCodeOf, textReport } from "./doctor/doctor.ts";
import { type MastersOptions, mastersFrom } from "./masters.ts";
import { escaped, exitCodes, jsonOf, paintFor, UsageError } from "./output.ts";

// The entry point of `quorlock`: the only module that reads the environment and decides about the exit code.

const manifest = readFileSync(new URL(import.meta.resolve("quorlock/package.json")), "utf8");
const { version } = JSON.parse(manifest) as { readonly version: string };

const exitHelp = `
Exit: 0 ok, 1 findings, 2 could not check, 64 bad usage, 70 failed, 130 interrupted.`;

/** The options that every command with masters has; a password is never one. */
function withMasters(command: Command): Command {
  return command
    .argument("[addresses...]", "redis://host:port, rediss://host:port, unix:///path or host:port")
    .option("--nodes-file <file>", "a file with one address in each line, instead of arguments")
    .option("--user <name>", "user, where the address has none")
    .option("--password-file <file>", "file of the password, where the address has none")
    .option("--tls", "TLS for addresses without a scheme")
    .option("--cacert <file>", "certificates to trust, PEM")
    .option("--cert <file>", "certificate of this client, PEM")
    .option("--key <file>", "key of this client, PEM")
    .option("--insecure", "accept any certificate")
    .option("--timeout <ms>", "time that one master has for all its answers", milliseconds, 5000)
    .option("--json", "print JSON");
}

function milliseconds(text: string): number {
  if (!/^\d{1,7}$/.test(text) || Number(text) === 0)
    throw new InvalidArgumentError("Expected milliseconds, 1 to 9999999.");
  return Number(text);
}

interface DoctorFlags extends MastersOptions {
  readonly timeout: number;
  readonly json?: true;
  readonly guard?: true;
}

async function doctor(addresses: readonly string[], flags: DoctorFlags): Promise<number> {
  const masters = mastersFrom(addresses, flags, process.env);
  using signal = interruption();
  try {
    const { timeout, guard = false, json } = flags;
    const report = await diagnose(masters, { timeout, guard, version, signal });
    console.log(json ? jsonOf(report) : textReport(report, paintFor(process.stdout, process.env)));
    return exitCodeOf(report);
  } catch (error) {
    if (signal.aborted) return exitCodes.interrupted;
    throw error;
  }
}

/** `done` gets the exit code of the command. */
function programFor(done: (code: number) => void): Command {
  const program = new Command("quorlock")
    .description("Quorlock at the command line.")
    .version(version, "-V, --version", "print the version")
    .exitOverride()
    // Printed below, without what may be a secret.
    .configureOutput({ outputError: () => {} })
    .addHelpText(
      "after",
      `${exitHelp}\n\nExample:\n  npx quorlock doctor redis://a:6379 redis://b:6379 redis://c:6379`,
    );
  withMasters(program.command("doctor"))
    .description("finds mistakes in the setup of the masters of a Redlock")
    .option("--guard", "the clients use restartGuard: masters may forget in a crash")
    .addHelpText(
      "after",
      `
Without arguments and --nodes-file, the addresses are those of REDLOCK_NODES, separated by commas.
A password is in the address, in --password-file or in REDLOCK_PASSWORD, and is never printed.
${exitHelp}

Examples:
  npx quorlock doctor redis://a:6379 redis://b:6379 redis://c:6379
  REDLOCK_NODES=rediss://locks:secret@a,rediss://locks:secret@b npx quorlock doctor --cacert ca.pem
  npx quorlock doctor --nodes-file masters.txt --guard --json`,
    )
    .action(async (addresses: readonly string[], flags: DoctorFlags) => done(await doctor(addresses, flags)));
  return program;
}

/** Commander's message, on one line; an argument that is no plain word may hold a password, and is left out. */
function usageMessage({ message }: Error, args: readonly string[]): string {
  const secrets = args
    .filter((argument) => !/^(--)?[a-z][a-z-]*$/i.test(argument))
    .sort((one, other) => other.length - one.length);
  const redacted = secrets.reduce(
    (text, secret) => text.replaceAll(secret, /^--[a-z-]+(?==)|^-\w/i.exec(secret)?.[0] ?? "..."),
    message,
  );
  return escaped(
    redacted
      .replace(/^error: /, "")
      .replace(/\n\(Did you mean (.+)\?\)/, ": did you mean $1?")
      .replaceAll("\n", " "),
  );
}

/** The place of a defect of this program, without its message: that may repeat a secret. */
function failureMessage(error: unknown): string {
  const place = error instanceof Error ? /^ +at .+$/m.exec(error.stack ?? "")?.[0].trim() : undefined;
  return `failed: ${error instanceof Error ? error.name : "unknown error"} ${place ?? ""}`.trim();
}

async function main(args: readonly string[]): Promise<number> {
  let code: number = exitCodes.ok;
  try {
    if (args.length === 0)
      throw new UsageError("a command is missing: try quorlock doctor, or quorlock --help");
    await programFor((result) => {
      code = result;
    }).parseAsync(args, { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return exitCodes.ok;
    let usage = error instanceof UsageError ? error.message : undefined;
    if (error instanceof CommanderError) usage = usageMessage(error, args);
    console.error(`quorlock: ${usage ?? failureMessage(error)}`);
    return usage === undefined ? exitCodes.failed : exitCodes.usage;
  }
}

// ioredis throws some replies that no Redis would send outside of any call.
process.on("uncaughtException", (error) => {
  console.error(`quorlock: ${failureMessage(error)}`);
  process.exit(exitCodes.failed);
});
// A reader such as head has seen enough.
process.stdout.on("error", () => process.exit());
const code = await main(process.argv.slice(2));
// A lookup of a name cannot be called off: it would keep the process for seconds.
process.stdout.write("", () => process.exit(code));
