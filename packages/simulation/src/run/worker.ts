import type { Calls } from "../checkers/calls.ts";
import type { Attempts } from "../checkers/checker.ts";
import type { Mark } from "../checkers/findings.ts";
import type { LockInterval } from "../checkers/lock-interval.ts";
import type { LockIntervals } from "../checkers/lock-intervals.ts";
import type { Order } from "../checkers/order.ts";
import type { Wait } from "../checkers/wait.ts";
import type { Waits } from "../checkers/waits.ts";
import { deferred } from "../engine/deferred.ts";
import type { Process } from "../engine/process.ts";
import {
  type ClientPlan,
  type LockSettings,
  resourcesOf,
  type ScriptedTask,
  type Style,
  styles,
  type Task,
  type Workload,
  weightOf,
} from "../plan/plan.ts";
import type { Random } from "../random.ts";
import { Bounds } from "./bounds.ts";
import { backoffFailed, type CallTerms, callTermsIn, termsOf } from "./call-terms.ts";
import type { Cluster } from "./cluster.ts";
import type { Parcel, Post, Receiver } from "./post.ts";
import {
  type Resources,
  type Routine,
  type Subject,
  type SubjectClient,
  type SubjectLock,
  tokenOf,
} from "./subject.ts";

/** Those of whom a worker asks something; the others see what happens. */
interface Checkers {
  readonly intervals: LockIntervals;
  readonly waits: Waits;
  readonly order: Order;
  readonly calls: Calls;
}

export interface WorkerOptions {
  readonly process: Process;
  readonly redlock: SubjectClient;
  readonly run: Cluster;
  readonly client: ClientPlan;
  readonly subject: Subject;
  readonly random: Random;
  readonly settings: LockSettings;
  readonly workload: Workload;
  /** Its tasks, one after the other, in place of drawn work. */
  readonly script: readonly ScriptedTask[] | undefined;
  readonly checkers: Checkers;
  /** Takes locks to other clients. */
  readonly post: Post;
}

/** The number of checks and writes while it holds a lock. */
const defaultLooks = 4;

/** The work of one client process: takes locks, works under them, and releases them, in one style or another. */
export class Worker implements Receiver {
  readonly #options: WorkerOptions;
  /** By the settings of the constructor. */
  readonly bounds: Bounds;
  readonly #terms: readonly CallTerms[];
  #isStopping = false;
  #isDone = false;
  /** The number of detached locks of others that it resumes. */
  #resumed = 0;
  /** When the lock of this cycle was asked for, or a little earlier; true time, us. */
  #askedAt = 0;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.bounds = this.#boundsFor(options.settings);
    this.#terms = callTermsIn(options, this.#boundsFor);
  }

  readonly #boundsFor = (settings: LockSettings): Bounds =>
    this.#options.subject.boundsFor?.(settings) ?? new Bounds(settings);

  /** (Nothing is drawn where there is no choice.) */
  #drawTerms(): CallTerms {
    return this.#terms.length === 1 ? this.#terms[0]! : this.#options.random.pick(this.#terms);
  }

  get process(): Process {
    return this.#options.process;
  }

  get redlock(): SubjectClient {
    return this.#options.redlock;
  }

  get #findings() {
    return this.#options.run.findings;
  }

  /** It locks in another database now than the others. */
  get #isElsewhere(): boolean {
    return this.#options.run.isElsewhere(this.process);
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
    const { redlock, post, client } = this.#options;
    const { startsAt = 0 } = client;
    // Nothing is brought to it before it starts where it takes the place of another process.
    const isRestart = client.masters !== undefined;
    if (redlock.resume && !isRestart) post.add(this);
    if (startsAt > 0) await this.pause(startsAt);
    if (redlock.resume && isRestart) post.add(this);
    await (this.#options.script ? this.#performScript(this.#options.script) : this.#performDrawn());
    this.#isDone = true;
  }

  /** Task after task, each drawn when its time has come, until it is stopped. */
  async #performDrawn(): Promise<void> {
    const { random, workload } = this.#options;
    while (!this.#isStopping) {
      await this.pause(random.exponential(workload.think));
      if (this.#isStopping) break;
      const style = this.#pickStyle();
      const resource = random.integer(0, workload.resources - 1);
      const { lists } = workload;
      const list = lists && style !== "pair" ? { list: random.integer(0, lists.length - 1) } : {};
      await this.#perform({ do: style, resource, ...list });
    }
  }

  async #performScript(tasks: readonly ScriptedTask[]): Promise<void> {
    const begun = this.process.now;
    for (const { at, ...task } of tasks) {
      await this.pause(Math.max(0, at - (this.process.now - begun) / 1000));
      await this.#perform(task);
    }
  }

  /** `ms` by the process's own timers. */
  pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.process.setTimer(resolve, Math.min(ms, 2_000_000)));
  }

  /** Awaits a call that must settle within `bound` ms; it may reject only with expected errors. */
  async call<T>(name: string, bound: number, begin: () => Promise<T>): Promise<T | undefined> {
    const { subject, checkers, run } = this.#options;
    const { findings } = run;
    findings.operations += 1;
    try {
      return await checkers.calls.settles(
        this.process,
        name,
        subject.isUnbounded ? Number.POSITIVE_INFINITY : bound,
        begin,
      );
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
  async #perform(task: Task): Promise<void> {
    const { redlock, random, workload } = this.#options;
    const all = resourcesOf(task, workload);
    const resource = task.list === undefined ? all[0]! : all;
    this.#askedAt = this.process.now;
    this.#findings.attempts += 1;
    const terms = this.#drawTerms();
    const { ttl, options } = terms;
    switch (task.do) {
      case "using":
        return this.#using(resource, task, terms);
      case "try": {
        const trying = () => redlock.tryAcquire(resource, ttl, options);
        return this.#hold(
          (await this.call("tryAcquire", terms.bounds.tryAcquire, trying)) ?? undefined,
          task,
        );
      }
      case "several":
        return this.#acquireAndHold(all, task, terms);
      case "pair":
        return this.#pair(all, task, terms);
      case "detach":
        if (random.chance(0.3)) return this.#using(resource, task, terms);
        return this.#acquireAndHold(resource, task, terms);
      case "abort":
        return this.#acquireAndHold(resource, task, terms, random.exponential(ttl / 4));
      default:
        return this.#acquireAndHold(resource, task, terms);
    }
  }

  /** Two locks of different ttls, whose votes travel in one batch. */
  async #pair([first = "", second = ""]: readonly string[], task: Task, terms: CallTerms): Promise<void> {
    const ttl = longEnough(Math.ceil(terms.ttl / 2), terms);
    const short = termsOf({ ...terms.settings, ttl }, terms.options, this.#boundsFor);
    await Promise.all([this.#acquireAndHold(first, task, short), this.#acquireAndHold(second, task, terms)]);
  }

  /** `abortAfter`: the caller's signal aborts then, ms. */
  async #acquireAndHold(
    resource: Resources,
    task: Task,
    terms: CallTerms,
    abortAfter?: number,
  ): Promise<void> {
    const wait = this.#beginWait(resource, terms);
    const signal = abortAfter === undefined ? {} : { signal: this.#signalIn(abortAfter, wait) };
    const acquiring = () => this.redlock.acquire(resource, wait.ttl, { ...terms.options, ...signal });
    const lock = await this.call("acquire", terms.bounds.acquire, acquiring);
    this.#endWait(wait);
    await this.#hold(lock, task, wait);
  }

  #signalIn(delay: number, wait: Wait): AbortSignal {
    const controller = new AbortController();
    this.process.setTimer(() => {
      wait.isAborted = true;
      controller.abort();
    }, delay);
    return controller.signal;
  }

  /** Just before a call: with their own settings, each call of a process has its own ttl. */
  #beginWait(resource: Resources, terms: CallTerms): Wait {
    const { workload, checkers } = this.#options;
    const least = longEnough(1, terms);
    const ttl = workload.calls ? checkers.order.ttlFor(this.process, terms.ttl, least) : terms.ttl;
    const queued = this.redlock.queued?.(resource);
    return checkers.waits.begin(this.process, [resource].flat(), terms, ttl, queued);
  }

  #endWait(wait: Wait): void {
    const { waits, order } = this.#options.checkers;
    if (waits.ended(wait)) order.giveBack(this.process, wait.ttl);
  }

  async #hold(lock: SubjectLock | undefined, task: Task, wait?: Wait): Promise<void> {
    if (!lock || (await this.#givesBackElsewhere(lock))) return;
    const interval = this.#begin(lock, wait);
    this.#listenTo(lock.signal, interval);
    await this.#work(interval, task);
    if (task.do === "abandon") return this.#outlive(lock);
    if (task.do === "detach" && (await this.#giveAway(interval))) return;
    await this.#release(interval);
  }

  /** A lock in another database protects nothing of the plan's. */
  async #givesBackElsewhere(lock: SubjectLock): Promise<boolean> {
    if (!this.#isElsewhere) return false;
    this.#findings.reached("locked elsewhere");
    await this.#releaseNow(lock);
    return true;
  }

  /** By the settings of this call, whatever those were by which it was acquired. */
  #releaseNow(lock: SubjectLock): Promise<{ readonly outcome: string } | undefined> {
    const { redlock, settings } = this.#options;
    const terms = this.#drawTerms();
    const releasing = () => redlock.release?.(lock, terms.options) ?? lock.release();
    const { ttl } = settings;
    const { release } = redlock.release ? this.#boundsFor({ ...terms.settings, ttl }) : this.bounds;
    return this.call("release", release, releasing);
  }

  /** With settings of the call's own, where the subject knows any. */
  #extend(lock: SubjectLock, ttl: number, interval?: LockInterval): Promise<unknown> {
    const { redlock, settings, run } = this.#options;
    const terms = this.#drawTerms();
    const itsTtl = redlock.extend ? longEnough(ttl, terms) : ttl;
    run.see({ is: "asked for", lock, ttl: itsTtl });
    const extending = () => {
      const begun = run.kernel.now;
      const extended = redlock.extend?.(lock, itsTtl, terms.options) ?? lock.extend(ttl);
      const tell = (result: unknown, isHeld: boolean): void => {
        const { attempts = [] } = (result ?? {}) as { readonly attempts?: Attempts };
        if (interval) run.see({ is: "extended", interval, begun, attempts, isHeld });
      };
      extended.then(
        (result) => tell(result, true),
        (error: unknown) => tell(error, false),
      );
      return extended;
    };
    const nodeTimeout = lock.timeoutOfExtend;
    const bounds = nodeTimeout === undefined ? this.bounds : this.#boundsFor({ ...settings, nodeTimeout });
    const bound = redlock.extend ? this.#boundsFor({ ...terms.settings, ttl: settings.ttl }) : bounds;
    return this.call("extend", bound.extend, extending);
  }

  async #release(interval: LockInterval): Promise<void> {
    const findings = this.#findings;
    const { lock } = interval;
    this.#options.checkers.intervals.over(interval);
    const releasing = this.#releaseNow(lock);
    // PROTOCOL 5.3: over before the first byte of the release is sent, not when the masters have answered.
    if (lock.remaining() > 0) findings.violated("belief", `${this.process.name} holds what it has released`);
    const result = await releasing;
    if (result?.outcome === "expired") findings.reached("expired at release");
    if (result?.outcome === "partial") findings.reached("partial release");
  }

  /** Whether it has been given away: not where it cannot be, or has run out. */
  async #giveAway(interval: LockInterval): Promise<boolean> {
    const { redlock, settings, checkers, post } = this.#options;
    const { lock, askedAt } = interval;
    if (!lock.detach || !redlock.resume || lock.remaining() === 0) return false;
    checkers.intervals.over(interval);
    const detaching = this.call("detach", this.bounds.round, () => lock.detach!());
    // PROTOCOL 5.5: over at the call, as by a release.
    if (lock.remaining() > 0)
      this.#findings.violated("belief", `${this.process.name} holds what it has given away`);
    const detached = await detaching;
    if (detached === undefined) return true;
    this.#findings.reached("detached");
    // It travels as text.
    post.send({ detached: JSON.parse(JSON.stringify(detached)), askedAt }, settings.ttl / 20);
    return true;
  }

  receive(parcel: Parcel): void {
    this.#resumed += 1;
    void this.#useDetached(parcel).finally(() => {
      this.#resumed -= 1;
    });
  }

  /** Nothing remains of a lock that is resumed until its masters have extended it. */
  async #useDetached({ detached, askedAt }: Parcel): Promise<void> {
    const { redlock, settings, run } = this.#options;
    const lock = redlock.resume!(detached);
    run.see({ is: "given", to: this.process, token: tokenOf(lock) });
    if (lock.remaining() > 0)
      this.#findings.violated("belief", `${this.process.name} holds what it has only been told of`);
    const extended = await this.#extend(lock, settings.ttl);
    // (That very turn may have been stalled.)
    if (!extended || lock.remaining() === 0 || this.#isElsewhere) {
      await this.#releaseNow(lock);
      return;
    }
    this.#findings.reached("resumed");
    const interval = this.#begin(lock, undefined, askedAt);
    this.#listenTo(lock.signal, interval);
    await this.#work(interval, { do: "acquire", resource: 0 });
    await this.#release(interval);
  }

  async #using(resource: Resources, task: Task, terms: CallTerms): Promise<void> {
    const { redlock, checkers } = this.#options;
    const wait = this.#beginWait(resource, terms);
    const [began, ended] = [deferred(), deferred()];
    const routine: Routine = async (signal, lock) => {
      began.resolve();
      this.#endWait(wait);
      if (this.#isElsewhere) return ended.resolve();
      const interval = this.#begin(lock, wait);
      this.#listenTo(signal, interval);
      await this.#work(interval, task);
      if (task.do === "detach") await this.#giveAway(interval);
      checkers.intervals.over(interval);
      ended.resolve();
    };
    routine.granted = () => this.#endWait(wait);
    const using = redlock.using(resource, wait.ttl, terms.options, routine);
    // The routine takes as long as it takes: what comes before and after it has a bound.
    await this.call("using, before", terms.bounds.acquire, () => Promise.race([using, began.promise]));
    this.#endWait(wait);
    await Promise.race([using.catch(() => {}), ended.promise]);
    await this.call("using, after", terms.bounds.release, () => using);
  }

  /**
   * `wait`: the call that waited for it. `resumedFrom`: the time of the request, if another client has handed the lock
   * over.
   */
  #begin(lock: SubjectLock, wait: Wait | undefined, resumedFrom?: number): LockInterval {
    const { checkers, run } = this.#options;
    const isGranted = resumedFrom === undefined;
    if (isGranted) run.findings.reached("granted");
    const interval = checkers.intervals.begin(this.process, lock, resumedFrom ?? this.#askedAt);
    run.see({ is: "held", interval, wait, isGranted });
    // PROTOCOL 2.5. Where this very turn was stalled the time was lost after the client had looked.
    if (lock.remaining() === 0 && !this.process.isStalled) {
      run.findings.violated("expired", `${this.process.name} was given a lock that had expired`);
    }
    run.triggerPoints.granted(this.process, tokenOf(lock));
    return interval;
  }

  /** Looks at the lock, writes if there is time left, and so on for as long as the work takes. */
  async #work(interval: LockInterval, task: Task): Promise<void> {
    const { random, workload, settings, checkers, run } = this.#options;
    const { hold, looks = defaultLooks } = task;
    const work = hold ?? Math.min(random.exponential(workload.hold), this.#maxWork / 2);
    for (let look = 0; look < looks && !interval.isOver; look += 1) {
      if (checkers.intervals.look(interval) > 0) {
        run.triggerPoints.raise("write", { client: this.process });
        run.see({ is: "acted", interval });
      }
      await this.pause(work / looks);
      if (workload.calls && !interval.isOver && random.chance(0.1)) await this.#verify(interval);
      if (task.do !== "extend" || interval.isOver) continue;
      // Now and then for less: no master may shorten what it has promised before (PROTOCOL 2.11).
      const ttl = random.chance(0.2) ? Math.ceil(settings.ttl * random.between(0.5, 1)) : settings.ttl;
      const extended = await this.#extend(interval.lock, ttl, interval);
      if (extended) this.#findings.reached("extended");
      else this.#findings.reached("extension failed");
    }
  }

  async #verify({ lock }: LockInterval): Promise<void> {
    if (lock.verify) await this.call("verify", this.bounds.round, () => lock.verify!());
  }

  get #maxWork(): number {
    return 10 * this.#options.settings.ttl;
  }

  /** Until the lock has expired. */
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
    this.#findings.reached("lost");
    this.#options.run.see({ is: "told", interval });
    this.#options.checkers.intervals.over(interval);
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

/** The client takes no `nodeTimeout` and no `minimumValidity` that is not well below the ttl. */
function longEnough(ttl: number, { options, ttl: most }: CallTerms): number {
  const { nodeTimeout = 0, minimumValidity = 0 } = options;
  if (minimumValidity > most / 2) return most;
  return Math.max(ttl, Math.min(most, Math.ceil(1.1 * Math.max(nodeTimeout, minimumValidity)) + 3));
}

/** Errors of calls that are no violations. */
const marksOfErrors: ReadonlyMap<unknown, Mark> = new Map<unknown, Mark>([
  ["ABORTED", "aborted"],
  ["RESOURCE_LOCKED", "locked"],
  ["NO_QUORUM", "no quorum"],
  ["LOCK_LOST", "lost"],
  [backoffFailed, "backoff failed"],
]);

/** By its code and not by its class: a mutant brings other classes. */
function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
