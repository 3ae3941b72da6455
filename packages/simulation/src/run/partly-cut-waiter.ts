import type { Cluster } from "./cluster.ts";
import { patient } from "./progress.ts";
import type { Worker } from "./worker.ts";

/** The wait time-out, ms; waits are aborted earlier. */
const waitTimeout = 100_000;

/**
 * A waiter that is cut off from too many masters to win a quorum. Two of these at the heads of the queues of nearly
 * all masters must not keep a waiter that reaches all masters from being served (PROTOCOL 7.12).
 */
export class PartlyCutWaiter {
  readonly #cluster: Cluster;
  readonly #worker: Worker;
  /** The first master that it reaches. */
  readonly #from: number;
  readonly #controller = new AbortController();
  #isDone = false;

  /** `number`: each of two has its own masters. */
  constructor(cluster: Cluster, worker: Worker, number: number) {
    this.#cluster = cluster;
    this.#worker = worker;
    this.#from = number * this.#most;
  }

  get isDone(): boolean {
    return this.#isDone || this.#worker.process.isDead;
  }

  begin(resource: string, ttl: number): void {
    const { redlock, bounds } = this.#worker;
    const { nodeTimeout } = bounds;
    const { ttl: _, ...settings } = patient;
    const options = { ...settings, nodeTimeout, waitTimeout, signal: this.#controller.signal };
    const wait = async (): Promise<void> => {
      const lock = await this.#worker.call("wait, half cut off", 200_000, () =>
        redlock.acquire(resource, ttl, options),
      );
      if (lock) await this.#worker.call("last release", 2 * patient.nodeTimeout, () => lock.release());
      this.#isDone = true;
    };
    this.#inTurn(() => void wait());
  }

  cut(): void {
    for (const way of this.#ways) way.cut();
  }

  end(): void {
    for (const way of this.#ways) way.heal();
    this.#inTurn(() => this.#controller.abort());
  }

  /** The largest number of masters that is no quorum. */
  get #most(): number {
    return Math.floor(this.#cluster.mastersOf(this.#worker.process).length / 2);
  }

  /** To the masters that it does not reach, and back. */
  get #ways() {
    const row = this.#cluster.linksOf(this.#worker.process);
    const beyond = row.filter((_, column) => column < this.#from || column >= this.#from + this.#most);
    return beyond.flatMap(({ commands, pushes }) =>
      [commands, pushes].flatMap(({ requests, replies }) => [requests, replies]),
    );
  }

  #inTurn(act: () => void): void {
    this.#cluster.kernel.engine.schedule(() => this.#worker.process.deliver(act), 1);
  }
}
