import type { ScriptedTask } from "../plan/plan.ts";
import { Worker, type WorkerOptions } from "./worker.ts";

/** A worker that carries out a plan's script, one task after the other, instead of drawing its work. */
export class ScriptedWorker extends Worker {
  readonly #tasks: readonly ScriptedTask[];

  constructor(options: WorkerOptions, tasks: readonly ScriptedTask[]) {
    super(options);
    this.#tasks = tasks;
  }

  protected override async performAll(): Promise<void> {
    const begun = this.process.now;
    for (const { at, ...task } of this.#tasks) {
      await this.pause(Math.max(0, at - (this.process.now - begun) / 1000));
      await this.perform(task);
    }
  }
}
