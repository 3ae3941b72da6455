import { waysOf } from "../plan/fault-kinds.ts";
import type { Cluster } from "./cluster.ts";
import { patient, releaseLast } from "./progress.ts";
import type { Worker } from "./worker.ts";

/** The wait time-out, ms; waits are aborted earlier. */
const waitTimeout = 100_000;

/** A waiter that can be cut off from too many masters to win a quorum. */
export interface PartlyCutWaiter {
  isDone(): boolean;
  cut(): void;
  end(): void;
}

/**
 * Two waiters that are cut off at the heads of the queues of nearly all masters must not keep a waiter that reaches all
 * masters from being served (PROTOCOL 7.12). `number`: each of the two has its own masters.
 */
export function beginToWait(
  cluster: Cluster,
  worker: Worker,
  number: number,
  resource: string,
  ttl: number,
): PartlyCutWaiter {
  const { process, redlock, bounds } = worker;
  const links = cluster.linksOf(process);
  /** The largest number of masters that is no quorum. */
  const most = Math.floor(links.length / 2);
  const beyond = links.filter((_, column) => column < number * most || column >= (number + 1) * most);
  const controller = new AbortController();
  let isOver = false;
  const { ttl: _, ...settings } = patient;
  const { signal } = controller;
  const options = { ...settings, nodeTimeout: bounds.nodeTimeout, waitTimeout, signal };
  const wait = async (): Promise<void> => {
    const lock = await worker.call("wait, half cut off", 200_000, () =>
      redlock.acquire(resource, ttl, options),
    );
    if (lock) await releaseLast(worker, lock);
    isOver = true;
  };
  const inTurn = (act: () => void): void => {
    cluster.kernel.engine.schedule(() => process.deliver(act), 1);
  };
  inTurn(() => void wait());
  const ways = beyond.flatMap((link) => waysOf(link));
  return {
    isDone: () => isOver || process.isDead,
    cut() {
      for (const way of ways) way.cut();
    },
    end() {
      for (const way of ways) way.heal();
      inTurn(() => controller.abort());
    },
  };
}
