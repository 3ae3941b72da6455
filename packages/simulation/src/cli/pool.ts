import { availableParallelism } from "node:os";
import { Tinypool } from "tinypool";
import type { Outcome } from "../run/run-plan.ts";
import type { Runner } from "../search/runner.ts";
import type { Thread } from "./bundled-thread.ts";
import { thread } from "./edition.ts";
import type { TrialTask } from "./trial-worker.ts";

/** Worker threads that run plans, as many as there are cores. They end with {@link Pool.close}, or `await using`. */
export class Pool implements AsyncDisposable {
  readonly #thread: Promise<Thread> = thread();
  readonly #threads: Promise<Tinypool>;
  readonly #workers: number;

  constructor(workers: number = availableParallelism()) {
    this.#workers = workers;
    this.#threads = this.#thread.then(
      ({ filename }) =>
        new Tinypool({
          runtime: "worker_threads",
          minThreads: workers,
          maxThreads: workers,
          filename,
          // They run a bundle, whatever the thread that starts them was started with.
          execArgv: [],
        }),
    );
  }

  /** Runs a subject, by its name, in these threads. */
  runner(subject = "quorlock"): Runner {
    return {
      width: this.#workers,
      run: async (plan, stopAt) => {
        const task: TrialTask = { plan, subject, ...(stopAt === undefined ? {} : { stopAt }) };
        return (await this.#threads).run(task) as Promise<Outcome>;
      },
    };
  }

  /** Drops runs that have started and are not awaited. */
  async close(): Promise<void> {
    await (await this.#threads).destroy();
    await (await this.#thread).end();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
