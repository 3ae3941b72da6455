import { tokenOf } from "../run/subject.ts";
import { Checker, type RunEvent } from "./checker.ts";
import type { LockInterval } from "./lock-interval.ts";
import { waiterOf } from "./token-owners.ts";

/** A time in which a master did not have the key of a hold; true time, us. */
interface Absence {
  readonly master: number;
  readonly from: number;
  /** Whether it had never had the key: a vote or a grant that comes later ends that, unnoticed (PROTOCOL 4.7). */
  readonly isFirst: boolean;
  until: number;
}

/** An extension, or one of its attempts, and the masters that confirmed it. */
interface Confirmation {
  readonly begun: number;
  readonly ended: number;
  readonly masters: ReadonlySet<number>;
}

interface Held {
  readonly interval: LockInterval;
  readonly absences: Absence[];
  readonly confirmations: Confirmation[];
}

/**
 * The keys that masters have forgotten (PROTOCOL 4.7), by their names and by which of them confirmed an extension.
 *
 * `unheard`: a quorum had no key at one time, each of them has confirmed an extension that began later, and still the holder
 * was not told. `needless`: a hold was lost by a majority, though no quorum can have been without the key at one time, as far
 * as the holder knows.
 */
export class ForgottenKeys extends Checker {
  readonly #held = new Set<Held>();

  see(event: RunEvent): void {
    if (event.is === "held") this.#began(event.interval);
    else if (event.is === "extended")
      for (const attempt of event.attempts)
        void attempt.then(({ votesFor }) =>
          this.#confirmed(event.interval, event.begun, votesFor, event.isHeld),
        );
    else if (event.is === "told") this.#told(event.interval);
    else if (event.is === "wrote" || event.is === "harmed") this.#changed();
  }

  get #now(): number {
    return this.run.kernel.now;
  }

  #began(interval: LockInterval): void {
    const held: Held = { interval, absences: [], confirmations: [] };
    this.#held.add(held);
    this.#lookAt(held, true);
  }

  /** Keys of a master have changed. */
  #changed(): void {
    for (const held of this.#held)
      if (held.interval.isOver) this.#held.delete(held);
      else this.#lookAt(held);
  }

  /**
   * In a turn of the holder, whose hold is lost. (Of an even number of masters half end it where others have their votes: then no
   * quorum keeps it, PROTOCOL 4.3.)
   */
  #told(interval: LockInterval): void {
    const held = this.#of(interval);
    if (!held || interval.lock.signal?.reason?.reason !== "MAJORITY") return;
    this.#lookAt(held);
    const known = held.absences.map((absence) => this.#known(held, absence));
    if (this.#mostAtOnce(known) < Math.ceil(this.#count(interval) / 2)) {
      const text = `${interval.process.name} lost hold ${interval.number}, though no majority had forgotten it at one time`;
      this.violated("needless", text);
    }
  }

  #confirmed(interval: LockInterval, begun: number, votesFor: ReadonlySet<unknown>, isHeld: boolean): void {
    const connections = this.run.linksOf(interval.process).map(({ commands }) => commands.connection);
    const masters = connections.flatMap(({ client }, index) => (votesFor.has(client) ? [index] : []));
    this.#of(interval)?.confirmations.push({ begun, ended: this.#now, masters: new Set(masters) });
    if (isHeld) this.#judge(interval);
  }

  #judge(interval: LockInterval): void {
    const held = this.#of(interval);
    if (!held || interval.isOver || interval.lock.remaining() === 0) return;
    const heard = held.absences.filter(
      ({ master, from, isFirst }) =>
        !isFirst && held.confirmations.some(({ begun, masters }) => begun > from && masters.has(master)),
    );
    if (this.#mostAtOnce(heard) <= this.#count(interval) / 2) return;
    const text = `${interval.process.name} was not told that a majority had forgotten hold ${interval.number} at one time`;
    this.violated("unheard", text);
  }

  /** From the last confirmation before it to the first one after it: no more is known to the holder. */
  #known({ interval, confirmations }: Held, absence: Absence): Absence {
    const { master, from, until } = absence;
    const its = confirmations.filter(({ masters }) => masters.has(master));
    const before = its.filter(({ ended }) => ended < from).map(({ begun }) => begun);
    const after = its.filter(({ begun }) => begun > until).map(({ ended }) => ended);
    return {
      ...absence,
      from: Math.max(interval.beganAt, ...before),
      until: Math.min(Number.POSITIVE_INFINITY, ...after),
    };
  }

  #count({ process }: LockInterval): number {
    return this.run.mastersOf(process).length;
  }

  /** How many masters were without the key at one time. */
  #mostAtOnce(absences: readonly Absence[]): number {
    const counts = absences.map(({ from }) => {
      const at = absences.filter((absence) => absence.from <= from && from <= absence.until);
      return new Set(at.map(({ master }) => master)).size;
    });
    return Math.max(0, ...counts);
  }

  #of(interval: LockInterval): Held | undefined {
    return [...this.#held].find((held) => held.interval === interval);
  }

  #lookAt({ interval, absences }: Held, isFirst = false): void {
    const { lock, process } = interval;
    const own = waiterOf(tokenOf(lock));
    for (const [index, master] of this.run.mastersOf(process).entries()) {
      const value = master.peek(lock.resources[0]!)?.value;
      const isThere = typeof value === "string" && waiterOf(value) === own;
      const open = absences.find(
        (absence) => absence.master === index && absence.until === Number.POSITIVE_INFINITY,
      );
      if (isThere && open) open.until = this.#now;
      else if (!isThere && !open)
        absences.push({ master: index, from: this.#now, isFirst, until: Number.POSITIVE_INFINITY });
    }
  }
}
