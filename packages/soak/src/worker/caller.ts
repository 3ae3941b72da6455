import { setTimeout as pause } from "node:timers/promises";
import type { Lock, Redlock } from "@quorlock/redlock";
import type { ReadWriteLock } from "@quorlock/redlock/read-write-lock";
import type { Semaphore } from "@quorlock/redlock/semaphore";
import type { Random } from "@quorlock/simulation";
import type { Stalls } from "@quorlock/testbed";
import { wholeKey } from "../history/history.ts";
import {
  callersPerWorker,
  hotShare,
  permits,
  permitsKey,
  sharedKey,
  ttl,
  waitTimeout,
  workerCount,
} from "../terms.ts";
import { type Counters, enterCriticalSection } from "./critical-section.ts";
import { acquireLimit, permitLimit, roundLimit, tryLimit } from "./limits.ts";
import type { Lingering } from "./lingering.ts";
import { LockInterval } from "./lock-interval.ts";
import type { ConductorSide, Detached } from "./protocol.ts";
import type { Stopwatch } from "./stopwatch.ts";

type WayInSlot = "acquire" | "try" | "using" | "extend" | "several" | "long";
type Way = WayInSlot | "detach" | "read" | "write" | "permit";
/** The ways to work under a lock, and how often each is taken. */
export const ways: readonly Way[] = [
  ...(["acquire", "acquire", "try", "try", "using", "using", "extend", "several", "long"] as const),
  ...(["detach", "read", "read", "write", "permit"] as const),
];
/** On keys of one slot. */
export const waysInSlot: readonly WayInSlot[] = [
  ...(["acquire", "try", "using", "extend", "several", "several", "long"] as const),
];

/** Shared by all callers of a worker except the one that works on the Cluster. */
export interface Desk {
  readonly name: string;
  readonly redlock: Redlock;
  readonly ways: readonly Way[];
  /** The hot key, and the others. */
  readonly keys: { readonly hot: string; readonly cold: readonly string[] };
  readonly shared: ReadWriteLock;
  readonly permits: Semaphore;
  readonly counters: Counters;
  readonly ended: (...args: Parameters<ConductorSide["ended"]>) => void;
  readonly handOn: (detached: Detached) => void;
  readonly lingering: Lingering;
  readonly stalls: Stalls;
  readonly stopwatch: Stopwatch;
  /** Counts the locks, for their names. */
  next(): number;
}

/** Keys of one lock at most. */
const mostKeys = 6;
const readersShare = wholeKey / (workerCount * callersPerWorker + 1);
/** How long a long one takes, in leases. */
const long = { minimum: 0.4, maximum: 1.2 };

/** One lock after the other, each in one of the ways that the client offers. */
export class Caller {
  readonly #desk: Desk;
  readonly #random: Random;

  constructor(desk: Desk, random: Random) {
    this.#desk = desk;
    this.#random = random;
  }

  /** One lock. Rejects as the client's calls do. */
  async next(): Promise<void> {
    const way = this.#random.pick(this.#desk.ways);
    const key = this.#key();
    if (way === "using") await this.#using(key, () => this.#work());
    else if (way === "try") await this.#try(key);
    else if (way === "extend") await this.#extend(key);
    else if (way === "several") await this.#acquire(this.#keys(key));
    else if (way === "detach") await this.#detach(key);
    else if (way === "read") await this.#read();
    else if (way === "write") await this.#write();
    else if (way === "permit") await this.#permit();
    // Longer than a third of a lease, so that it is renewed; a hot one would keep all others waiting.
    else if (way === "long" && key !== this.#desk.keys.hot && this.#random.chance(0.1)) await this.#long(key);
    else await this.#acquire([key]);
  }

  #key(): string {
    const { hot, cold } = this.#desk.keys;
    return this.#random.chance(hotShare) ? hot : this.#random.pick(cold);
  }

  /** Of the first cold ones, so that those who want several meet. */
  #keys(first: string): string[] {
    const { cold } = this.#desk.keys;
    const keys = new Set([first]);
    const last = Math.min(2 * mostKeys, cold.length - 1);
    const count = this.#random.integer(2, mostKeys);
    while (keys.size < count) keys.add(cold[this.#random.integer(0, last)]!);
    return [...keys];
  }

  #work(): Promise<unknown> {
    return this.#random.chance(0.2) ? pause(this.#random.between(0, 3)) : Promise.resolve();
  }

  async #acquire(keys: readonly string[]): Promise<void> {
    await this.#enterAndRelease(await this.#acquired(keys), keys, () => this.#work());
  }

  #acquired(keys: readonly string[]): Promise<Lock> {
    const { redlock, stopwatch } = this.#desk;
    return stopwatch.time("acquire", acquireLimit, () => redlock.acquire(keys, ttl, { waitTimeout }));
  }

  async #try(key: string): Promise<void> {
    const { redlock, stopwatch } = this.#desk;
    const lock = await stopwatch.time("tryAcquire", tryLimit, () => redlock.tryAcquire(key, ttl));
    if (lock) await this.#enterAndRelease(lock, [key], () => this.#work());
    // The key is held: without a pause this caller would only ask.
    else await pause(this.#random.between(5, 25));
  }

  async #extend(key: string): Promise<void> {
    const { redlock, stopwatch } = this.#desk;
    const lock = await this.#acquired([key]);
    await this.#enterAndRelease(lock, [key], () =>
      stopwatch.time("extend", roundLimit, () => redlock.extend(lock, ttl, { retryCount: 0 })),
    );
  }

  /** Works under a lock and has another worker go on with it. */
  async #detach(key: string): Promise<void> {
    const lock = await this.#acquired([key]);
    await this.#enter(lock, [key], () => this.#work());
    this.#desk.handOn({ key, lock: await lock.detach() });
  }

  /** Goes on with a lock that another worker has detached. */
  async resume({ key, lock: detached }: Detached): Promise<void> {
    const { redlock, stopwatch } = this.#desk;
    const lock = redlock.resume(detached);
    try {
      await stopwatch.time("extend", roundLimit, () => redlock.extend(lock, ttl, { retryCount: 0 }));
      await this.#enter(lock, [key], () => this.#work());
    } finally {
      await stopwatch.time("release", roundLimit, () => lock.release());
    }
  }

  async #read(): Promise<void> {
    const { shared, stopwatch } = this.#desk;
    const lock = await stopwatch.time("read", acquireLimit, () => shared.read(ttl, { waitTimeout }));
    await this.#enterAndRelease(lock, [sharedKey], () => this.#work(), readersShare);
  }

  async #write(): Promise<void> {
    const { shared, stopwatch } = this.#desk;
    const lock = await stopwatch.time("write", acquireLimit, () => shared.write(ttl, { waitTimeout }));
    if (this.#random.chance(0.5)) return this.#enterAndRelease(lock, [sharedKey], () => this.#work());
    await this.#enter(lock, [sharedKey], () => this.#work());
    const reader = await stopwatch.time("downgrade", roundLimit, () => lock.downgrade());
    await this.#enterAndRelease(reader, [sharedKey], () => this.#work(), readersShare);
  }

  async #permit(): Promise<void> {
    const { permits: semaphore, stopwatch } = this.#desk;
    const lock = await stopwatch.time("permit", permitLimit, () => semaphore.acquire(ttl, { waitTimeout }));
    await this.#enterAndRelease(lock, [permitsKey], () => this.#work(), wholeKey / permits);
  }

  #long(key: string): Promise<void> {
    const { minimum, maximum } = long;
    return this.#using(key, () => pause(ttl * this.#random.between(minimum, maximum)));
  }

  async #using(key: string, work: () => Promise<unknown>): Promise<void> {
    const { redlock, stopwatch } = this.#desk;
    let stop = stopwatch.start("using, until it runs", acquireLimit);
    try {
      await redlock.using(key, ttl, { waitTimeout }, async (_, lock) => {
        stop();
        await this.#enter(lock, [key], work);
        stop = stopwatch.start("using, once it has run", roundLimit);
      });
    } finally {
      stop();
    }
  }

  async #enterAndRelease(
    lock: Lock,
    keys: readonly string[],
    work: () => Promise<unknown>,
    share?: number,
  ): Promise<void> {
    try {
      await this.#enter(lock, keys, work, share);
    } finally {
      await this.#desk.stopwatch.time("release", roundLimit, () => lock.release());
    }
  }

  /** Reports the holder's view before the release begins: a killed worker reports nothing more. */
  async #enter(
    lock: Lock,
    keys: readonly string[],
    work: () => Promise<unknown>,
    share?: number,
  ): Promise<void> {
    const { name, stalls, counters, lingering, ended } = this.#desk;
    const of = { name: `${name}:${this.#desk.next()}`, worker: name, stalls, share };
    const interval = new LockInterval(lock, ttl, of);
    try {
      for (const key of keys) await enterCriticalSection(interval, key, counters, lingering, work);
    } finally {
      interval.end();
      for (const key of keys) ended(interval.holdOf(key));
    }
  }
}
