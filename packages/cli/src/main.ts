#!/usr/bin/env node
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { hostname, userInfo } from "node:os";
import { createInterface } from "node:readline";
import { interruption } from "@quorlock/simulation/command-line";
import { Command, CommanderError, InvalidArgumentError } from "commander";
import { diagnose, exitCodeOf, textReport } from "./doctor/doctor.ts";
import { type ExecOptions, execute } from "./exec/exec.ts";
import { hasQuorum } from "./look/ask.ts";
import { Connections, type Reached } from "./look/connections.ts";
import { lockOfReaders } from "./look/keys.ts";
import { locksOn, overview, readWriteLockAt, semaphoreAt } from "./look/look.ts";
import { changeReport, listReport, lockReport, readWriteReport, semaphoreReport } from "./look/report.ts";
import { watch } from "./look/watch.ts";
import { codeOf, fileOf, type Limit, type MastersOptions, mastersFrom, shapes, within } from "./masters.ts";
import { escaped, exitCodes, jsonOf, paintFor, UsageError } from "./output.ts";
import { type Release, releaseByName, textOf } from "./release/release.ts";
import { isLoopback } from "./serve/access.ts";
import { Looker } from "./serve/looker.ts";
import { startServer } from "./serve/server.ts";

// The entry point of `quorlock`: the only module that reads the environment and decides about the exit code.

const manifest = readFileSync(new URL(import.meta.resolve("quorlock/package.json")), "utf8");
const { version } = JSON.parse(manifest) as { readonly version: string };

const exitHelp = `
Exit: 0 ok, 1 findings, 2 could not check, 64 bad usage, 70 failed, 130 interrupted.`;

/** The options that every command with masters has; a password is never one. */
function withMasters(command: Command): Command {
  return command
    .option("--nodes-file <file>", "a file with one address in each line")
    .option("--user <name>", "user, where the address has none")
    .option("--password-file <file>", "file of the password, where the address has none")
    .option("--askpass", "ask for the password on the terminal, without an echo")
    .option("--tls", "TLS for addresses without a scheme")
    .option("--cacert <file>", "certificates to trust, PEM")
    .option("--cert <file>", "certificate of this client, PEM")
    .option("--key <file>", "key of this client, PEM")
    .option("--insecure", "accept any certificate");
}

/** For a command whose arguments are no addresses. */
function withMasterOption(command: Command): Command {
  return withMasters(
    command.option(
      "--master <address>",
      `${shapes}; once for each master`,
      (address: string, before: string[]) => [...before, address],
      [],
    ),
  );
}

function withReport(command: Command): Command {
  return command
    .option("--timeout <ms>", "time that one master has to answer", milliseconds, 5000)
    .option("--json", "print JSON");
}

function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    if (/^\d{1,10}$/.test(text) && Number(text) >= least && Number(text) <= most) return Number(text);
    throw new InvalidArgumentError(`Expected a whole number, ${least} to ${most}.`);
  };
}

const milliseconds = wholeNumber(1, 9_999_999);

const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const;

/** `30s`, `500ms`, `5m`; a number alone is refused, since it may be meant as seconds or as milliseconds. */
function duration(text: string): number {
  const [, digits, unit] = /^(\d{1,7}(?:\.\d+)?)(ms|s|m|h)$/.exec(text) ?? [];
  const time = Math.round(Number(digits) * units[unit as keyof typeof units]);
  if (!(time <= 86_400_000))
    throw new InvalidArgumentError("Expected a time with its unit, such as 500ms, 30s or 5m.");
  return time;
}

/** Time between two looks. */
function pauseTime(text: string): number {
  const time = duration(text);
  if (time < 100) throw new InvalidArgumentError("Expected 100ms or more.");
  return time;
}

function resourceName(text: string): string {
  if (text === "") throw new InvalidArgumentError("Expected a non-empty name.");
  return text;
}

/** The exit code that `act` returns, or that of an interruption. */
async function interruptible(act: (signal: AbortSignal) => Promise<number>): Promise<number> {
  using signal = interruption();
  try {
    return await act(signal);
  } catch (error) {
    if (signal.aborted) return exitCodes.interrupted;
    throw error;
  }
}

interface LookFlags extends MastersOptions {
  readonly timeout: number;
  readonly json?: true;
}

interface DoctorFlags extends LookFlags {
  readonly guard?: true;
}

async function doctor(addresses: readonly string[], flags: DoctorFlags): Promise<number> {
  const masters = mastersFrom(addresses, flags, process.env);
  const { timeout, guard = false, json } = flags;
  return interruptible(async (signal) => {
    const report = await diagnose(masters, { timeout, guard, version, signal });
    console.log(json ? jsonOf(report) : textReport(report, paintFor(process.stdout, process.env)));
    return exitCodeOf(report);
  });
}

interface ExecFlags extends MastersOptions, Omit<ExecOptions, "grace" | "waits" | "environment" | "say"> {
  readonly grace?: number;
}

/**
 * `isAside`: by a process without a terminal of its own, which nobody waits for. A terminal may hold whoever writes to it: after
 * Ctrl-S, or in the background after `stty tostop`. So may a pipe that is full.
 */
function say(line: string, isAside = false): void {
  if (isAside) {
    const print = ["-c", `printf 'quorlock: %s\\n' "$0" >&2`, line];
    const aside = spawn("/bin/sh", print, { detached: true, stdio: ["ignore", "ignore", "inherit"] });
    aside.on("error", () => {}).unref();
  } else console.error(`quorlock: ${line}`);
}

async function exec(
  resource: string,
  command: readonly string[],
  flags: ExecFlags,
  waits: boolean,
): Promise<number> {
  if (command.length === 0) throw new UsageError("a command is missing: quorlock exec RESOURCE -- COMMAND");
  const ttl = Math.min(flags.ttl, flags.keepFor ?? flags.ttl);
  if (ttl < 100) throw new UsageError("--ttl and --keep-for must be at least 100ms");
  const { grace = Math.min(5000, ttl / 4) } = flags;
  const options = { ...flags, ttl, grace, waits, environment: process.env, say };
  return execute(mastersFrom(flags.master, flags, process.env), resource, command, options);
}

/** Reads from all masters, and prints; `read` returns the result, the lines for people, and whether it is known. */
async function look(
  flags: LookFlags,
  read: (
    masters: readonly Reached[],
    limit: Limit,
  ) => Promise<readonly [result: object, lines: readonly string[], isKnown: boolean]>,
): Promise<number> {
  const masters = mastersFrom(flags.master, flags, process.env);
  using signal = interruption();
  const connections = new Connections(masters, { timeout: flags.timeout, signal });
  const [result, lines, isKnown] = await connections.patiently(read, (found) => found[2]);
  if (signal.aborted) return exitCodes.interrupted;
  console.log(flags.json ? jsonOf(result) : lines.join("\n"));
  return isKnown ? exitCodes.ok : exitCodes.unknown;
}

interface InspectFlags extends LookFlags {
  readonly semaphore?: number;
  readonly readWrite?: true;
}

function inspect(resource: string, flags: InspectFlags): Promise<number> {
  const { semaphore: size, readWrite } = flags;
  if (size !== undefined && readWrite)
    throw new UsageError("--semaphore and --read-write exclude each other");
  const paint = paintFor(process.stdout, process.env);
  return look(flags, async (masters, limit) => {
    if (size !== undefined) {
      const semaphore = await semaphoreAt(masters, resource, size, limit);
      return [semaphore, semaphoreReport(semaphore, Date.now(), paint), semaphore.unknown === 0];
    }
    // `ls` names the key of readers.
    const name = readWrite ? resource : lockOfReaders(resource);
    if (name !== undefined) {
      const lock = await readWriteLockAt(masters, name, limit);
      const isKnown = lock.areAllKnown && lock.writer.state !== "unknown";
      return [lock, readWriteReport(lock, Date.now(), paint), isKnown];
    }
    const found = await locksOn(masters, [resource], limit);
    const lock = found.locks[0]!;
    return [lock, lockReport(lock, Date.now(), paint), lock.state !== "unknown"];
  });
}

interface ListFlags extends LookFlags {
  readonly scan?: true;
  readonly limit: number;
}

function list(flags: ListFlags): Promise<number> {
  return look(flags, async (masters, limit) => {
    const search = flags.scan && flags.limit;
    // A search is a long step of each master.
    const all = await overview(masters, search ? { ...limit, patience: undefined } : limit, { search });
    const unsearched = (all.scanned ?? []).filter(({ refusal }) => refusal !== undefined);
    const isKnown = hasQuorum(all) && unsearched.length < masters.length / 2;
    return [all, listReport(all, Date.now(), paintFor(process.stdout, process.env)), isKnown];
  });
}

async function watchChanges(
  resource: string | undefined,
  flags: LookFlags & { readonly interval: number },
): Promise<number> {
  const masters = mastersFrom(flags.master, flags, process.env);
  const paint = paintFor(process.stdout, process.env);
  using signal = interruption();
  for await (const change of watch(masters, resource, { ...flags, signal }))
    console.log(flags.json ? jsonOf(change).replaceAll(/\n */g, " ") : changeReport(change, paint));
  return exitCodes.interrupted;
}

interface ServeFlags extends MastersOptions {
  readonly port: number;
  readonly host: string;
  readonly tokenFile?: string;
  readonly interval: number;
  readonly timeout: number;
}

/** From `--token-file` or the environment: the values of options are in the list of processes. */
function tokenFrom({ tokenFile, host }: ServeFlags): string | undefined {
  const isFile = tokenFile !== undefined;
  const token = isFile
    ? fileOf("--token-file", tokenFile).trim()
    : process.env["QUORLOCK_TOKEN"] || undefined;
  if (token === undefined && !isLoopback(host))
    throw new UsageError(
      "--host is not a loopback address: it needs a token, QUORLOCK_TOKEN or --token-file",
    );
  if (token !== undefined && !/^[!-~]{16,}$/.test(token))
    throw new UsageError("the token must have 16 characters or more, of ASCII and without spaces");
  return token;
}

async function serve(flags: ServeFlags): Promise<number> {
  const token = tokenFrom(flags);
  const looker = new Looker(mastersFrom(flags.master, flags, process.env), { ...flags, linger: 10_000 });
  using signal = interruption();
  const server = await startServer(looker, { ...flags, token }).catch((error: unknown) => {
    throw new UsageError(`--host and --port: it cannot listen there (${codeOf(error)})`);
  });
  console.log(server.url);
  await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  await server[Symbol.asyncDispose]();
  return exitCodes.interrupted;
}

interface ReleaseFlags extends LookFlags {
  readonly now?: true;
  readonly yes?: true;
}

async function release(resource: string, flags: ReleaseFlags): Promise<number> {
  const { now = false, yes = false, json, timeout } = flags;
  const masters = mastersFrom(flags.master, flags, process.env);
  if (now && !yes && !process.stdin.isTTY)
    throw new UsageError("--now makes two holders possible: it needs a terminal to confirm it, or --yes");
  return interruptible(async (signal) => {
    const limit = { timeout, signal };
    const confirm = async (found: Release): Promise<boolean> =>
      !now || yes || within({ timeout: timeToType, signal }, (ended) => isTyped(found, ended));
    const done = await releaseByName(masters, resource, { by: operator(), now, confirm, limit });
    if (!done) return exitCodes.findings;
    console.log(json ? jsonOf(done) : textOf(done, masters.length).join("\n"));
    return {
      revoked: exitCodes.ok,
      deleted: exitCodes.ok,
      free: exitCodes.findings,
      unchanged: exitCodes.findings,
      unknown: exitCodes.unknown,
    }[done.outcome];
  });
}

/** ms */
const timeToType = 600_000;

/** `user@host`; a user without an entry in the list of users has a number alone. */
function operator(): string {
  let user = `uid ${process.getuid?.()}`;
  try {
    user = userInfo().username;
  } catch {
    // It has none.
  }
  return `${user}@${hostname()}`;
}

/** Whether the operator types the name of the resource, after a warning. */
async function isTyped({ resource, owner, remaining }: Release, signal: AbortSignal): Promise<boolean> {
  const name = escaped(resource);
  const time = remaining === null ? "for ever" : `for ${(remaining / 1000).toFixed(1)} s`;
  console.error(
    `${escaped(owner ?? "")} holds "${name}". If its keys are deleted, two clients may hold it ${time}.`,
  );
  const terminal = createInterface({ input: process.stdin, output: process.stderr, signal });
  // A terminal that reads lines takes Ctrl-C as a key.
  terminal.once("SIGINT", () => process.kill(process.pid, "SIGINT"));
  const typed = await new Promise<string | undefined>((resolve) => {
    terminal.once("close", () => resolve(undefined));
    terminal.question("Type the resource to delete them: ", resolve);
  });
  terminal.close();
  if (typed === resource) return true;
  console.error("quorlock: nothing was changed");
  return false;
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
  withReport(withMasters(program.command("doctor").argument("[addresses...]", shapes)))
    .description("finds mistakes in the setup of the masters of a Redlock")
    .option("--guard", "the clients use restartGuard: masters may forget in a crash")
    .addHelpText(
      "after",
      `
Without arguments and --nodes-file, the addresses are those of REDLOCK_NODES, separated by commas.
A password is in REDLOCK_PASSWORD, in --password-file or typed (--askpass), or in the address, and is never printed.
${exitHelp}

Examples:
  npx quorlock doctor redis://a:6379 redis://b:6379 redis://c:6379
  REDLOCK_NODES=rediss://locks:secret@a,rediss://locks:secret@b npx quorlock doctor --cacert ca.pem
  npx quorlock doctor --nodes-file masters.txt --guard --json`,
    )
    .action(async (addresses: readonly string[], flags: DoctorFlags) => done(await doctor(addresses, flags)));
  addLooks(program, done);
  addServe(program, done);
  addExec(program, done);
  addRelease(program, done);
  return program;
}

const mastersHelp = `
Without --master and --nodes-file, the addresses are those of REDLOCK_NODES, separated by commas.
A password is in REDLOCK_PASSWORD, in --password-file or typed (--askpass), or in the address, and is never printed.`;

function addLooks(program: Command, done: (code: number) => void): void {
  const exits = "Exit: 0 ok, 2 no quorum of masters answered, 64 bad usage, 70 failed, 130 interrupted.";
  withReport(withMasterOption(program.command("inspect")))
    .argument("<resource>", "a resource, or the name of a semaphore or a readers-writer lock", resourceName)
    .description("says who holds a lock, since when, how long still, and who waits")
    .option("--semaphore <limit>", "the resource is a semaphore with this limit", wholeNumber(1, 10_000))
    .option("--read-write", "the resource is a readers-writer lock")
    .addHelpText(
      "after",
      `${mastersHelp}\n\n${exits}\n\nExamples:\n  quorlock inspect invoice:42\n  quorlock inspect api --semaphore 5 --json`,
    )
    .action(async (resource: string, flags: InspectFlags) => done(await inspect(resource, flags)));
  withReport(withMasterOption(program.command("ls")))
    .description("lists the locks that owners have recorded, 10 to 20 s after they took them, and the owners")
    .option(
      "--scan",
      "search the keys of the masters for younger locks, and those of clients without a record",
    )
    .option(
      "--limit <keys>",
      "the number of keys that --scan looks at on each master",
      wholeNumber(1, 9_999_999_999),
      100_000,
    )
    .addHelpText(
      "after",
      `
--scan reads all keys one after the other, up to --limit and for --timeout, and says how far it came.
${mastersHelp}\n\n${exits}\n\nExamples:\n  quorlock ls\n  quorlock ls --json\n  quorlock ls --scan --limit 1000000 --timeout 60000`,
    )
    .action(async (flags: ListFlags) => done(await list(flags)));
  withReport(withMasterOption(program.command("watch")))
    .argument("[resource]", "default: all locks that owners have recorded", resourceName)
    .description("prints a line for each change, until it is interrupted")
    .option("--interval <time>", "time between two looks", pauseTime, 1000)
    .addHelpText(
      "after",
      `${mastersHelp}\n\nExit: 130 when it is interrupted, 64 bad usage, 70 failed.\n\nExamples:\n  quorlock watch invoice:42\n  quorlock watch --json --interval 5s`,
    )
    .action(async (resource: string | undefined, flags: LookFlags & { readonly interval: number }) =>
      done(await watchChanges(resource, flags)),
    );
}

function addServe(program: Command, done: (code: number) => void): void {
  withMasterOption(program.command("serve"))
    .description("serves a page that shows the masters, locks, owners and changes, as it happens")
    .option("--port <port>", "where to listen; 0: any free port", wholeNumber(0, 65_535), 7380)
    .option("--host <host>", "where to listen; other than loopback needs a token", "127.0.0.1")
    .option("--token-file <file>", "file of the token that the page asks for")
    .option("--interval <time>", "time between two looks", pauseTime, 1000)
    .option("--timeout <ms>", "time that one master has for its answers at one look", milliseconds, 1000)
    .addHelpText(
      "after",
      `
The page changes nothing. With QUORLOCK_TOKEN or --token-file it asks for that token. It is plain HTTP: end TLS before it.
${mastersHelp}

Exit: 130 when it is interrupted, 64 bad usage, 70 failed.

Examples:
  quorlock serve
  QUORLOCK_TOKEN=... quorlock serve --host 0.0.0.0 --port 8080`,
    )
    .action(async (flags: ServeFlags) => done(await serve(flags)));
}

function addExec(program: Command, done: (code: number) => void): void {
  // Both are about waiting, and only their names belong together: commander would take one for the opposite of the other.
  const given = { wait: 10_000, waits: true };
  const setWait = (text: string): void => {
    given.wait = duration(text);
  };
  withMasterOption(program.command("exec"))
    .argument("<resource>", "the resource to lock")
    .argument("[command...]", "the command and its arguments, after --")
    .description("runs a command while it holds a lock")
    .option("--ttl <time>", "how long the lock outlives this process", duration, 30_000)
    .option(
      "--wait <time>",
      "how long to wait for connections and for another holder (default: 10s)",
      setWait,
    )
    .option(
      "--keep-for <time>",
      "keep the lock so long after the grant: a job runs once, on one host",
      duration,
    )
    .option(
      "--grace <time>",
      "time between SIGTERM and SIGKILL when the lock is lost (default: a quarter of the ttl, 5s at most)",
      duration,
    )
    .option("--no-wait", "release as the command ends, whatever it leaves running")
    .option("--fencing", "the clients of this resource use fencing")
    .option("--guard <maxTtl>", "the clients use restartGuard, with this maxTtl", duration)
    .on("option:no-wait", () => {
      given.waits = false;
    })
    .addHelpText(
      "after",
      `
The command has QUORLOCK_RESOURCE and, with --fencing, QUORLOCK_FENCING_TOKEN in its environment, and no address or password
of a master. If the lock is lost, it gets SIGTERM, and SIGKILL before another client can hold the lock. Signals are passed on to
it. The lock is held until all processes that it leaves have ended. With --keep-for nobody is waited for: 75 says that it has run.
${mastersHelp}

Exit: the code of the command; 75 another client holds the lock, 69 no quorum answered, 70 the lock was lost and the command
ended with 0, 64 bad usage, 126 the command may not be run, 127 it was not found.

Examples:
  quorlock exec nightly-report --keep-for 1h -- ./report.sh
  quorlock exec migrations --wait 5m -- npx prisma migrate deploy`,
    )
    .action(async (resource: string, command: readonly string[], flags: ExecFlags) =>
      done(await exec(resource, command, { ...flags, wait: given.wait }, given.waits)),
    );
}

function addRelease(program: Command, done: (code: number) => void): void {
  withReport(withMasterOption(program.command("release")))
    .argument("<resource>", "the locked resource", resourceName)
    .description("takes a lock from its holder")
    .option("--now", "delete the keys at once, although two clients may then hold the lock")
    .option("--yes", "do not ask before --now")
    .addHelpText(
      "after",
      `
Without --now the keys are kept until they expire, under another owner: the holder is told at its next renewal, and no other
client holds the lock before the time that is printed.
${mastersHelp}

Exit: 0 done, 1 no client holds it (or not confirmed), 2 too few masters answered, 64 bad usage, 70 failed, 130 interrupted.

Examples:
  quorlock release invoice:42
  quorlock release invoice:42 --now --yes --json`,
    )
    .action(async (resource: string, flags: ReleaseFlags) => done(await release(resource, flags)));
}

/** Commander's message, on one line; an argument that is no plain word may hold a password, and is left out. */
function usageMessage({ message }: Error, args: readonly string[]): string {
  const secrets = args
    .filter((argument) => !/^(--)?[a-z][a-z-]*$/i.test(argument))
    .sort((one, other) => other.length - one.length);
  const redacted = secrets.reduce(
    (text, secret) =>
      text.replaceAll(`'${secret}'`, `'${/^--[a-z-]+(?==)|^-\w/i.exec(secret)?.[0] ?? "..."}'`),
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
