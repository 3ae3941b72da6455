import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";

/** The exit codes of a shell for a command that it does not find, and for one that it may not run. */
const exitCodes = { ENOENT: 127, EACCES: 126 } as const;

/**
 * A command in a process group of its own, so that a signal reaches the processes that it has started as well. If this
 * process is killed, the group is killed with it: it would run on without the lock.
 */
export class Child {
  readonly #process: ChildProcess;
  #guardian: ChildProcess | undefined;
  /** The exit code of the command; 128 and the number of the signal that ended it. Never rejects. */
  readonly ended: Promise<number>;

  constructor(command: readonly string[], environment: NodeJS.ProcessEnv) {
    const [file, ...args] = command;
    this.#process = spawn(file!, args, { detached: true, stdio: "inherit", env: environment });
    if (this.#process.pid !== undefined) this.#guardian = guardianOf(this.#process.pid);
    this.ended = this.#end();
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

  async #end(): Promise<number> {
    try {
      const [code, signal] = (await once(this.#process, "exit")) as [number | null, NodeJS.Signals | null];
      return code ?? 128 + constants.signals[signal!];
    } catch (error) {
      return exitCodes[(error as NodeJS.ErrnoException).code as keyof typeof exitCodes] ?? 126;
    } finally {
      this.#guardian?.stdin?.end("done\n");
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
  guardian.on("error", () => {});
  guardian.unref();
  return guardian;
}
