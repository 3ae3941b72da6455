import type { Process } from "../engine/process.ts";
import { Checker, type Judged, type RunEvent } from "./checker.ts";

/** The terms of a plan about the time within which a process must have been granted its first lock. */
export interface FirstGrantTerms {
  /** A process that no fault disturbs for this time, ms, has a lock. */
  readonly patience: number;
  /** Why none can be granted. */
  readonly obstacle: string | undefined;
  /** Why none has to be granted, however long a process lives. */
  readonly excuse: string | undefined;
  /** When each process begins to use locks, ms of true time. */
  readonly startsAt: readonly number[];
  /** When those that live make no further call, ms of true time. */
  readonly endsAt: number;
}

interface Disturbance {
  /** True time, us. */
  readonly from: number;
  readonly until: number;
}

/**
 * Judges a run in which no lock was granted. Either no process was at work undisturbed for as long as the first lock may take: then
 * none was owed one. Or one of them was: if every process was killed, the client has failed to get a lock that was free.
 */
export class FirstGrant extends Checker {
  readonly #terms: FirstGrantTerms;
  readonly #disturbances: Disturbance[] = [];
  readonly #ends = new Map<Process, number>();

  constructor(run: Judged, terms: FirstGrantTerms) {
    super(run);
    this.#terms = terms;
  }

  see(event: RunEvent): void {
    const { now } = this.run.kernel;
    if (event.is === "fault") this.#disturbances.push({ from: now, until: now + 1000 * event.lasting });
    if (event.is === "killed" && !this.#ends.has(event.client)) this.#ends.set(event.client, now);
  }

  /** Of a run without any grant. Nothing is returned if a process lives, and one was at work for long enough. */
  judge(processes: readonly Process[]): { readonly isOwed: boolean; readonly reason: string } | undefined {
    const { patience, obstacle, excuse, startsAt, endsAt } = this.#terms;
    if (obstacle !== undefined) return { isOwed: false, reason: obstacle };
    const lives = processes.map((process, index) => ({
      name: process.name,
      isKilled: this.#ends.has(process),
      left: this.#longestQuiet(1000 * startsAt[index]!, this.#ends.get(process) ?? 1000 * endsAt) / 1000,
    }));
    const { name, left, isKilled } = lives.reduce((a, b) => (b.left > a.left ? b : a));
    const end = isKilled ? "it was killed" : "its calls ended";
    const text = `${name} was undisturbed for ${left.toFixed(1)} ms before ${end}, no other for longer`;
    if (left <= patience)
      return { isOwed: false, reason: `${text}; a lock may take ${patience.toFixed(1)} ms` };
    if (lives.some((life) => !life.isKilled)) return undefined;
    return excuse === undefined
      ? { isOwed: true, reason: `${text}, and no lock was granted` }
      : { isOwed: false, reason: excuse };
  }

  /** The longest time between `from` and `until` in which no fault began or lasted, us. */
  #longestQuiet(from: number, until: number): number {
    let longest = 0;
    let since = from;
    for (const disturbance of this.#disturbances.toSorted((a, b) => a.from - b.from)) {
      longest = Math.max(longest, Math.min(disturbance.from, until) - since);
      since = Math.max(since, disturbance.until);
    }
    return Math.max(longest, until - since);
  }
}
