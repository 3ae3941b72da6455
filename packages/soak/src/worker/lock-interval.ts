import { Lock } from "@quorlock/redlock";
import { now } from "@quorlock/simulation/processes";
import type { Stalls } from "@quorlock/testbed";
import type { Hold } from "../history/history.ts";

const driftFactor = 0.01;
/** The margin that the client subtracts for drift and rounding: the masters keep the key for that much longer. */
const reserveOf = (ttl: number): number => ttl - ((ttl - 1) * (1 - driftFactor) - 1);

/** Not its `value`: a hold whose token is known outside is not passed on as it is. */
function tokenOf(lock: Lock): string {
  return Lock.leaseOf(lock).token;
}

/** The interval in which one lock is held, with the times that its holder observes. */
export class LockInterval {
  readonly lock: Lock;
  readonly #name: string;
  readonly #worker: string;
  readonly #ttl: number;
  readonly #stalls: Stalls;
  readonly #share: number | undefined;
  readonly #grantedAt: number;
  #stoodStill = 0;
  #validUntil: number;
  #notifiedAt: number | undefined;
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
    this.#validUntil = this.#grantedAt;
    this.look();
    lock.signal.addEventListener("abort", () => {
      this.#notifiedAt ??= now();
      this.#stoodStill = this.#stalls.latest;
    });
  }

  /** The end of the validity, by the lock's own state; undefined if it is over. */
  look(): number | undefined {
    // The clock is read first, so the result errs on the early side.
    const at = now();
    const left = this.lock.remaining();
    if (left <= 0) return undefined;
    this.#validUntil = at + left;
    return this.#validUntil;
  }

  /** The release begins: from here on the holder does not use the lock. */
  end(): void {
    this.look();
    this.#releasedAt = now();
  }

  /** The interval of one of its keys, as known now. */
  holdOf(key: string): Hold {
    return {
      id: `${this.#name}/${key}`,
      lock: this.#name,
      worker: this.#worker,
      token: tokenOf(this.lock),
      key,
      grantedAt: this.#grantedAt,
      validUntil: this.#validUntil,
      stoodStill: this.#stoodStill,
      reserve: reserveOf(this.#ttl),
      ...(this.#share === undefined ? {} : { share: this.#share }),
      ...(this.#notifiedAt === undefined ? {} : { notifiedAt: this.#notifiedAt }),
      ...(this.#releasedAt === undefined ? {} : { releasedAt: this.#releasedAt }),
    };
  }
}
