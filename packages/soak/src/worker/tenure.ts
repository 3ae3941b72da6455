import type { Lock } from "@quorlock/redlock";
import { now } from "../clock.ts";
import type { Hold } from "../history/history.ts";
import type { Stalls } from "./stalls.ts";

const driftFactor = 0.01;
/** The margin that the client subtracts for drift and rounding: the masters keep the key for that much longer. */
const reserveOf = (ttl: number): number => ttl - ((ttl - 1) * (1 - driftFactor) - 1);

/** One lock while it is held, and what its holder sees of it, stamped. */
export class Tenure {
  readonly lock: Lock;
  readonly #name: string;
  readonly #worker: string;
  readonly #ttl: number;
  readonly #stalls: Stalls;
  readonly #share: number | undefined;
  readonly #grantedAt: number;
  #stoodStill = 0;
  #believedUntil: number;
  #toldAt: number | undefined;
  #releasedAt: number | undefined;

  constructor(
    lock: Lock,
    ttl: number,
    of: { name: string; worker: string; stalls: Stalls; share?: number | undefined },
  ) {
    this.lock = lock;
    this.#ttl = ttl;
    this.#name = of.name;
    this.#worker = of.worker;
    this.#stalls = of.stalls;
    this.#share = of.share;
    this.#grantedAt = now();
    this.#believedUntil = this.#grantedAt;
    this.look();
    lock.signal.addEventListener("abort", () => {
      this.#toldAt ??= now();
      this.#stoodStill = this.#stalls.latest;
    });
  }

  /** Until when it believes, by what the lock says now; undefined when it does not any more. */
  look(): number | undefined {
    // The clock is read first: the lock is asked later, and says rather less.
    const at = now();
    const left = this.lock.remaining();
    if (left <= 0) return undefined;
    this.#believedUntil = at + left;
    return this.#believedUntil;
  }

  /** About to be released: from here on it claims nothing. */
  end(): void {
    this.look();
    this.#releasedAt = now();
  }

  /** The hold of one of its keys, as it is known now. */
  holdOf(key: string): Hold {
    return {
      id: `${this.#name}/${key}`,
      lock: this.#name,
      worker: this.#worker,
      key,
      grantedAt: this.#grantedAt,
      believedUntil: this.#believedUntil,
      stoodStill: this.#stoodStill,
      reserve: reserveOf(this.#ttl),
      ...(this.#share === undefined ? {} : { share: this.#share }),
      ...(this.#toldAt === undefined ? {} : { toldAt: this.#toldAt }),
      ...(this.#releasedAt === undefined ? {} : { releasedAt: this.#releasedAt }),
    };
  }
}
