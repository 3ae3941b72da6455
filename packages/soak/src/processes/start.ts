import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Starts a process of ours. In a group of its own: Ctrl-C is for the conductor, which then ends all of them. */
export function startProcess(script: URL, nodeOptions: readonly string[] = []): ChildProcess {
  return fork(fileURLToPath(script), {
    execArgv: [...process.execArgv, ...nodeOptions],
    detached: true,
    // Errors travel as errors.
    serialization: "advanced",
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
}

/** Ends it, stopped or not. Resolves when it is gone. */
export async function endProcess(child: ChildProcess): Promise<void> {
  const isRunning = child.pid !== undefined && child.exitCode === null && child.signalCode === null;
  if (!isRunning) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await gone;
}
