import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { type Stage, within } from "./stage.ts";

/** A process has this long to end by itself once it was told to, ms. */
const timeToLeave = 3_000;

/** Several processes that run the same script. Orders go to them, reports come back. */
export class Crew<Order extends object, Report extends object> {
  readonly names: readonly string[];
  /** Rejects when one ends that was not told to. */
  readonly broken: Promise<never>;
  readonly #members = new Map<string, ChildProcess>();
  #isLeaving = false;

  constructor(
    stage: Stage,
    script: URL,
    names: readonly string[],
    hear: (name: string, report: Report) => void,
    parameters: readonly string[] = [],
  ) {
    this.names = names;
    let isBroken: (why: Error) => void;
    this.broken = new Promise((_, reject) => {
      isBroken = reject;
    });
    this.broken.catch(() => {});
    for (const name of names) {
      // In a group of its own: Ctrl-C is for the parent alone, which then ends all of them.
      const child = fork(script, parameters, {
        detached: true,
        stdio: ["ignore", "inherit", "inherit", "ipc"],
      });
      this.#members.set(name, child);
      child.on("message", (report) => hear(name, report as Report));
      child.on("error", (error) => isBroken(error));
      child.on("exit", (code, signal) => {
        if (!this.#isLeaving)
          isBroken(new Error(`the process of ${name} ended: ${signal ?? `exit code ${code}`}`));
      });
    }
    stage.onEnd(() => this.#end());
  }

  /** The process ids, in the order of the names. */
  get pids(): readonly number[] {
    return [...this.#members.values()].flatMap(({ pid }) => pid ?? []);
  }

  tell(name: string, order: Order): void {
    this.#members.get(name)?.send(order);
  }

  tellAll(order: Order): void {
    for (const name of this.names) this.tell(name, order);
  }

  /** Gives the last order, and waits until all processes have ended by themselves. */
  async leave(order: Order): Promise<void> {
    this.#isLeaving = true;
    this.tellAll(order);
    await within(timeToLeave, "the end of the processes", this.#gone());
  }

  async #end(): Promise<void> {
    this.#isLeaving = true;
    for (const child of this.#members.values()) child.kill("SIGKILL");
    await this.#gone();
  }

  async #gone(): Promise<void> {
    const running = [...this.#members.values()].filter(isRunning);
    await Promise.all(running.map((child) => once(child, "exit")));
  }
}

function isRunning(child: ChildProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
}
