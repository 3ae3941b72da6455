import { setTimeout as pause } from "node:timers/promises";
import type { Lock, Redlock } from "@quorlock/redlock";
import type { Random } from "@quorlock/simulation";
import { coldKeys, hotKey, hotShare, ttl, waitTimeout } from "../terms.ts";
import { acquireLimit, roundLimit, tryLimit } from "./limits.ts";
import type { Lingering } from "./lingering.ts";
import type { ConductorSide } from "./protocol.ts";
import type { Stalls } from "./stalls.ts";
import type { Stopwatch } from "./stopwatch.ts";
import { Tenure } from "./tenure.ts";
import { type Counters, visit } from "./visit.ts";

/** What all lanes of a worker share. */
export interface Desk {
  readonly name: string;
  readonly redlock: Redlock;
  readonly counters: Counters;
  readonly ended: (...args: Parameters<ConductorSide["ended"]>) => void;
  readonly lingering: Lingering;
  readonly stalls: Stalls;
  readonly stopwatch: Stopwatch;
  /** Counts the locks, for their names. */
  next(): number;
}

/** The ways to work under a lock, and how often each is taken. */
const ways = ["acquire", "acquire", "try", "try", "using", "using", "extend", "several", "long"] as const;
/** How long a long one takes, in leases. */
const long = { minimum: 0.4, maximum: 1.2 };

/** One lock after the other, each in one of the ways that the client offers. */
export class Lane {
  readonly #desk: Desk;
  readonly #random: Random;

  constructor(desk: Desk, random: Random) {
    this.#desk = desk;
    this.#random = random;
  }

  /** One lock. Rejects as the client's calls do. */
  async next(): Promise<void> {
    const way = this.#random.pick(ways);
    const [key, another] = this.#keys();
    if (way === "using") await this.#using(key, () => this.#work());
    else if (way === "try") await this.#try(key);
    else if (way === "extend") await this.#extend(key);
    else if (way === "several" && another) await this.#acquire([key, another]);
    // Longer than a third of a lease, so that it is renewed; a hot one would keep all others waiting.
    else if (way === "long" && key !== hotKey && this.#random.chance(0.1)) await this.#long(key);
    else await this.#acquire([key]);
  }

  /** One key, and with a cold one another. */
  #keys(): [string, string?] {
    if (this.#random.chance(hotShare)) return [hotKey];
    const at = this.#random.integer(0, coldKeys.length - 1);
    return [coldKeys[at]!, coldKeys[(at + 1) % coldKeys.length]!];
  }

  #work(): Promise<unknown> {
    return this.#random.chance(0.2) ? pause(this.#random.between(0, 3)) : Promise.resolve();
  }

  async #acquire(keys: readonly string[], work: () => Promise<unknown> = () => this.#work()): Promise<void> {
    const { redlock, stopwatch } = this.#desk;
    const lock = await stopwatch.time("acquire", acquireLimit, () =>
      redlock.acquire(keys, ttl, { waitTimeout }),
    );
    await this.#visitAndRelease(lock, keys, work);
  }

  async #try(key: string): Promise<void> {
    const { redlock, stopwatch } = this.#desk;
    const lock = await stopwatch.time("tryAcquire", tryLimit, () => redlock.tryAcquire(key, ttl));
    if (lock) await this.#visitAndRelease(lock, [key], () => this.#work());
    // Somebody has it: not at once again, or this lane asks all day.
    else await pause(this.#random.between(5, 25));
  }

  async #extend(key: string): Promise<void> {
    const { redlock, stopwatch } = this.#desk;
    const lock = await stopwatch.time("acquire", acquireLimit, () =>
      redlock.acquire(key, ttl, { waitTimeout }),
    );
    await this.#visitAndRelease(lock, [key], () =>
      stopwatch.time("extend", roundLimit, () => redlock.extend(lock, ttl, { retryCount: 0 })),
    );
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
        await this.#visit(lock, [key], work);
        stop = stopwatch.start("using, once it has run", roundLimit);
      });
    } finally {
      stop();
    }
  }

  async #visitAndRelease(lock: Lock, keys: readonly string[], work: () => Promise<unknown>): Promise<void> {
    try {
      await this.#visit(lock, keys, work);
    } finally {
      await this.#desk.stopwatch.time("release", roundLimit, () => lock.release());
    }
  }

  /** What the holder sees is told before the release begins: of one that is killed then nothing more is heard. */
  async #visit(lock: Lock, keys: readonly string[], work: () => Promise<unknown>): Promise<void> {
    const { name, stalls, counters, lingering, ended } = this.#desk;
    const tenure = new Tenure(lock, ttl, { name: `${name}:${this.#desk.next()}`, worker: name, stalls });
    try {
      for (const key of keys) await visit(tenure, key, counters, lingering, work);
    } finally {
      tenure.end();
      for (const key of keys) ended(tenure.holdOf(key));
    }
  }
}
