import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { gateFor } from "./gate.ts";

const endings: ReadonlySet<string> = new Set(["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGKILL"]);

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
    const inherited = this.#process.stdio[4] as Readable | null;
    inherited?.on("error", () => {}).resume();
    inherited?.once("close", () => {
      this.#isInherited = false;
    });
    this.ended = this.#run();
  }

  /** Sends a signal to the whole group, if it is still there. */
  kill(signal: NodeJS.Signals): void {
    const { pid } = this.#process;
    if (pid === undefined) return;
    if (endings.has(signal)) this.#waits = true;
    // What has left the group cannot be ended, and the lock is gone.
    if (signal === "SIGKILL") this.#isInherited = false;
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
      while (this.#waits && (this.#isInherited || isRunning(this.#process.pid!))) await sleep(50);
      return code ?? 128 + constants.signals[signal!];
    } finally {
      gate.destroy();
      this.#process.stdio[4]?.destroy();
      guardian.stdin?.end("done\n");
    }
  }
}

/** Whether a process of the group runs. One that has ended and that its parent forgets is still a member, but does not. */
function isRunning(group: number): boolean {
  try {
    process.kill(-group, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
  // Two looks: a process that begins during the first one is in the second.
  return !(isForgotten(group) && isForgotten(group));
}

/** Whether all processes of the group have ended, if the system has a /proc that says so. */
function isForgotten(group: number): boolean {
  const numbers = (existsSync("/proc") ? readdirSync("/proc") : [])
    .map(Number)
    .filter((number) => number > 0);
  // The members are mostly younger than the group: one that runs is found early.
  numbers.sort((one, other) => Number(other >= group) - Number(one >= group));
  let hasMember = false;
  for (const number of numbers) {
    const state = stateIn(group, number);
    if (state !== undefined && state !== "Z") return false;
    hasMember ||= state === "Z";
  }
  return hasMember;
}

/** The state of a process, as /proc names it, if it is a member of the group. */
function stateIn(group: number, pid: number): string | undefined {
  try {
    // After the name of the program, which is in brackets and may be anything: state, parent, group.
    const [, state, , itsGroup] = /.*\) (\w) (\d+) (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, "latin1"))!;
    return Number(itsGroup) === group ? state : undefined;
  } catch {
    // It has ended meanwhile.
    return undefined;
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
