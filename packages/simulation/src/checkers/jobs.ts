import { DefaultMap } from "../default-map.ts";
import type { SubjectJob } from "../run/subject.ts";
import { Checker, type RunEvent } from "./checker.ts";
import type { LockInterval } from "./lock-interval.ts";

/** A job that runs once, in one client. */
interface Run {
  readonly interval: LockInterval;
  readonly job: SubjectJob;
  /** When its turn began in which it was given the lock: not after the time from which the client counts; true time, us. */
  readonly earliest: number;
  /** Time was left of its lock when it began. (Its turn may have been stalled between the two.) */
  readonly hadTime: boolean;
  /** Its client has been told that it has run, and that nobody else will. */
  isKept: boolean;
}

/** Redis counts whole milliseconds, and so does a client that may read them, ms. */
const grain = 2;

/**
 * A job that its client was told to have run is run by nobody else for `keepFor` after its grant, net of drift, whatever becomes of
 * that client; and its key is asked to live for that time and no longer (PROTOCOL 10.9).
 */
export class Jobs extends Checker {
  readonly #runs = new DefaultMap<string, Run[]>(() => []);

  see(event: RunEvent): void {
    if (event.is === "held" && event.wait) this.#began(event.interval, event.wait.ttl);
  }

  #began(interval: LockInterval, ttl: number): void {
    const { lock, process } = interval;
    const { job } = lock;
    if (!job) return;
    const [resource] = lock.resources as readonly [string];
    const runs = this.#runs.get(resource);
    const hadTime = lock.remaining() > 0;
    const run: Run = { interval, job, earliest: this.run.kernel.now, hadTime, isKept: false };
    for (const earlier of runs) this.#judge(earlier, run);
    runs.push(run);
    const begun = process.clocks.monotonicAt(process.now);
    this.#judgeTime(run, begun - job.calledAt, ttl);
    job.onWorked = () => {
      const took = process.clocks.monotonicAt(process.now) - begun;
      this.run.see({ is: "asked for", lock, ttl: Math.max(ttl, Math.ceil(job.keepFor - took) + 1) });
    };
    job.onKept = () => {
      run.isKept = true;
      this.reached("kept");
      for (const other of runs) {
        if (other === run) continue;
        if (other.interval.beganAt > interval.beganAt) this.#judge(run, other);
        else this.#judge(other, run);
      }
    };
  }

  /**
   * Whoever had the job at the time of a call may be through with it after `keepFor`. (The process may have stood still since the
   * grant, while its lease lasted.)
   */
  #judgeTime({ interval, job: { keepFor } }: Run, waited: number, ttl: number): void {
    if (waited < keepFor + ttl) return;
    const [resource] = interval.lock.resources;
    this.violated(
      "twice",
      `${interval.process.name} runs "${resource}" ${waited} ms after its call, which is more than the ${keepFor} ms that it is kept`,
    );
  }

  /** A run whose lock was lost before is no rival, unless its client is told that it is kept. */
  #judge(first: Run, second: Run): void {
    if (!first.isKept || !(second.hadTime || second.isKept)) return;
    const keptUntil =
      first.earliest + 1000 * (first.job.keepFor * (1 - this.run.plan.settings.driftFactor) - grain);
    const began = second.interval.beganAt;
    if (began >= keptUntil) {
      this.reached("run again later");
      return;
    }
    const [resource] = first.interval.lock.resources;
    this.violated(
      "twice",
      `${second.interval.process.name} ran "${resource}" at ${began / 1000} ms, which ${first.interval.process.name} ` +
        `had run: it was kept until ${keptUntil / 1000} ms`,
    );
  }
}
