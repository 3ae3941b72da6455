import { spawn } from "node:child_process";

/**
 * Cleans up after this process however it ends: exit, SIGINT, SIGTERM, SIGKILL. It is a separate process
 * whose standard input is a pipe from us. Only its end-of-file means that we are gone, so no signal handler
 * has to be installed in a host program (a test runner) that has its own.
 */
export interface Watchdog {
  add(id: string | number): void;
  remove(id: string | number): void;
  /** Ends the watchdog without any cleaning; for when we have cleaned up ourselves. */
  dismiss(): void;
}

// Reads "+ pid" and "- pid" until we are gone, then kills what is left and removes the directory, $1. A pid
// that we have reaped is taken off the list, since the system may give it to a stranger.
const processWatch = `
pids=
while read -r sign pid; do
  if [ "$sign" = + ]; then
    pids="$pids $pid"
  else
    kept=
    for other in $pids; do [ "$other" = "$pid" ] || kept="$kept $other"; done
    pids=$kept
  fi
done
[ -z "$pids" ] || { kill -9 $pids; sleep 1; }
rm -rf "$1"
`;

/** Kills the processes added to it, hung ones too, and removes `directory` when this process ends. */
export function watchProcesses(directory: string): Watchdog {
  return startWatchdog("sh", ["-c", processWatch, "quorlock-watchdog", directory]);
}

/** Starts `command`, which reads "+ id" and "- id" lines from its standard input and cleans up at its end. */
export function startWatchdog(command: string, commandArguments: readonly string[]): Watchdog {
  const child = spawn(command, commandArguments, {
    stdio: ["pipe", "ignore", "ignore"],
    // Ctrl+C signals the whole process group: the watchdog must outlive us.
    detached: true,
  });
  child.on("error", () => {});
  child.stdin.on("error", () => {});
  child.unref();
  if ("unref" in child.stdin && typeof child.stdin.unref === "function") child.stdin.unref();
  return {
    add: (id) => void child.stdin.write(`+ ${id}\n`),
    remove: (id) => void child.stdin.write(`- ${id}\n`),
    dismiss: () => void child.kill("SIGKILL"),
  };
}
