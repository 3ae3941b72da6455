import { DefaultMap } from "../default-map.ts";
import type { Process } from "../engine/process.ts";
import type { CallTerms } from "../run/call-terms.ts";
import type { Queued } from "../run/subject.ts";
import { Checker, type Judged, type RunEvent } from "./checker.ts";
import type { LockInterval } from "./lock-interval.ts";
import type { Wait } from "./wait.ts";

export interface WaitTerms {
  /** From when on there are no faults any more; true time, us. */
  readonly calmAt: number;
  /** Maximum time that a lock may be free without faults while a call waits for it, us, by what it was passed. */
  maxIdle(call: CallTerms): number;
  /** Maximum time that a call by what it was passed is out of the queues after a fault, us: its own backoff, which others do not wait for. */
  maxAway(call: CallTerms): number;
  /** Whether a call by what it was passed keeps its place: no lease has less time left than it demands. */
  keepsPlace(call: CallTerms): boolean;
  /** Maximum number of times that a waiter may be overtaken without faults; infinite if no queue is kept. */
  readonly maxOvertaken: number;
}

/** How a resource is used. */
interface Use {
  /** By whom it is held now. */
  readonly holders: Set<LockInterval>;
  /** When any client last held it; true time, us. */
  heldUntil: number;
}

/**
 * No waiter is forgotten. Once there are no more faults, a lock that has waiters is not free for longer than dead
 * holders and dead waiters can delay its grant; and later waiters are not served again and again before earlier ones.
 */
export class Waits extends Checker {
  readonly #terms: WaitTerms;
  readonly #uses = new DefaultMap<string, Use>(() => ({ holders: new Set(), heldUntil: 0 }));
  readonly #open = new Set<Wait>();
  #count = 0;
  #maxIdle = 0;
  #maxOvertaken = 0;

  constructor(run: Judged, terms: WaitTerms) {
    super(run);
    this.#terms = terms;
  }

  see(event: RunEvent): void {
    if (event.is === "held") this.#held(event.interval);
    else if (event.is === "over") this.#over(event.interval);
    // The waits that have not ended.
    else if (event.is === "calm") for (const wait of this.#open) this.ended(wait);
  }

  /** In a turn of the caller. `call`: what it passes; `ttl`: that of the lock, where it is another. */
  begin(
    process: Process,
    resources: readonly string[],
    call: CallTerms,
    ttl: number,
    queued: Queued = { keys: resources, isShared: false },
  ): Wait {
    this.#count += 1;
    const number = this.#count;
    const begunAt = process.now;
    const lasting = leastWait(call);
    const wait: Wait = {
      number,
      process,
      resources,
      queued,
      ttl,
      begunAt,
      maxIdle: this.#terms.maxIdle(call),
      backAt: this.#terms.calmAt + this.#terms.maxAway(call),
      keepsPlace: this.#terms.keepsPlace(call),
      isAborted: false,
      get isWaiting() {
        return !this.isAborted && process.now < begunAt + lasting;
      },
      overtaken: 0,
      blockedUntil: 0,
    };
    this.#open.add(wait);
    return wait;
  }

  /** In a turn of the waiter: it was granted its locks, or has stopped waiting. Returns whether that is new. */
  ended(wait: Wait): boolean {
    if (!this.#open.delete(wait)) return false;
    this.#judge(wait);
    for (const other of this.#open) if (isInTheWay(wait, other)) other.blockedUntil = wait.process.now;
    return true;
  }

  get open(): Iterable<Wait> {
    return this.#open;
  }

  #held(interval: LockInterval): void {
    const resources = waitedFor(interval);
    for (const resource of resources) this.#uses.get(resource).holders.add(interval);
    for (const wait of this.#open) {
      // Once, however many they share.
      const shared = wait.resources.find((resource) => resources.includes(resource));
      if (shared !== undefined) this.#overtake(wait, shared, interval);
    }
  }

  #over(interval: LockInterval): void {
    for (const resource of waitedFor(interval)) {
      const use = this.#uses.get(resource);
      if (use.holders.delete(interval)) use.heldUntil = Math.max(use.heldUntil, this.run.kernel.now);
    }
  }

  /** The share of its bound that the worst of each kind took. */
  get longest(): ReadonlyMap<string, number> {
    return new Map([
      ["idle", this.#maxIdle],
      ["overtaken", this.#maxOvertaken],
    ]);
  }

  #overtake(wait: Wait, resource: string, { process, askedAt, lock }: LockInterval): void {
    // With several permits, that many more waiters are served meanwhile.
    const maxOvertaken = this.#terms.maxOvertaken * (lock.share?.limit ?? 1);
    const isLater = askedAt > wait.begunAt && this.run.kernel.now > wait.backAt;
    if (wait.process === process || wait.process.isDead || !isLater) return;
    wait.overtaken += 1;
    if (!Number.isFinite(maxOvertaken + wait.maxIdle)) return;
    this.#maxOvertaken = Math.max(this.#maxOvertaken, wait.overtaken / maxOvertaken);
    if (wait.overtaken !== maxOvertaken + 1) return;
    const who = `${wait.process.name} has waited for "${resource}" since ${wait.begunAt / 1000} ms`;
    this.violated("unfair", `${who} and was overtaken ${wait.overtaken} times in the calm`);
  }

  #judge(wait: Wait): void {
    const { process, resources, begunAt, maxIdle, blockedUntil } = wait;
    const { calmAt } = this.#terms;
    if (process.isDead || !Number.isFinite(maxIdle)) return;
    for (const other of this.#open) if (isInTheWay(other, wait)) return;
    const now = process.now;
    const freeSince = Math.max(...resources.map((resource) => this.#busyUntil(resource)));
    if (!Number.isFinite(freeSince)) return;
    const idle = now - Math.max(begunAt, calmAt, freeSince, blockedUntil);
    this.#maxIdle = Math.max(this.#maxIdle, idle / maxIdle);
    if (idle <= maxIdle) return;
    const what = resources.map((resource) => `"${resource}"`).join(" and ");
    const text = `${process.name} waited for ${what}, which was free for ${(idle / 1000).toFixed(1)} ms`;
    this.violated("forgotten", text);
  }

  /** The end of the last lock on the resource. (A waiter that was granted it in this turn does not hold it yet.) */
  #busyUntil(resource: string): number {
    const { holders, heldUntil } = this.#uses.get(resource);
    return holders.size > 0 ? Number.POSITIVE_INFINITY : heldUntil;
  }
}

/** The names under which others wait for this lock: waiters for a semaphore do not know the slot that they will get. */
function waitedFor({ lock }: LockInterval): readonly string[] {
  return lock.share ? [lock.share.of] : lock.resources;
}

/** Whether `other` may be the first for a lock that `wait` wants, and wait for another one before it takes it. */
function isInTheWay(other: Wait, wait: Wait): boolean {
  const isEarlier = other.begunAt < wait.begunAt + wait.maxIdle / 4;
  const overlaps = isEarlier && other.resources.some((resource) => wait.resources.includes(resource));
  return overlaps && other.resources.some((resource) => !wait.resources.includes(resource));
}

/** The least time for which a call waits that is always refused, us of true time. (Its clock may be fast.) */
function leastWait({ settings }: CallTerms): number {
  const { waitTimeout, retryCount, retryDelay, retryJitter, backoff } = settings;
  const pauses = backoff ? 0 : retryCount * Math.max(0, retryDelay - retryJitter);
  return 900 * (waitTimeout ?? pauses);
}
