import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { gateFor } from "./gate.ts";
import { inherited, markOf, processesOf } from "./processes.ts";

const endings: ReadonlySet<string> = new Set(["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGKILL"]);

/** They reach what has left the group as well. The others are passed on by those who know a meaning for them. */
const unheard: ReadonlySet<string> = new Set(["SIGSTOP", "SIGCONT", "SIGKILL"]);

/**
 * A command in a process group of its own, so that a signal reaches the processes that it has started as well. If this
 * process is killed, the group is killed with it: it would run on without the lock.
 *
 * A guardian kills the group, so the command may not begin before its guardian runs: until then a shell stands in its place,
 * and gives up if this process is killed meanwhile.
 */
export class Child {
  readonly #process: ChildProcess;
  /** Whether the processes are waited for that the command leaves behind. */
  #waits: boolean;
  /** Whether a process may still have the pipe that each descendant inherits, one that has left the group as well. */
  #isInherited: boolean;
  /** That pipe. */
  #mark: string | undefined;
  /**
   * The exit code of the command, or that of a shell (127: not found, 128 and the number of a signal), once the whole group has
   * ended: a process that is left, or that ignores a signal, works on what the lock protects. Rejects without a shell.
   */
  readonly ended: Promise<number>;

  /** `waits`: false returns as the command itself ends, unless it was told to. */
  constructor(command: readonly string[], environment: NodeJS.ProcessEnv, waits: boolean) {
    this.#waits = waits;
    this.#isInherited = waits;
    const gate = gateFor(environment);
    this.#process = spawn("/bin/sh", ["-c", gate.script, "quorlock", ...gate.restorer, ...command], {
      detached: true,
      stdio: ["inherit", "inherit", "inherit", "pipe", waits ? "pipe" : "ignore"],
      env: gate.environment,
    });
    const pipe = this.#process.stdio[inherited] as Readable | null;
    pipe?.on("error", () => {}).resume();
    pipe?.once("close", () => {
      this.#isInherited = false;
    });
    this.ended = this.#run();
  }

  /** Sends a signal to the whole group, if it is still there. */
  kill(signal: NodeJS.Signals): void {
    const { pid } = this.#process;
    if (pid === undefined) return;
    if (endings.has(signal)) this.#waits = true;
    // A process that cannot be killed has another user, and the lock is gone.
    if (signal === "SIGKILL") this.#isInherited = false;
    let others = unheard.has(signal) ? this.#othersFor(signal) : [];
    sent(-pid, signal);
    const told = new Set<number>();
    while (others.length > 0) {
      for (const other of others) if (sent(other, signal)) told.add(other);
      // A process that began meanwhile is found now.
      others = this.#othersFor(signal).filter((other) => !told.has(other));
    }
  }

  /** Those that have left the group. A `quorlock exec` among them lets its own command go on, if it has the lock for it. */
  #othersFor(signal: NodeJS.Signals): readonly number[] {
    const group = this.#process.pid!;
    const all = processesOf(group, this.#mark, signal === "SIGCONT");
    return all.filter((one) => one.group !== group).map(({ pid }) => pid);
  }

  async #run(): Promise<number> {
    await once(this.#process, "spawn");
    const ending = once(this.#process, "exit");
    if (this.#isInherited) this.#mark = markOf(this.#process.pid!);
    const guardian = guardianOf(this.#process.pid!, this.#mark);
    const gate = this.#process.stdio[3] as Writable;
    gate.on("error", () => {});
    try {
      await once(guardian, "spawn");
      gate.write("begin\n");
      const [code, signal] = (await ending) as [number | null, NodeJS.Signals | null];
      while (this.#waits && (this.#isInherited || isRunning(this.#process.pid!))) await sleep(50);
      return code ?? 128 + constants.signals[signal!];
    } finally {
      gate.destroy();
      this.#process.stdio[inherited]?.destroy();
      guardian.stdin?.end("done\n");
    }
  }
}

/** Whether a process of the group runs. One that has ended and that its parent forgets is still a member, but does not. */
function isRunning(group: number): boolean {
  const haveEnded = (): boolean => {
    const members = processesOf(group).filter((one) => one.group === group);
    return members.length > 0 && members.every(({ state }) => state === "Z");
  };
  // Two looks: a process that begins during the first one is in the second.
  return sent(-group, 0) && !(haveEnded() && haveEnded());
}

/** Sends a signal to a process or, if it is negative, to a group; whether there is one. */
function sent(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

/** A shell that reads from this process, and kills the command when this process ends without a word. */
function guardianOf(group: number, mark = "-"): ChildProcess {
  const holders = `ls -l /proc/[0-9]*/fd/${inherited} 2>/dev/null | sed -n 's,.*/proc/\\([0-9]*\\)/.* -> ${mark.replace(/[[\]]/g, ".")}$,\\1,p'`;
  // A process that begins meanwhile is found by the next look.
  const script = `read -r word || { kill -9 -${group}; for look in 1 2 3; do kill -9 $(${holders}) 2>/dev/null; done; }`;
  const guardian = spawn("/bin/sh", ["-c", script], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  guardian.stdin?.on("error", () => {});
  guardian.unref();
  return guardian;
}
