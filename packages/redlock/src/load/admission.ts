import type { Cancellation } from "../time/cancellation.ts";
import { Fifo } from "../time/fifo.ts";
import type { LeaseClock } from "../time/lease-clock.ts";
import type { Runtime } from "../time/runtime.ts";
import type { Timers } from "../time/timers.ts";
import { Paced } from "./paced.ts";

// How many locks may be asked for at once, and whether any may be (PROTOCOL 14.16): a lease that is held goes before one
// that is not. Both are measured, never configured, since they depend on the machines:
//
// - *Rounds at a time.* More of them than masters and this process can work off make each take longer, until none is
//   answered within `nodeTimeout`. So there are fewer as soon as a round takes more than half of the time that the
//   network leaves of it, and more again while they do not; never more than `acquireConcurrency`.
// - *Whether extensions keep up.* An extension is due when a third of the ttl has passed. One that a quorum confirms much
//   later shows that this process holds about as many leases as it can extend. Until extensions are in time again, new
//   locks wait, as long as their settings let them wait; then they are refused.

/** With so few rounds at a time none of them stands in line. */
const leastRounds = 8;
/** At the beginning: what fast masters are kept busy by. */
const firstRounds = 64;
/** More for each round in time: until one is late, twice as many after each round trip. */
const firstGrowth = 1;
const growth = 1 / 4;

/** An extension is late when it is confirmed this part of the ttl after it was due, and after a round trip. */
const latenessFraction = 1 / 20;
/** Or this much, ms, where the ttl is short. */
const leastLateness = 10;
/** Callers that are refused in one turn of the event loop: each takes some 30 us, and extensions go first. */
const mostRefusedInTurn = 32;
/** With fewer of them due or under way it is not their number that makes them late, but something else, for a moment. */
const fewExtensions = 128;
/** So long after a late one, as a part of its ttl, nothing new is asked for: each lease has been extended by then. */
const recoveryFraction = 1 / 3;
/**
 * After that no more leases than so many more, as a part of those held: those that have just been granted tell by their
 * extensions only after as long again. Twice as many for each time that none was late, until it is all of them.
 */
const firstSurplus = 1 / 8;

/** An extension under way. */
export interface Extension {
  /** When it was to begin, in lease time. */
  readonly due: number;
  readonly ttl: number;
}

/** How late extensions are, ms. */
export interface Lateness {
  readonly by: number;
  /** What does not count yet. */
  readonly allowed: number;
}

/** How long a caller waits for its turn. */
export interface Waits {
  /** Cancelled when it waits no longer. */
  readonly ended: Cancellation;
  /** Set where it was held back: how late extensions were. */
  lateness: Lateness | undefined;
  /** From now on the retries that are left count as the time that they would take. */
  waitForTurn(): void;
}

/** What waits for its turn to vote. */
interface Waiting {
  readonly budget: Waits;
  readonly resolve: (isAdmitted: boolean) => void;
  forget: () => void;
  isOver: boolean;
  /** Whether it was ever held back because extensions were late. */
  wasHeld: boolean;
}

/** Lets rounds of votes begin, in the order of the calls. */
export class Admission {
  readonly #runtime: Runtime;
  readonly #clock: LeaseClock;
  readonly #timers: Pick<Timers, "waiting">;
  readonly #leases: Pick<ReadonlySet<unknown>, "size">;
  /** `acquireConcurrency`. */
  readonly #most: number;
  /** Rounds that may be under way now. */
  #limit: number;
  #growth = firstGrowth;
  #active = 0;
  #line = new Fifo<Waiting>();
  readonly #refusals: Paced;
  /** Of those in line. */
  #over = 0;
  /** The shortest round lately, ms: what the network takes. */
  #roundTrip = Number.POSITIVE_INFINITY;
  /** No second cut before, in lease time: what was begun before the first one says nothing new. */
  #nextCut = 0;
  /** In the order in which they were due, as far as timers keep it. */
  readonly #extensions = new Set<Extension>();
  /** Of the latest extension that was late. */
  #late: Lateness | undefined;
  #isLate = false;
  /** How long that counts, in lease time. */
  #lateUntil = Number.NEGATIVE_INFINITY;
  /** Leases that may be held now, and until when no more; after extensions were late. */
  #cap = Number.POSITIVE_INFINITY;
  #capUntil = 0;
  #surplus = firstSurplus;
  /** The time in which each lease is extended, ms. */
  #period = 0;
  /** Whether those in line are held back, and not only for want of places. */
  #isHolding = false;

  constructor(
    runtime: Runtime,
    clock: LeaseClock,
    timers: Pick<Timers, "waiting">,
    leases: Pick<ReadonlySet<unknown>, "size">,
    acquireConcurrency: number,
  ) {
    this.#runtime = runtime;
    this.#clock = clock;
    this.#timers = timers;
    this.#leases = leases;
    this.#refusals = new Paced(mostRefusedInTurn, runtime);
    this.#most = acquireConcurrency;
    this.#limit = Math.min(firstRounds, acquireConcurrency);
  }

  /** Takes a place for a round of votes, if there is one for the next caller. */
  enter(): boolean {
    if (this.#active + 1 > this.#limit || this.#line.length > this.#over || this.#isBehind()) return false;
    this.#active += 1;
    return true;
  }

  /** The same as soon as there is one; false when the caller's budget has ended. */
  wait(budget: Waits): Promise<boolean> {
    return new Promise((resolve) => {
      const waiting: Waiting = { budget, resolve, forget: () => {}, isOver: false, wasHeld: false };
      this.#line.push(waiting);
      waiting.forget = budget.ended.onCancel(() => this.#giveUp(waiting));
      if (this.#isHolding) holdBack(waiting);
      this.#goOn();
    });
  }

  /** A round is over, and its place is free. */
  leave(): void {
    this.#active -= 1;
    if (this.#line.length > 0) this.#goOn();
  }

  /** So long has a round taken that masters have decided, ms. */
  took(elapsed: number, nodeTimeout: number): void {
    if (elapsed < this.#roundTrip) this.#roundTrip = elapsed;
    // Few rounds do not hold each other up: it is the network that has changed.
    else if (this.#limit <= leastRounds) this.#roundTrip += (elapsed - this.#roundTrip) / leastRounds;
    const spare = Math.max(0, nodeTimeout - this.#roundTrip);
    if (elapsed > this.#roundTrip + spare / 2) this.#cut(elapsed);
    else this.#limit = Math.min(this.#limit + this.#growth, this.#most);
  }

  /** A master has answered after the round's time: it is not silent, it has too much to answer. */
  cameLate(nodeTimeout: number): void {
    this.#cut(nodeTimeout);
  }

  began(extension: Extension): void {
    this.#extensions.add(extension);
  }

  /** `isConfirmed`: by a quorum; else masters have failed, which says nothing about the load. */
  ended(extension: Extension, isConfirmed: boolean): void {
    const areMany = this.#extensions.size + this.#timers.waiting >= fewExtensions;
    if (isConfirmed && areMany) this.#look(extension, this.#clock.now());
    this.#extensions.delete(extension);
    this.#goOn();
  }

  /** Rounds that may be under way at once, now. */
  get limit(): number {
    return Math.floor(this.#limit);
  }

  /** Whether extensions do not keep up: those that have been confirmed, or the oldest that has not; or did not lately. */
  #isBehind(): boolean {
    const areMany = this.#extensions.size + this.#timers.waiting >= fewExtensions;
    if (!areMany && !this.#isLate && this.#cap === Number.POSITIVE_INFINITY) return false;
    const now = this.#clock.now();
    const [oldest] = this.#extensions as Iterable<Extension | undefined>;
    if (areMany && oldest) this.#look(oldest, now);
    if (this.#isLate && now < this.#lateUntil) return true;
    if (this.#isLate) this.#raiseCap(firstSurplus, now);
    else if (now >= this.#capUntil) this.#raiseCap(this.#surplus * 2, now);
    this.#isLate = false;
    return this.#leases.size + this.#active >= this.#cap;
  }

  #raiseCap(surplus: number, now: number): void {
    this.#surplus = surplus;
    this.#cap = surplus > 1 ? Number.POSITIVE_INFINITY : this.#leases.size * (1 + surplus) + fewExtensions;
    this.#capUntil = now + this.#period;
  }

  #look({ due, ttl }: Extension, now: number): void {
    const roundTrip = Number.isFinite(this.#roundTrip) ? this.#roundTrip : 0;
    const allowed = roundTrip + Math.max(ttl * latenessFraction, leastLateness);
    const by = now - due;
    if (by <= allowed) return;
    this.#isLate = true;
    this.#late = { by, allowed };
    this.#period = ttl * recoveryFraction;
    this.#lateUntil = now + this.#period;
  }

  #cut(elapsed: number): void {
    const now = this.#clock.now();
    if (now < this.#nextCut) return;
    this.#nextCut = now + elapsed;
    this.#growth = growth;
    this.#limit = Math.max(this.#limit / 2, Math.min(leastRounds, this.#most));
  }

  #goOn(): void {
    while (this.#line.length > this.#over && this.#active + 1 <= this.#limit) {
      if (this.#isBehind()) {
        if (!this.#isHolding) this.#hold();
        return;
      }
      this.#isHolding = false;
      const waiting = this.#line.shift()!;
      if (waiting.isOver) this.#over -= 1;
      else this.#admit(waiting);
    }
  }

  #admit(waiting: Waiting): void {
    waiting.isOver = true;
    waiting.forget();
    this.#active += 1;
    waiting.resolve(true);
  }

  #giveUp(waiting: Waiting): void {
    if (waiting.isOver) return;
    waiting.isOver = true;
    this.#over += 1;
    if (waiting.wasHeld) waiting.budget.lateness = this.#late;
    this.#refusals.call(() => waiting.resolve(false));
    // Tens of thousands may come and go while nobody is let in.
    if (this.#over * 2 <= this.#line.length) return;
    this.#line = this.#line.filter(({ isOver }) => !isOver);
    this.#over = 0;
  }

  /** Nobody is let in now. */
  #hold(): void {
    this.#isHolding = true;
    for (const waiting of this.#line) if (!waiting.isOver) holdBack(waiting);
    this.#lookLater();
  }

  /** Extensions that end let the next one in as well; but there may be none. */
  #lookLater(): void {
    const until = this.#isLate ? this.#lateUntil : this.#capUntil;
    const delay = Math.max(1, Math.ceil(until - this.#clock.now()));
    this.#runtime.setTimer(() => {
      this.#goOn();
      if (this.#isHolding) this.#lookLater();
    }, delay);
  }
}

/** That may last as long as the leases are held: its retries count as the time that they would take. */
function holdBack(waiting: Waiting): void {
  waiting.wasHeld = true;
  waiting.budget.waitForTurn();
}
