import { availableParallelism } from "node:os";
import { Tinypool } from "tinypool";
import type { Outcome } from "../run/run-plan.ts";
import type { Runner } from "../search/runner.ts";
import { thread } from "./edition.ts";
import type { TrialTask } from "./trial-worker.ts";

/** Worker threads that run plans, as many as there are cores. They end with {@link Pool.close}, or `await using`. */
export class Pool implements AsyncDisposable {
  readonly #threads: Tinypool;
  readonly #workers: number;

  constructor(workers: number = availableParallelism()) {
    this.#workers = workers;
    this.#threads = new Tinypool({
      runtime: "worker_threads",
      minThreads: workers,
      maxThreads: workers,
      ...thread,
    });
  }

  /** Runs a subject, by its name, in these threads. */
  runner(subject = "quorlock"): Runner {
    return {
      width: this.#workers,
      run: (plan, stopAt) => {
        const task: TrialTask = { plan, subject, ...(stopAt === undefined ? {} : { stopAt }) };
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
