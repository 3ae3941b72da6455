import type { Picture, Plan, WaitsOfRun } from "@quorlock/simulation/lab";

export interface Request {
  readonly plan: Plan;
  readonly subject: "quorlock" | "redlock-5";
  /** The run is cut short after so many events. */
  readonly maxEvents?: number;
}

/** A run as the page shows it. */
export interface Run {
  readonly picture: Picture;
  readonly verdict: string;
  readonly waits: WaitsOfRun;
  readonly hash: string;
  /** Real time, and the simulated time in which something happened, ms. */
  readonly took: number;
  readonly simulated: number;
}

export type Reply = { readonly run: Run } | { readonly error: string };

/** Runs plans in a worker, the last one only: a run that nobody waits for any more is ended with its worker. */
export class Runner {
  #worker: Worker | undefined;
  #isBusy = false;

  run(request: Request): Promise<Run> {
    if (this.#isBusy) this.end();
    this.#worker ??= new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
    const worker = this.#worker;
    this.#isBusy = true;
    return new Promise((resolve, reject) => {
      const settled = new AbortController();
      const settle = (act: () => void): void => {
        settled.abort();
        this.#isBusy = false;
        act();
      };
      const onMessage = ({ data }: MessageEvent<Reply>): void =>
        settle(() => ("run" in data ? resolve(data.run) : reject(new Error(data.error))));
      worker.addEventListener("message", onMessage, settled);
      const onError = ({ message }: ErrorEvent): void =>
        settle(() => {
          this.end();
          reject(new Error(message));
        });
      worker.addEventListener("error", onError, settled);
      worker.postMessage(request, []);
    });
  }

  end(): void {
    this.#worker?.terminate();
    this.#worker = undefined;
    this.#isBusy = false;
  }
}
