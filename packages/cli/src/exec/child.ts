import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import type { Writable } from "node:stream";

/**
 * A command in a process group of its own, so that a signal reaches the processes that it has started as well. If this
 * process is killed, the group is killed with it: it would run on without the lock.
 *
 * A guardian kills the group, so the command may not begin before its guardian runs: until then a shell stands in its place,
 * and gives up if this process is killed meanwhile.
 */
export class Child {
  readonly #process: ChildProcess;
  /** The exit code of the command, or that of a shell (127: not found, 128 and the number of a signal). Rejects without a shell. */
  readonly ended: Promise<number>;

  constructor(command: readonly string[], environment: NodeJS.ProcessEnv) {
    this.#process = spawn("/bin/sh", ["-c", 'read -r word <&3 && exec "$@" 3<&-', "quorlock", ...command], {
      detached: true,
      stdio: ["inherit", "inherit", "inherit", "pipe"],
      env: environment,
    });
    this.ended = this.#run();
  }

  /** Sends a signal to the whole group, if it is still there. */
  kill(signal: NodeJS.Signals): void {
    const { pid } = this.#process;
    if (pid === undefined) return;
    try {
      process.kill(-pid, signal);
    } catch {
      // It has ended.
    }
  }

  async #run(): Promise<number> {
    await once(this.#process, "spawn");
    const ending = once(this.#process, "exit");
    const guardian = guardianOf(this.#process.pid!);
    const gate = this.#process.stdio[3] as Writable;
    gate.on("error", () => {});
    try {
      await once(guardian, "spawn");
      gate.write("begin\n");
      const [code, signal] = (await ending) as [number | null, NodeJS.Signals | null];
      return code ?? 128 + constants.signals[signal!];
    } finally {
      gate.destroy();
      guardian.stdin?.end("done\n");
    }
  }
}

/** A shell that reads from this process, and kills the group when this process ends without a word. */
function guardianOf(group: number): ChildProcess {
  const guardian = spawn("/bin/sh", ["-c", `read -r word || kill -9 -${group}`], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  guardian.stdin?.on("error", () => {});
  guardian.unref();
  return guardian;
}
