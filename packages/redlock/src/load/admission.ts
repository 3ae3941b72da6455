import type { Latch } from "../time/cancellation.ts";
import { Fifo } from "../time/fifo.ts";
import type { LeaseClock } from "../time/lease-clock.ts";
import { maxTimerDelay, type Runtime, type Timer } from "../time/runtime.ts";
import { Paced } from "./paced.ts";

// The number of locks that may be requested at once, and whether any may be (PROTOCOL 12.10, 12.11): held leases have
// priority over new ones. Both are measured, not configured, since they depend on the machines:
//
// - *Concurrent rounds.* If there are more than the masters and this process can handle, each takes longer, until
//   none is answered within `nodeTimeout`. So the limit falls as soon as a round takes more than half of the time
//   that the network leaves of it, and rises again while none does; it never exceeds `acquireConcurrency`.
// - *Late extensions.* An extension is due when a third of the ttl has passed. One that a quorum confirms much later
//   shows that this process holds about as many leases as it can extend. Until extensions are in time again, new
//   locks wait for as long as their settings allow; then they are refused.

/** The minimum of concurrent rounds: so few do not wait for each other. */
const minRounds = 8;
/** The initial limit: enough to keep fast masters busy. */
const initialRounds = 64;
/** The growth of the limit for each round in time; until the first late one it doubles with each round trip. */
const initialGrowth = 1;
const growth = 1 / 4;

/** An extension is late if it is confirmed this part of the ttl after it was due, and after a round trip. */
const latenessFraction = 1 / 20;
/** The minimum of that, ms, for short ttls. */
const minLateness = 10;
/**
 * The number of callers that are refused in one turn of the event loop: each takes some 30 us, and extensions have
 * priority.
 */
const maxRefusedPerTurn = 32;
/** If fewer extensions are due or in flight, their number is not what makes them late: it is a short disturbance. */
const fewExtensions = 128;
/** The pause after a late extension, as a part of its ttl: by its end each lease has been extended. */
const recoveryFraction = 1 / 3;
/**
 * The leases allowed after that pause beyond those held, as a part of these: newly granted leases show their load
 * only when they are extended. Doubles for each period without a late extension, until there is no cap.
 */
const initialSurplus = 1 / 8;

/** An extension in flight. */
export interface Extension {
  /** The time at which it was to begin, in lease time. */
  readonly due: number;
  readonly ttl: number;
}

/** How late extensions are, ms. */
export interface Lateness {
  readonly by: number;
  /** The delay that does not count as late. */
  readonly allowed: number;
}

/** The time budget of a waiting caller. */
export interface Waits {
  /** Cancelled when the caller stops waiting. */
  readonly ended: Latch;
  /** Set if the caller was held back: how late extensions were. */
  lateness: Lateness | undefined;
  /** Extensions are late: a caller that never retries stops waiting now. */
  holdBack(): void;
}

/** A caller that waits for admission. */
interface Waiting {
  readonly budget: Waits;
  readonly resolve: (isAdmitted: boolean) => void;
  forget: () => void;
}

/** The pace that late extensions leave; all times in lease time, ms. `period`: the time in which each lease is extended once. */
type Pace =
  | { readonly is: "free" }
  /** No round begins before `until`. */
  | { readonly is: "late"; readonly late: Lateness; readonly until: number; readonly period: number }
  /** At most `most` leases until then; `surplus`: how many more than were held, as a part of these. */
  | {
      readonly is: "capped";
      readonly late: Lateness;
      readonly until: number;
      readonly period: number;
      readonly most: number;
      readonly surplus: number;
    };

/** Admits vote rounds, in the order of the calls. */
export class Admission {
  readonly #runtime: Runtime;
  readonly #clock: LeaseClock;
  readonly #timers: { readonly waiting: number };
  readonly #leases: Pick<ReadonlySet<unknown>, "size">;
  /** `acquireConcurrency`. */
  readonly #most: number;
  /** The rounds that may be in flight now. */
  #limit: number;
  #active = 0;
  /** In the order of the calls. */
  readonly #waiting = new Fifo<Waiting>();
  readonly #refusals: Paced;
  /** When masters have last decided a round, or answered one after its time, by the monotonic clock. */
  answeredAt: number = Number.NEGATIVE_INFINITY;
  /** The shortest recent round, ms: the time that the network takes. */
  #roundTrip = Number.POSITIVE_INFINITY;
  /** The earliest time of the next cut, in lease time: rounds that began before the first cut carry no news. */
  #nextCut = 0;
  /** The extensions in flight, by due time as far as timers keep the order. */
  readonly #extensions = new Set<Extension>();
  #pace: Pace = { is: "free" };
  /**
   * Looks again when the pause or the cap is over. Set exactly while a caller is held back because extensions
   * are late, and not because too many rounds run.
   */
  #timer: Timer | undefined;

  constructor(
    runtime: Runtime,
    clock: LeaseClock,
    timers: { readonly waiting: number },
    leases: Pick<ReadonlySet<unknown>, "size">,
    acquireConcurrency: number,
  ) {
    this.#runtime = runtime;
    this.#clock = clock;
    this.#timers = timers;
    this.#leases = leases;
    this.#refusals = new Paced(maxRefusedPerTurn, runtime);
    this.#most = acquireConcurrency;
    this.#limit = Math.min(initialRounds, acquireConcurrency);
  }

  /** Admits a vote round, if the next caller may have one. */
  enter(): boolean {
    if (this.#active + 1 > this.#limit || this.#waiting.length > 0 || this.#isBehind()) return false;
    this.#active += 1;
    return true;
  }

  /** Waits for admission; resolves to false if the caller's budget ends first. */
  wait(budget: Waits): Promise<boolean> {
    return new Promise((resolve) => {
      const waiting: Waiting = { budget, resolve, forget: () => {} };
      this.#waiting.push(waiting);
      waiting.forget = budget.ended.onEnd(() => this.#giveUp(waiting));
      if (this.#timer) this.#holdBack(budget);
      this.#admitNext();
    });
  }

  /** A round that was admitted is over. */
  leave(): void {
    this.#active -= 1;
    if (this.#waiting.length > 0) this.#admitNext();
  }

  /** Records the duration of a round that masters have decided, ms. */
  recordRound(elapsed: number, nodeTimeout: number): void {
    this.answeredAt = this.#runtime.monotonic();
    if (elapsed < this.#roundTrip) this.#roundTrip = elapsed;
    // A few rounds do not delay each other: the network has become slower.
    else if (this.#limit <= minRounds) this.#roundTrip += (elapsed - this.#roundTrip) / minRounds;
    const spare = Math.max(0, nodeTimeout - this.#roundTrip);
    if (elapsed > this.#roundTrip + spare / 2) this.#cut(elapsed);
    else this.#limit = Math.min(this.#limit + (this.#nextCut === 0 ? initialGrowth : growth), this.#most);
  }

  /** Records that a master answered after the round's timeout: it is not unresponsive, it is overloaded. */
  recordLateAnswer(nodeTimeout: number): void {
    this.answeredAt = this.#runtime.monotonic();
    this.#cut(nodeTimeout);
  }

  extensionBegan(extension: Extension): void {
    this.#extensions.add(extension);
  }

  /** `isConfirmed`: by a quorum; otherwise masters have failed, which says nothing about the load. */
  extensionEnded(extension: Extension, isConfirmed: boolean): void {
    if (isConfirmed && this.#areMany) this.#look(extension, this.#clock.now());
    this.#extensions.delete(extension);
    this.#admitNext();
  }

  /** The rounds that may be in flight at once, now. */
  get limit(): number {
    return Math.floor(this.#limit);
  }

  get #areMany(): boolean {
    return this.#extensions.size + this.#timers.waiting >= fewExtensions;
  }

  /** Whether extensions are late: confirmed ones, or the oldest unconfirmed one; or were recently. */
  #isBehind(): boolean {
    const areMany = this.#areMany;
    if (!areMany && this.#pace.is === "free") return false;
    const now = this.#clock.now();
    const [oldest] = this.#extensions as Iterable<Extension | undefined>;
    if (areMany && oldest) this.#look(oldest, now);
    const pace = this.#pace;
    if (pace.is === "free") return false;
    if (now >= pace.until) this.#pace = this.#paceAfter(pace, now);
    else if (pace.is === "late") return true;
    return this.#pace.is === "capped" && this.#leases.size + this.#active >= this.#pace.most;
  }

  #paceAfter(before: Exclude<Pace, { readonly is: "free" }>, now: number): Pace {
    const surplus = before.is === "late" ? initialSurplus : before.surplus * 2;
    if (surplus > 1) return { is: "free" };
    const most = this.#leases.size * (1 + surplus) + fewExtensions;
    return { ...before, is: "capped", until: now + before.period, most, surplus };
  }

  #look({ due, ttl }: Extension, now: number): void {
    const roundTrip = Number.isFinite(this.#roundTrip) ? this.#roundTrip : 0;
    const allowed = roundTrip + Math.max(ttl * latenessFraction, minLateness);
    const by = now - due;
    if (by <= allowed) return;
    const period = ttl * recoveryFraction;
    this.#pace = { is: "late", late: { by, allowed }, until: now + period, period };
  }

  #cut(elapsed: number): void {
    const now = this.#clock.now();
    if (now < this.#nextCut) return;
    this.#nextCut = now + elapsed;
    this.#limit = Math.max(this.#limit / 2, Math.min(minRounds, this.#most));
  }

  #admitNext(): void {
    while (this.#waiting.length > 0 && this.#active + 1 <= this.#limit) {
      if (this.#isBehind()) {
        if (!this.#timer) this.#hold();
        return;
      }
      this.#admit(this.#waiting.shift()!);
    }
    // Nobody waits, or a round that ends goes on with the next caller.
    this.#stopLooking();
  }

  #admit(waiting: Waiting): void {
    waiting.forget();
    waiting.budget.lateness = undefined;
    this.#active += 1;
    waiting.resolve(true);
  }

  #giveUp(waiting: Waiting): void {
    this.#waiting.remove(waiting);
    if (this.#waiting.length === 0) this.#stopLooking();
    this.#refusals.call(() => waiting.resolve(false));
  }

  /** Stops admitting callers until the timer. Extensions that end admit the next caller as well. */
  #hold(): void {
    for (const { budget } of this.#waiting) this.#holdBack(budget);
    if (this.#waiting.length === 0 || this.#pace.is === "free") return;
    // Still to come, see `#isBehind`: so each timer ends the pause or doubles the cap, or extensions are late again.
    const delay = Math.max(1, Math.ceil(this.#pace.until - this.#clock.now()));
    this.#timer = this.#runtime.setTimer(
      () => {
        this.#timer = undefined;
        this.#admitNext();
      },
      Math.min(delay, maxTimerDelay),
    );
  }

  #holdBack(budget: Waits): void {
    if (this.#pace.is !== "free") budget.lateness = this.#pace.late;
    budget.holdBack();
  }

  #stopLooking(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
