import type { Calls } from "../checkers/calls.ts";
import type { ClockAlarms } from "../checkers/clock-alarms.ts";
import type { Effects } from "../checkers/effects.ts";
import type { Fencing } from "../checkers/fencing.ts";
import type { Findings, Mark } from "../checkers/findings.ts";
import type { LockInterval, LockIntervals } from "../checkers/lock-intervals.ts";
import type { Shares } from "../checkers/shares.ts";
import type { TokenOwners } from "../checkers/token-owners.ts";
import type { Waits } from "../checkers/waits.ts";
import type { Process } from "../engine/process.ts";
import {
  type LockSettings,
  resourcesOf,
  type Style,
  styles,
  type Task,
  type Workload,
  weightOf,
} from "../plan/plan.ts";
import type { Random } from "../random.ts";
import type { Bounds } from "./bounds.ts";
import type { Moments } from "./moments.ts";
import type { Parcel, Post, Receiver } from "./post.ts";
import { type SubjectClient, type SubjectLock, tokenOf } from "./subject.ts";

interface Checkers {
  readonly findings: Findings;
  readonly intervals: LockIntervals;
  readonly shares: Shares;
  readonly waits: Waits;
  readonly effects: Effects;
  readonly fencing: Fencing;
  readonly alarms: ClockAlarms;
  readonly calls: Calls;
  readonly owners: TokenOwners;
}

export interface WorkerOptions {
  readonly process: Process;
  readonly redlock: SubjectClient;
  /** Whether what it locks now is in another database than what the others lock. */
  readonly isElsewhere: () => boolean;
  /** Its calls are to settle within their own time-outs. */
  readonly isBounded: boolean;
  readonly bounds: Bounds;
  readonly random: Random;
  readonly settings: LockSettings;
  readonly workload: Workload;
  readonly checkers: Checkers;
  readonly moments: Moments;
  /** Takes locks to other clients. */
  readonly post: Post;
  /** When it begins to use locks, ms by the timers of its process. */
  readonly startsAt: number;
}

/** The number of checks and writes while it holds a lock. */
const defaultLooks = 4;

/** The work of one client process: takes locks, works under them, and releases them, in one style or another. */
export class Worker implements Receiver {
  readonly #options: WorkerOptions;
  readonly bounds: Bounds;
  #isStopping = false;
  #isDone = false;
  /** The number of detached locks of others that it resumes. */
  #resumed = 0;
  /** When the lock of this cycle was asked for, or a little earlier; true time, us. */
  #askedAt = 0;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.bounds = options.bounds;
  }

  get process(): Process {
    return this.#options.process;
  }

  get redlock(): SubjectClient {
    return this.#options.redlock;
  }

  /** ms */
  get longestTtl(): number {
    return this.#options.settings.restartGuard?.maxTtl ?? Number.POSITIVE_INFINITY;
  }

  /** Nothing of it is under way any more. */
  get isDone(): boolean {
    return (this.#isDone && this.#resumed === 0) || this.process.isDead;
  }

  /** Finishes the current work and starts nothing new. */
  stop(): void {
    this.#isStopping = true;
  }

  async work(): Promise<void> {
    const { redlock, post, startsAt } = this.#options;
    if (redlock.resume) post.add(this);
    if (startsAt > 0) await this.pause(startsAt);
    await this.performAll();
    this.#isDone = true;
  }

  /** Task after task, each drawn when its time has come, until it is stopped. */
  protected async performAll(): Promise<void> {
    const { random, workload } = this.#options;
    while (!this.#isStopping) {
      await this.pause(random.exponential(workload.think));
      if (this.#isStopping) break;
      const style = this.#pickStyle();
      await this.perform({ do: style, resource: random.integer(0, workload.resources - 1) });
    }
  }

  /** `ms` by the process's own timers. */
  pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.process.setTimer(resolve, Math.min(ms, 2_000_000)));
  }

  /** Awaits a call that must settle within `bound` ms; it may reject only with expected errors. */
  async call<T>(name: string, bound: number, promise: Promise<T>): Promise<T | undefined> {
    const { isBounded, checkers } = this.#options;
    const { calls, findings } = checkers;
    findings.operations += 1;
    try {
      return await calls.settles(this.process, name, isBounded ? bound : Number.POSITIVE_INFINITY, promise);
    } catch (error) {
      const code = codeOf(error);
      const mark = marksOfErrors.get(code);
      if (mark) findings.reached(mark);
      else if (code !== "CLOSED")
        findings.violated("error", `${this.process.name}: ${name}: ${String(error)}`);
      return undefined;
    }
  }

  /** One use of a lock, from asking for it to giving it up. */
  async perform(task: Task): Promise<void> {
    const { redlock, settings, random, workload } = this.#options;
    const all = resourcesOf(task, workload);
    const resource = all[0]!;
    this.#askedAt = this.process.now;
    this.#options.checkers.findings.attempts += 1;
    const { ttl } = settings;
    switch (task.do) {
      case "using":
        return this.#using(resource, task);
      case "try": {
        const trying = redlock.tryAcquire(resource, ttl);
        return this.#hold((await this.call("tryAcquire", this.bounds.tryAcquire, trying)) ?? undefined, task);
      }
      case "several":
        return this.#hold(await this.#waitFor(all, redlock.acquire(all, ttl)), task);
      case "pair":
        return this.#pair(all, task);
      case "detach":
        if (random.chance(0.3)) return this.#using(resource, task);
        return this.#hold(await this.#waitFor([resource], redlock.acquire(resource, ttl)), task);
      case "abort": {
        const controller = new AbortController();
        this.process.setTimer(() => controller.abort(), random.exponential(ttl / 4));
        const acquiring = redlock.acquire(resource, ttl, { signal: controller.signal });
        return this.#hold(await this.#waitFor([resource], acquiring), task);
      }
      default:
        return this.#hold(await this.#waitFor([resource], redlock.acquire(resource, ttl)), task);
    }
  }

  /** Two locks of different ttls, whose votes travel in one batch. */
  async #pair([first = "", second = ""]: readonly string[], task: Task): Promise<void> {
    const { redlock, settings } = this.#options;
    const acquiring = redlock.acquire(first, Math.ceil(settings.ttl / 2));
    const waiting = this.#waitFor([second], redlock.acquire(second, settings.ttl));
    const isShort = this.call("acquire", this.bounds.acquire, acquiring);
    await Promise.all([
      isShort.then((lock) => this.#hold(lock, task)),
      waiting.then((lock) => this.#hold(lock, task)),
    ]);
  }

  async #waitFor(
    resources: readonly string[],
    acquiring: Promise<SubjectLock>,
  ): Promise<SubjectLock | undefined> {
    const { waits } = this.#options.checkers;
    const wait = waits.begin(this.process, resources);
    const lock = await this.call("acquire", this.bounds.acquire, acquiring);
    waits.end(wait);
    return lock;
  }

  async #hold(lock: SubjectLock | undefined, task: Task): Promise<void> {
    if (!lock || (await this.#givesBackElsewhere(lock))) return;
    const interval = this.#begin(lock);
    this.#listenTo(lock.signal, interval);
    await this.#work(interval, task);
    if (task.do === "abandon") return this.#outlive(lock);
    if (task.do === "detach" && (await this.#giveAway(interval))) return;
    await this.#release(interval);
  }

  /** A lock in another database protects nothing of the plan's. */
  async #givesBackElsewhere(lock: SubjectLock): Promise<boolean> {
    if (!this.#options.isElsewhere()) return false;
    this.#options.checkers.findings.reached("locked elsewhere");
    await this.call("release", this.bounds.release, lock.release());
    return true;
  }

  async #release(interval: LockInterval): Promise<void> {
    const { intervals, findings } = this.#options.checkers;
    const { lock } = interval;
    intervals.end(interval);
    const releasing = lock.release();
    // PROTOCOL 5.3: over before the first byte of the release is sent, not when the masters have answered.
    if (lock.remaining() > 0) findings.violated("belief", `${this.process.name} holds what it has released`);
    const result = await this.call("release", this.bounds.release, releasing);
    if (result?.outcome === "expired") findings.reached("expired at release");
    if (result?.outcome === "partial") findings.reached("partial release");
  }

  /** Whether it has been given away: not where it cannot be, or has run out. */
  async #giveAway(interval: LockInterval): Promise<boolean> {
    const { redlock, settings, checkers, post } = this.#options;
    const { lock, askedAt } = interval;
    if (!lock.detach || !redlock.resume || lock.remaining() === 0) return false;
    checkers.intervals.end(interval);
    const detaching = lock.detach();
    // PROTOCOL 5.5: over at the call, as by a release.
    if (lock.remaining() > 0)
      checkers.findings.violated("belief", `${this.process.name} holds what it has given away`);
    const detached = await this.call("detach", this.bounds.release, detaching);
    if (detached === undefined) return true;
    checkers.findings.reached("detached");
    // It travels as text.
    post.send({ detached: JSON.parse(JSON.stringify(detached)), askedAt }, settings.ttl / 20);
    return true;
  }

  receive(parcel: Parcel): void {
    this.#resumed += 1;
    void this.#goOn(parcel).finally(() => {
      this.#resumed -= 1;
    });
  }

  /** Nothing remains of a lock that is resumed until its masters have extended it. */
  async #goOn({ detached, askedAt }: Parcel): Promise<void> {
    const { redlock, settings, checkers } = this.#options;
    const lock = redlock.resume!(detached);
    checkers.owners.giveTo(this.process, tokenOf(lock));
    if (lock.remaining() > 0)
      checkers.findings.violated("belief", `${this.process.name} holds what it has only been told of`);
    const extended = await this.call("extend", this.bounds.extend, lock.extend(settings.ttl));
    // (That very turn may have been stalled.)
    if (!extended || lock.remaining() === 0 || this.#options.isElsewhere()) {
      await this.call("release", this.bounds.release, lock.release());
      return;
    }
    checkers.findings.reached("resumed");
    const interval = this.#begin(lock, askedAt);
    this.#listenTo(lock.signal, interval);
    await this.#work(interval, { do: "acquire", resource: 0 });
    await this.#release(interval);
  }

  async #using(resource: string, task: Task): Promise<void> {
    const { redlock, settings, checkers } = this.#options;
    const { intervals } = checkers;
    let endRoutine!: () => void;
    const routineEnded = new Promise<void>((resolve) => {
      endRoutine = resolve;
    });
    const using = redlock.using(resource, settings.ttl, async (signal, lock) => {
      if (this.#options.isElsewhere()) return endRoutine();
      const interval = this.#begin(lock);
      this.#listenTo(signal, interval);
      await this.#work(interval, task);
      if (task.do === "detach") await this.#giveAway(interval);
      intervals.end(interval);
      endRoutine();
    });
    // The routine takes as long as it takes: what comes before and after it has a bound.
    const before = Promise.race([using, routineEnded]);
    await this.call("using, before", this.bounds.acquire + this.#maxWork, before);
    await this.call("using, after", this.bounds.release, using);
  }

  /** `resumedFrom`: the time of the request, if another client has handed the lock over. */
  #begin(lock: SubjectLock, resumedFrom?: number): LockInterval {
    const { intervals, shares, waits, findings, fencing, alarms } = this.#options.checkers;
    const isGranted = resumedFrom === undefined;
    if (isGranted) findings.reached("granted");
    const interval = intervals.begin(this.process, lock, resumedFrom ?? this.#askedAt);
    shares.began(interval);
    waits.held(interval);
    alarms.granted(interval);
    // PROTOCOL 2.5. Where this very turn was stalled the time was lost after the client had looked.
    if (lock.remaining() === 0 && !this.process.isStalled) {
      findings.violated("expired", `${this.process.name} was given a lock that had expired`);
    }
    const { fencingToken, askedAt, beganAt } = interval;
    // (Given away, a lock keeps its fencing token.)
    if (fencingToken !== undefined && isGranted) {
      for (const resource of lock.resources) fencing.granted(resource, fencingToken, askedAt, beganAt);
    }
    this.#options.moments.granted(this.process, tokenOf(lock));
    return interval;
  }

  /** Looks at the lock, writes if there is time left, and so on for as long as the work takes. */
  async #work(interval: LockInterval, task: Task): Promise<void> {
    const { random, workload, settings, checkers, moments } = this.#options;
    const { hold, looks = defaultLooks } = task;
    const work = hold ?? Math.min(random.exponential(workload.hold), this.#maxWork / 2);
    for (let look = 0; look < looks && !interval.isOver; look += 1) {
      if (checkers.intervals.look(interval) > 0) {
        moments.writing(this.process);
        for (const resource of interval.lock.resources) checkers.effects.write(resource, interval);
        checkers.shares.acted(interval);
      }
      await this.pause(work / looks);
      if (task.do !== "extend" || interval.isOver) continue;
      // Now and then for less: no master may shorten what it has promised before (PROTOCOL 2.11).
      const ttl = random.chance(0.2) ? Math.ceil(settings.ttl * random.between(0.5, 1)) : settings.ttl;
      const extended = await this.call("extend", this.bounds.extend, interval.lock.extend(ttl));
      if (extended) checkers.findings.reached("extended");
      else checkers.findings.reached("extension failed");
    }
  }

  get #maxWork(): number {
    return 10 * this.#options.settings.ttl;
  }

  /** Until the lock has run out by itself. */
  async #outlive(lock: SubjectLock): Promise<void> {
    while (lock.signal ? !lock.signal.aborted : lock.remaining() > 0)
      await this.pause(Math.max(1, lock.remaining()));
  }

  /** (If the turn stalls before the listener is added, the signal has already aborted.) */
  #listenTo(signal: AbortSignal | undefined, interval: LockInterval): void {
    signal?.addEventListener("abort", () => this.#told(interval));
    if (signal?.aborted) this.#told(interval);
  }

  #told(interval: LockInterval): void {
    if (interval.isOver) return;
    this.#options.checkers.findings.reached("lost");
    this.#options.checkers.intervals.end(interval);
  }

  #pickStyle(): Style {
    const { random, workload } = this.#options;
    const total = styles.reduce((sum, style) => sum + weightOf(workload, style), 0);
    let left = random.fraction() * total;
    for (const style of styles) {
      left -= weightOf(workload, style);
      if (left < 0) return style;
    }
    return "acquire";
  }
}

/** Errors of calls that are no violations. */
const marksOfErrors: ReadonlyMap<unknown, Mark> = new Map<unknown, Mark>([
  ["ABORTED", "aborted"],
  ["RESOURCE_LOCKED", "locked"],
  ["NO_QUORUM", "no quorum"],
  ["LOCK_LOST", "lost"],
]);

/** By its code and not by its class: a mutant brings classes of its own. */
function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
