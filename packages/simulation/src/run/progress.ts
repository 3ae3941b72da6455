import type { Findings } from "../checkers/findings.ts";
import type { Master } from "../master/master.ts";
import { queuePrefix } from "../master/own-keys.ts";
import type { Subject, SubjectLock } from "./subject.ts";
import type { Worker } from "./worker.ts";

// The liveness checks that apply once all faults are over and every lock has expired.

/** No place in a queue lasts longer than the patience of a waiter with {@link patient}, ms. */
export const maxPatience = 25_000;

/** The settings of the last locks: they fail only if a key is left that should be gone. */
export const patient = {
  ttl: 120_000,
  nodeTimeout: 20_000,
  retryCount: 10,
  retryDelay: 200,
  retryJitter: 100,
};
const waitTimeout = 60_000;

/** As patient as who may not ask for a longer ttl can be. */
export function patientBelow(longestTtl: number): typeof patient {
  if (longestTtl >= patient.ttl) return patient;
  return { ...patient, ttl: longestTtl, nodeTimeout: longestTtl / 3 };
}

/** The time limit of one client for {@link lockEach} of this number of resources, ms. */
export function patienceFor(resources: number): number {
  return resources * 2 * (waitTimeout + 4 * patient.nodeTimeout);
}

/** A lock that is asked for in the calm. `ttl`: in place of all that patience. */
export function acquireLast(
  worker: Worker,
  resources: string | string[],
  ttl?: number,
): Promise<SubjectLock | undefined> {
  const { ttl: longest, ...options } = { ...patientBelow(worker.longestTtl), waitTimeout };
  return worker.call("last acquire", 200_000, () =>
    worker.redlock.acquire(resources, ttl ?? longest, ttl === undefined ? options : {}),
  );
}

export async function releaseLast(worker: Worker, lock: SubjectLock): Promise<void> {
  await worker.call("last release", 2 * patient.nodeTimeout, () => lock.release());
}

/** Locks one resource after the other. None may be refused: `when` says why not. */
export async function lockEach(
  worker: Worker,
  resources: readonly string[],
  findings: Findings,
  when: string,
): Promise<void> {
  for (const resource of resources) {
    const lock = await acquireLast(worker, resource);
    if (lock) {
      findings.reached("granted in the calm");
      await releaseLast(worker, lock);
    } else findings.violated("stuck", `${worker.process.name} could not lock ${resource} ${when}`);
  }
}

/** A waiter that is woken asks sooner than by its next heartbeat: only where that shows is it measured, ms. */
export const maxHurry = 700;
/** The ttl of a lock that runs out, and the longest heartbeat, ms. */
export const shortTtl = 4000;
const heartbeat = 1000;

interface BesideHung {
  readonly holder: Worker;
  readonly waiter: Worker;
  readonly resources: readonly string[];
  /** How long it may take from the moment at which the lock is free, or the next heartbeat, ms. */
  readonly hurry: number;
  readonly findings: Findings;
}

/** The same in a turn of that process: a pause first. */
async function acquireInTurn(
  worker: Worker,
  resources: string | string[],
  ttl?: number,
): Promise<SubjectLock | undefined> {
  await worker.pause(1);
  return acquireLast(worker, resources, ttl);
}

async function releaseInTurn(worker: Worker, lock: SubjectLock | undefined): Promise<void> {
  await worker.pause(1);
  if (lock) await releaseLast(worker, lock);
}

/** PROTOCOL 7.11: masters that hang delay neither the heartbeat that finds an expired lock, nor the round after a wake. */
export async function waitBesideHung(run: BesideHung): Promise<void> {
  const { holder, waiter, hurry, findings } = run;
  const [first, second] = run.resources as readonly [string, string];
  const judge = async (
    lock: Promise<SubjectLock | undefined>,
    limit: number,
    what: string,
  ): Promise<void> => {
    const since = waiter.process.now;
    const granted = await lock;
    const took = (waiter.process.now - since) / 1000;
    const who = `${waiter.process.name} was granted ${what} only after ${took.toFixed(1)} ms`;
    if (took > limit) findings.violated("forgotten", `${who}, while a minority of the masters hung`);
    await releaseInTurn(waiter, granted);
  };
  if (await acquireInTurn(holder, first, shortTtl))
    await judge(acquireInTurn(waiter, first), 1.1 * (shortTtl + heartbeat) + hurry, "a lock that ran out");
  const held = [await acquireInTurn(holder, first), await acquireInTurn(holder, second)];
  const waiting = acquireInTurn(waiter, [first, second]);
  await holder.pause(1.7 * heartbeat);
  void releaseInTurn(holder, held[0]);
  await holder.pause(1.7 * heartbeat);
  void releaseInTurn(holder, held[1]);
  await judge(waiting, hurry, "two locks that were released");
}

/** Full memory takes no new lock, and takes none away: a key that is there can live longer. */
export async function extendWhileFull(
  worker: Worker,
  lock: SubjectLock,
  masters: readonly Master[],
  findings: Findings,
): Promise<void> {
  const { ttl } = patientBelow(worker.longestTtl);
  const endings = masters.map((master) => master.refuseWrites("OOM"));
  // On a slow network the answers alone take part of the ttl: early enough, and twice as long as it lasts in all.
  const pause = lock.remaining() / 4;
  for (let times = 0; times < 8; times += 1) {
    await worker.pause(pause);
    await worker.call("last extend", 200_000, () => lock.extend(ttl));
  }
  if (lock.remaining() === 0)
    findings.violated(
      "unrenewed",
      `${worker.process.name} could not extend its lock while masters were full`,
    );
  for (const end of endings) end();
}

/** Tries each once, and gives it back: with rivals that do the same, most attempts fail. */
export async function tryEach(
  worker: Worker,
  resources: readonly string[],
  findings: Findings,
): Promise<void> {
  const { ttl, ...options } = patientBelow(worker.longestTtl);
  for (const resource of resources) {
    const trying = () => worker.redlock.tryAcquire(resource, ttl, options);
    const lock = await worker.call("last try", 200_000, trying);
    if (!lock) continue;
    findings.reached("granted in the calm");
    await releaseLast(worker, lock);
  }
}

/**
 * The time after which the last queue entry expires, ms: no client waits any more, and each entry expires with its
 * waiter's time-out.
 */
export function maxPlace(masters: readonly Master[]): number {
  return Math.max(0, ...masters.flatMap((master) => master.lifetimes(queuePrefix)));
}

/** With its patience over, what was kept for those who wait is gone. */
export function judgePlaces(masters: readonly Master[], findings: Findings): void {
  for (const master of masters) {
    const left = master.lifetimes(queuePrefix).length;
    if (left > 0)
      findings.violated("leftover", `${master.name} still has ${left} keys of queues without a waiter`);
  }
}

/** No lock is held any more: a key that is left was not deleted by its attempt or release, and stays for its ttl. */
export function judgeLeftovers(
  masters: readonly Master[],
  resources: readonly string[],
  { keysOf = (resource) => [resource], isOver = () => false }: Pick<Subject, "isOver" | "keysOf">,
  findings: Findings,
): void {
  for (const master of masters) {
    for (const resource of resources) {
      for (const key of keysOf(resource)) {
        if (!master.peek(key) || isOver(resource, key, master)) continue;
        findings.violated("leftover", `${master.name} still has a key for ${key} without a holder`);
      }
    }
  }
}
