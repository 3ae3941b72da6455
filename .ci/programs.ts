import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { interruptedCode } from "../packages/simulation/src/command-line/index.ts";

/**
 * A folder for the temporary files of this process and of those that it starts, until it ends: tests that Ctrl-C ends cannot
 * remove theirs. The cache of tsx is kept.
 */
export function ownTemporaryFolder(): void {
  const folder = mkdtempSync(join(tmpdir(), "quorlock-"));
  // As that of the system: some tests set things up as another user.
  chmodSync(folder, 0o1777);
  const cache = `tsx-${process.getuid?.()}`;
  mkdirSync(join(tmpdir(), cache), { recursive: true });
  symlinkSync(join(tmpdir(), cache), join(folder, cache));
  process.env["TMPDIR"] = folder;
  process.on("exit", () => {
    for (const pid of running.keys()) signalGroup(pid, "SIGTERM");
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  });
  process.on("SIGINT", () => {
    interrupting ??= interrupt();
  });
  process.on("SIGTERM", () => process.exit(128 + constants.signals.SIGTERM));
}

export type Command = readonly [program: string, ...args: string[]];

/** Of a program; `output` is empty where it was shown at once. No code: a signal has ended it. */
export interface End {
  readonly code: number | null;
  readonly output: string;
}

/** The programs that run, each the first of a group of its own. */
const running = new Map<number, Promise<End>>();
/** A program has this to take down what it started, ms. */
const grace = 10_000;

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // All of it has ended.
  }
}

/** Passes Ctrl-C on once: some programs end at once at a second one. Then this process ends as well. */
async function interrupt(): Promise<never> {
  for (const [pid, end] of running) {
    signalGroup(pid, "SIGINT");
    const timer = setTimeout(signalGroup, grace, pid, "SIGKILL");
    void end.then(() => clearTimeout(timer));
  }
  await Promise.all(running.values());
  process.exit(interruptedCode);
}
let interrupting: Promise<never> | undefined;

/** Runs a program. Processes that it leaves running are killed when it has ended. */
export async function ended(
  [program, ...args]: Command,
  isShown = true,
  env: NodeJS.ProcessEnv = {},
): Promise<End> {
  const shown = isShown ? "inherit" : "pipe";
  const child = spawn(program, args, {
    detached: true,
    stdio: ["ignore", shown, shown],
    env: { ...process.env, ...env },
  });
  const end = new Promise<End>((resolve) => {
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    child.once("error", ({ message }) => resolve({ code: null, output: message }));
    child.once("exit", () => signalGroup(child.pid!, "SIGKILL"));
    child.once("close", (code) => resolve({ code, output }));
  });
  if (child.pid !== undefined) running.set(child.pid, end);
  const result = await end;
  await interrupting;
  running.delete(child.pid!);
  return result;
}
