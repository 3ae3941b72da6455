import { spawn } from "node:child_process";
import { once } from "node:events";

/** The end of a program. */
export interface Ended {
  /** `null`: ended by a signal. */
  readonly status: number | null;
  readonly output: string;
  readonly errors: string;
}

/**
 * Runs a TypeScript file of this repository in a process of its own, as its command does. Ctrl-C is sent to it once its
 * output matches `interruptAt`.
 */
export async function runProgram(
  file: string,
  args: readonly string[],
  {
    env = {},
    interruptAt,
  }: { readonly env?: NodeJS.ProcessEnv; readonly interruptAt?: RegExp | undefined } = {},
): Promise<Ended> {
  const node = ["--import", "tsx", "--conditions=quorlock-source", file, ...args];
  const child = spawn(process.execPath, node, {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  let errors = "";
  let isInterrupted = false;
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
    if (!isInterrupted && interruptAt?.test(output)) isInterrupted = child.kill("SIGINT");
  });
  const [status] = (await once(child, "close")) as [number | null];
  return { status, output, errors };
}
