import { type ChildProcess, fork, spawn } from "node:child_process";
import { resolve } from "node:path";
import { outcomeOf } from "../outcome.ts";
import type { Stage } from "../stage.ts";
import type { HolderMessage, HolderTask } from "./holder-process.ts";

export const repositoryRoot: string = resolve(import.meta.dirname, "../../..");

/** How a process ended. */
export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** `performance.now()` */
  readonly at: number;
  readonly output: string;
}

/** A child process whose end, output and messages can be waited for; killed with the stage. */
export class Child {
  readonly ended: Promise<Ending>;
  readonly #process: ChildProcess;
  readonly #messages: HolderMessage[] = [];
  readonly #listeners = new Set<() => void>();

  /** Runs the holder for this library. */
  static holder(stage: Stage, task: Omit<HolderTask, "library" | "resource">): Child {
    const whole: HolderTask = { ...task, library: stage.library.name, resource: stage.resource };
    const child = fork(resolve(import.meta.dirname, "holder-process.ts"), [JSON.stringify(whole)], {
      cwd: repositoryRoot,
      execArgv: ["--import", "tsx", "--conditions=quorlock-source"],
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    return new Child(stage, child);
  }

  /** Runs a program. */
  static run(stage: Stage, command: string, args: readonly string[], directory: string): Child {
    return new Child(stage, spawn(command, args, { cwd: directory, stdio: ["ignore", "pipe", "pipe"] }));
  }

  private constructor(stage: Stage, child: ChildProcess) {
    this.#process = child;
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on("data", (bytes: Buffer) => {
        output += bytes.toString();
      });
    }
    child.on("message", (message) => {
      this.#messages.push(message as HolderMessage);
      for (const listener of this.#listeners) listener();
    });
    this.ended = new Promise((done, failed) => {
      let at = 0;
      child.once("error", failed);
      child.once("exit", () => {
        at = performance.now();
        for (const listener of this.#listeners) listener();
      });
      // After the exit: until then some of its output may not have been read.
      child.once("close", (code, signal) => done({ code, signal, at, output }));
    });
    stage.onDispose(async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
      await this.ended.catch(() => {});
    });
  }

  /** SIGKILL. */
  async kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.ended;
  }

  /** Asks the holder to end. */
  end(): void {
    this.#process.send({ kind: "end" });
  }

  /** Waits for a message, no longer than `limit` ms; throws with the output if the process ends without it. */
  async message<K extends HolderMessage["kind"]>(
    kind: K,
    limit: number,
  ): Promise<Extract<HolderMessage, { kind: K }> | undefined> {
    const find = () => this.#messages.find((message) => message.kind === kind);
    const outcome = await outcomeOf(
      () =>
        new Promise<void>((found) => {
          const look = () => {
            if (!find() && this.#process.exitCode === null && this.#process.signalCode === null) return;
            this.#listeners.delete(look);
            found();
          };
          this.#listeners.add(look);
          look();
        }),
      limit,
    );
    const message = find();
    if (!message && outcome.kind === "resolved") {
      throw new Error(`the process ended before it was "${kind}": ${(await this.ended).output.slice(-500)}`);
    }
    return message as Extract<HolderMessage, { kind: K }> | undefined;
  }
}

/** The time a process gets to finish, ms. */
const endLimit = 10_000;

/** How it ended; `undefined` if it did not in time. */
export async function endingOf(child: Child): Promise<Ending | undefined> {
  const outcome = await outcomeOf(() => child.ended, endLimit);
  return outcome.kind === "resolved" ? outcome.value : undefined;
}

export function endingInWords(ending: Ending | undefined): string {
  if (!ending) return `still there after ${endLimit} ms`;
  const error = ending.output.split("\n").find((line) => line.includes("rror")) ?? "";
  // Without the places of this machine: the table is published.
  const trace = error.replaceAll(repositoryRoot, "").trim().slice(0, 160);
  return `exit code ${ending.code ?? ending.signal}${ending.code === 0 ? "" : ` ${trace}`}`;
}
