import { setTimeout as pause } from "node:timers/promises";
import { type Lock, Redlock, RedlockError, type RedlockErrorCode } from "@quorlock/redlock";
import { Semaphore } from "@quorlock/redlock/semaphore";
import { type Master, startProxy, type Proxy as Way } from "@quorlock/testbed";
import { Redis } from "ioredis";

const ttl = 1000;
/** The machine may be busy: a master that is only slow should vote. */
const nodeTimeout = 240;
/** The outcomes of a visitor without a permit. */
const emptyHanded: readonly RedlockErrorCode[] = ["RESOURCE_LOCKED", "NO_QUORUM"];
/** The longest way from a client to a master and back, ms. */
const longestWay = 5;
/** How often every way is given another length, and one of them is torn, ms. */
const shuffleEvery = 500;

export interface CrowdOptions {
  readonly masters: readonly Master[];
  readonly clients: number;
  readonly limit: number;
  /** The longest duration. */
  readonly seconds: number;
  /** Whether the run may end before its time. Default: never. */
  readonly isEnough?: (reportSoFar: CrowdReport) => boolean;
  /** Receives a function that reports on the run so far. */
  readonly onStart?: (reportSoFar: () => CrowdReport) => void;
}

/** The observations of a crowd. */
export interface CrowdReport {
  readonly grants: number;
  /** Calls that came away without a permit. */
  readonly refusals: number;
  /** The most permits that were held at one moment, by all who believed in theirs. */
  readonly most: number;
  /** Grants to each client. */
  readonly byClient: readonly number[];
}

/**
 * Clients that take and give back permits of one semaphore as fast as they can, each over ways of its own to the
 * masters, that take up to 5 ms and change. All are in this process: what they hold together is counted exactly.
 */
export async function crowd({
  masters,
  clients,
  limit,
  seconds,
  isEnough,
  onStart,
}: CrowdOptions): Promise<CrowdReport> {
  const ways = await Promise.all(
    Array.from({ length: clients }, () => Promise.all(masters.map((master) => startProxy(master)))),
  );
  const count = new Count();
  const end = performance.now() + seconds * 1000;
  const visitors = ways.map((way) => new Visitor(way, limit, count));
  const report = (): CrowdReport => {
    const byClient = visitors.map(({ grants }) => grants);
    const grants = byClient.reduce((sum, own) => sum + own, 0);
    return { grants, refusals: count.refusals, most: count.most, byClient };
  };
  const goesOn = (): boolean => performance.now() < end && !isEnough?.(report());
  const shuffling = shuffle(ways.flat(), goesOn);
  onStart?.(report);
  try {
    await Promise.all(visitors.map((visitor) => visitor.comeAndGo(goesOn)));
    await shuffling;
  } finally {
    await Promise.all(visitors.map((visitor) => visitor.quit()));
    await Promise.all(ways.flat().map((proxy) => proxy.stop()));
  }
  return report();
}

async function shuffle(proxies: readonly Way[], goesOn: () => boolean): Promise<void> {
  while (goesOn()) {
    for (const proxy of proxies) proxy.delay(Math.random() * longestWay, "replies");
    await pause(shuffleEvery);
    proxies[Math.floor(Math.random() * proxies.length)]!.reset();
  }
  for (const proxy of proxies) proxy.delay(0);
}

/** All permits that a client believes to hold. */
class Count {
  most = 0;
  refusals = 0;
  readonly #held = new Set<Lock>();

  add(lock: Lock): void {
    this.#held.add(lock);
    this.look();
  }

  remove(lock: Lock): void {
    this.#held.delete(lock);
  }

  look(): void {
    let permits = 0;
    for (const lock of this.#held) if (lock.remaining() > 0) permits += lock.resources.length;
    this.most = Math.max(this.most, permits);
  }
}

class Visitor {
  grants = 0;
  readonly #semaphore: Semaphore;
  readonly #redlock: Redlock;
  readonly #count: Count;

  constructor(way: readonly Way[], limit: number, count: Count) {
    const clients = way.map(({ host, port }) => new Redis(port, host));
    // Ways are torn on purpose.
    for (const client of clients) client.on("error", () => {});
    this.#redlock = new Redlock(clients, { nodeTimeout, retryDelay: 20, retryJitter: 10 });
    this.#semaphore = new Semaphore(this.#redlock, "crowded", limit);
    this.#count = count;
  }

  async comeAndGo(goesOn: () => boolean): Promise<void> {
    while (goesOn()) {
      const lock = await this.#enter();
      if (!lock) {
        this.#count.refusals += 1;
        await pause(Math.random() * 10);
        continue;
      }
      this.grants += 1;
      this.#count.add(lock);
      await pause(Math.random() * 60);
      this.#count.look();
      // Now and then a permit is not released, and expires.
      if (Math.random() < 0.005) await pause(lock.remaining() + 1);
      this.#count.remove(lock);
      await lock.release();
    }
  }

  quit(): Promise<void> {
    return this.#redlock.quit();
  }

  /** Mostly by waiting; sometimes by a try, and sometimes for two. */
  async #enter(): Promise<Lock | null> {
    const permits = Math.random() < 0.2 ? 2 : 1;
    try {
      return Math.random() < 0.3
        ? await this.#semaphore.tryAcquire(ttl, { permits })
        : await this.#semaphore.acquire(ttl, { permits, waitTimeout: 5000 });
    } catch (error) {
      if (error instanceof RedlockError && emptyHanded.includes(error.code)) return null;
      throw error;
    }
  }
}
