import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { Tinypool } from "tinypool";
import type { EngineKind } from "../engine/engine.ts";
import type { Outcome } from "../run/run-plan.ts";
import type { Runner } from "../search/runner.ts";
import type { TrialTask } from "./trial-worker.ts";

/** Worker threads that run plans, as many as there are cores. They end with {@link Pool.close}, or `await using`. */
export class Pool implements AsyncDisposable {
  readonly #threads: Tinypool;
  readonly #workers: number;

  constructor(workers: number = availableParallelism()) {
    this.#workers = workers;
    this.#threads = new Tinypool({
      filename: fileURLToPath(new URL("trial-thread.mjs", import.meta.url)),
      runtime: "worker_threads",
      minThreads: workers,
      maxThreads: workers,
      // They run the sources, whatever the thread that starts them was started with.
      execArgv: ["--conditions=quorlock-source"],
    });
  }

  /** Runs a subject, by its name, in these threads. */
  runner(subject = "quorlock", engine: EngineKind = "heap"): Runner {
    return {
      width: this.#workers,
      run: (plan, stopAt) => {
        const task: TrialTask = { plan, engine, subject, ...(stopAt === undefined ? {} : { stopAt }) };
        return this.#threads.run(task) as Promise<Outcome>;
      },
    };
  }

  /** Drops runs that have started and are not awaited. */
  close(): Promise<void> {
    return this.#threads.destroy();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
