import { DefaultMap } from "../default-map.ts";
import type { Process } from "../engine/process.ts";
import { deadlinesOf, type SubjectLock, tokenOf } from "../run/subject.ts";
import { Checker, type Judged, type RunEvent } from "./checker.ts";
import type { LockInterval } from "./lock-interval.ts";

/** The rounding error of wall clocks that show whole milliseconds, in either reading; the client tolerates it. */
const wallGrain = 2;
/** Upper bound on the floating point error, ms. */
const rounding = 0.000_001;
/** The notice of a lock that is no shorter than twenty times that, ms. */
const longestNotice = 10;
/** How often the signal of a hold that should be over is looked at again while its process is not awake, us. */
const tellingPatience = 100_000;

/**
 * The times at which holders observe that they hold, in true time. A holder does so as long as `remaining()` would be
 * above zero *if it were called now*, on its clocks as they are now. A call would have effects (it may end
 * the lock and call listeners), so the result is computed: from the last result of `remaining()`, and the progress of
 * the clocks since.
 *
 * The client may have renewed a lock since then without its code checking. So when the computed time is over and the
 * lock is not, the client itself is asked, in a separate turn.
 */
export class LockIntervals extends Checker {
  readonly #open = new Set<LockInterval>();
  /** The same by resource: with many clients most have nothing to do with each other. */
  readonly #openFor = new DefaultMap<string, Set<LockInterval>>(() => new Set());
  /** The time for which clients leave a master out whose clock has stepped, ms; 0: they count it. */
  readonly #exclusion: number;
  #count = 0;

  constructor(run: Judged, exclusion: number) {
    super(run);
    this.#exclusion = exclusion;
  }

  /** A process that is dead believes nothing. */
  see(event: RunEvent): void {
    if (event.is !== "killed" && event.is !== "paused") return;
    const its = [...this.#open].filter(({ process }) => process === event.client);
    if (event.is === "killed") for (const interval of its) this.over(interval);
    else if (its.some((interval) => this.believes(interval))) this.reached("frozen holder");
  }

  /** In a turn of the holder: it has just been given `lock`. */
  begin(process: Process, lock: SubjectLock, askedAt: number): LockInterval {
    this.#count += 1;
    const interval: LockInterval = {
      number: this.#count,
      process,
      lock,
      askedAt,
      beganAt: process.now,
      fencingToken: (lock as { readonly fencingToken?: number }).fencingToken,
      monotonicEnd: 0,
      wallEnd: 0,
      notifyBy: 0,
      notice: 0,
      isOver: false,
      watch: undefined,
    };
    this.#open.add(interval);
    for (const resource of lock.resources) this.#openFor.get(resource).add(interval);
    process.record("begins", interval.number, tokenOf(lock), ...lock.resources);
    const left = this.look(interval);
    interval.notice = Math.min(longestNotice, left / 20);
    this.#markVotes(interval);
    if (left > 0) {
      this.#awaitNotice(interval);
      this.whenAwake(process, () => this.#compareWithAll(interval), interval.beganAt);
      this.#watch(interval);
    }
    return interval;
  }

  /** In a turn of the holder: the remaining time, as its code receives it. */
  look(interval: LockInterval): number {
    const left = interval.lock.remaining();
    const { clocks, now } = interval.process;
    if (left > 0) {
      interval.monotonicEnd = clocks.monotonicAt(now) + left;
      interval.wallEnd = clocks.wallAt(now) + left + wallGrain;
      interval.process.record(
        "believes",
        interval.number,
        inMicroseconds(interval.monotonicEnd),
        inMicroseconds(interval.wallEnd),
      );
      this.#measureMargin(interval, clocks.untilMonotonic(now, interval.monotonicEnd));
      this.#awaitNotice(interval);
    } else {
      interval.monotonicEnd = Number.NEGATIVE_INFINITY;
      interval.process.record("is over", interval.number);
    }
    return left;
  }

  /** The lock was released, its signal aborted, or its holder no longer checks it. */
  over(interval: LockInterval): void {
    interval.isOver = true;
    if (interval.watch !== undefined) this.run.kernel.engine.cancel(interval.watch);
    if (!this.#open.delete(interval)) return;
    for (const resource of interval.lock.resources) this.#openFor.get(resource).delete(interval);
    interval.process.record("gives up", interval.number);
    this.run.see({ is: "over", interval });
  }

  #compareWithAll(newcomer: LockInterval): void {
    if (newcomer.isOver) return;
    for (const resource of newcomer.lock.resources) {
      for (const rival of this.#openFor.get(resource))
        if (rival !== newcomer) this.#compare(newcomer, rival, resource);
    }
  }

  /** Whether its client would say so if it were asked now, as far as can be known without asking. */
  believes({ process, beganAt, monotonicEnd, wallEnd, isOver }: LockInterval): boolean {
    const { now, clocks } = process;
    if (isOver || process.isDead || now < beganAt) return false;
    return clocks.monotonicAt(now) < monotonicEnd && clocks.wallAt(now) < wallEnd;
  }

  #compare(newcomer: LockInterval, rival: LockInterval, shared: string): void {
    // Asleep, its monotonic clock stands still: it cannot be asked, and awake it will know.
    if (rival.process.isSuspended) return;
    if (this.believes(rival)) {
      this.#overlap(newcomer, rival, shared);
      return;
    }
    this.reached("rival waited for expiry");
    this.#askLater(rival, () => {
      if (newcomer.isOver || !this.believes(newcomer)) return;
      if (this.look(rival) > 0) this.#overlap(newcomer, rival, shared);
    });
  }

  #overlap(newcomer: LockInterval, rival: LockInterval, resource: string): void {
    this.violated(
      "belief",
      `${newcomer.process.name} was given "${resource}" (hold ${newcomer.number}) while ${rival.process.name} ` +
        `still believed in hold ${rival.number}, begun at ${rival.beganAt / 1000} ms`,
    );
  }

  /** Something is asked of the holder in a separate turn, unless it is frozen or gone by then. */
  #askLater({ process }: LockInterval, ask: () => void): void {
    this.run.kernel.engine.schedule(() => {
      if (!process.isFrozen && !process.isDead) process.deliver(ask);
    }, 1);
  }

  /** The signal aborts before another client can hold, whether the holder checks or not (PROTOCOL 1.11). */
  #watch(interval: LockInterval): void {
    const { process, lock } = interval;
    // Reading `signal` here creates it: without it there is no notification. Some libraries have none.
    if (!lock.signal) return;
    const grace = 2 + 20 * process.timerLateness;
    const wait = process.clocks.untilMonotonic(this.run.kernel.now, interval.notifyBy + grace);
    const delay = Number.isFinite(wait) ? Math.max(1, Math.ceil(wait)) : tellingPatience;
    interval.watch = this.run.kernel.engine.schedule(() => {
      if (interval.isOver || process.isDead) return;
      const awake = this.run.kernel.now - process.frozenUntil;
      // Its timer runs by the monotonic clock, which may have stood still or changed its rate meanwhile.
      const early = process.clocks.monotonicAt(this.run.kernel.now) < interval.notifyBy + grace;
      if (early || awake < tellingPatience) return this.#watchAgain(interval);
      process.deliver(() => {
        // (Not read from the signal itself: reading `aborted` checks the clocks, and aborts. A notified holder gives
        // up.)
        if (interval.isOver) return;
        // The same applies if its wall clock has jumped since it was extended: it may be notified as long as the keys
        // live. (Judged from the masters alone: a lock that is asked notifies itself.)
        const last = Math.max(...lock.resources.map((resource) => this.#freeIn(process, lock, resource)));
        if (last > 0 && Number.isFinite(last)) {
          interval.notifyBy = process.clocks.monotonicAt(this.run.kernel.now + last);
          this.#watch(interval);
        } else if (this.look(interval) > 0) this.#watch(interval);
        else this.violated("untold", `${process.name} was not told that hold ${interval.number} ran out`);
      });
    }, delay);
  }

  /** The signal aborts before its own deadline (PROTOCOL 1.11), unless votes were renewed since its code has looked. */
  #awaitNotice(interval: LockInterval): void {
    const { process, lock, monotonicEnd } = interval;
    const deadlines = deadlinesOf(lock);
    if (deadlines === undefined || !lock.signal) return;
    const grace = 2 + 20 * process.timerLateness;
    const { kernel } = this.run;
    // A look may be the first to show that its wall clock was set forward: nothing was known before.
    const due = Math.max(monotonicEnd - interval.notice, process.clocks.monotonicAt(process.now)) + grace;
    const wait = process.clocks.untilMonotonic(kernel.now, due);
    if (interval.notice <= grace + 1 || !Number.isFinite(wait)) return;
    kernel.engine.schedule(
      () => {
        if (interval.isOver || process.isDead || interval.monotonicEnd !== monotonicEnd) return;
        const monotonic = process.clocks.monotonicAt(kernel.now);
        const isAwake = kernel.now - process.frozenUntil >= tellingPatience;
        if (!isAwake || monotonic < due || monotonic >= monotonicEnd || deadlinesOf(lock) !== deadlines)
          return;
        const when = `${(monotonicEnd - monotonic).toFixed(1)} ms before its end`;
        this.violated("untold", `${process.name} was not told of hold ${interval.number} ${when}`);
      },
      Math.max(1, Math.ceil(wait)),
    );
  }

  #watchAgain(interval: LockInterval): void {
    interval.watch = this.run.kernel.engine.schedule(() => {
      if (!interval.isOver) this.#watch(interval);
    }, tellingPatience);
  }

  /**
   * The time at which others could win a quorum, by the present keys, minus the end of the validity, `wait` us from now.
   */
  #measureMargin(interval: LockInterval, wait: number): void {
    const { lock, process } = interval;
    const { now } = this.run.kernel;
    const { clocks } = process;
    for (const resource of lock.resources) {
      const others = this.#freeIn(process, lock, resource);
      const othersCan = Number.isFinite(others) ? clocks.monotonicAt(now + others) : interval.monotonicEnd;
      interval.notifyBy = Math.max(interval.notifyBy, othersCan);
      const margin = (others - wait - (process.now - now)) / 1000;
      this.run.findings.margin(margin);
      process.record("margin", interval.number, resource, inMicroseconds(margin));
      if (margin < -rounding) this.#tooLong(process, resource, margin);
    }
  }

  /** When others could win a quorum for it, as the keys are now, us from now. */
  #freeIn(process: Process, lock: SubjectLock, resource: string): number {
    const { now } = this.run.kernel;
    const { restartGuard } = this.run.plan.settings;
    const freeIn = this.run.mastersOf(process).map((master) => {
      if (!master.isUp) return Number.POSITIVE_INFINITY;
      const entry = master.peek(resource);
      const guarded = restartGuard ? master.votesFrom(restartGuard) : 0;
      const own = entry?.value === tokenOf(lock) ? (entry.expiresAt ?? 0) : 0;
      const kept = lock.keptUntil?.((key) => master.peek(key)) ?? own;
      // Gone when now exceeds the expiry, in whole milliseconds.
      const until = Math.max(kept, guarded);
      const free = until === 0 ? 0 : master.process.clocks.untilWall(now, until + 1);
      return Math.max(free, this.#exclusion === 0 ? 0 : master.steps.at + this.#exclusion * 1000 - now);
    });
    return freeIn.sort((a, b) => a - b)[quorumOf(freeIn) - 1] ?? 0;
  }

  #tooLong(process: Process, resource: string, margin: number): void {
    const text = `${process.name} holds "${resource}" for ${(-margin).toFixed(3)} ms longer than its keys keep others away`;
    this.violated("margin", text);
  }

  #markVotes({ process, lock }: LockInterval): void {
    const masters = this.run.mastersOf(process);
    const votes = masters.filter((master) => master.peek(lock.resources[0]!)?.value === tokenOf(lock));
    if (votes.length === quorumOf(masters) && masters.length > 1) this.reached("bare majority");
  }
}

function quorumOf({ length }: readonly unknown[]): number {
  return Math.floor(length / 2) + 1;
}

function inMicroseconds(ms: number): number {
  return Math.round(ms * 1000);
}
