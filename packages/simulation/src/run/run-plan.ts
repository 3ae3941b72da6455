import { Calls } from "../checkers/calls.ts";
import { ClockAlarms } from "../checkers/clock-alarms.ts";
import { Effects } from "../checkers/effects.ts";
import { Fencing } from "../checkers/fencing.ts";
import type { Mark, Verdict, Violation, ViolationKind } from "../checkers/findings.ts";
import { FirstGrant } from "../checkers/first-grant.ts";
import { ForgottenKeys } from "../checkers/forgotten-keys.ts";
import { Jobs } from "../checkers/jobs.ts";
import { Lifetimes } from "../checkers/lifetimes.ts";
import { LockIntervals } from "../checkers/lock-intervals.ts";
import { Order } from "../checkers/order.ts";
import { Ownership } from "../checkers/ownership.ts";
import { Shares } from "../checkers/shares.ts";
import { TokenOwners } from "../checkers/token-owners.ts";
import { Waits } from "../checkers/waits.ts";
import { breathe } from "../engine/drain.ts";
import { Engine } from "../engine/engine.ts";
import { Kernel } from "../engine/kernel.ts";
import type { Process } from "../engine/process.ts";
import { Trace, type TraceValue } from "../engine/trace.ts";
import { onUncaught } from "../engine/uncaught.ts";
import type { Master } from "../master/master.ts";
import { writeRefusals } from "../master/write-refusal.ts";
import { type Plan, resourcesIn } from "../plan/plan.ts";
import { excludesAllSteps } from "../plan/swarm.ts";
import { Random } from "../random.ts";
import { callTermsIn } from "./call-terms.ts";
import { Cluster } from "./cluster.ts";
import { calmFrom, inject } from "./injection.ts";
import { beginToWait } from "./partly-cut-waiter.ts";
import { Post } from "./post.ts";
import {
  acquireLast,
  extendWhileFull,
  judgeLeftovers,
  judgePlaces,
  lockEach,
  maxHurry,
  maxPatience,
  maxPlace,
  patienceFor,
  patient,
  patientBelow,
  releaseLast,
  shortTtl,
  tryEach,
  waitBesideHung,
} from "./progress.ts";
import { answersWithin, firstGrantTermsOf, hurryIn, orderTermsOf, termsOf } from "./service.ts";
import { foreignClient, type Subject, type SubjectClient, type SubjectLock, theClient } from "./subject.ts";
import { Worker } from "./worker.ts";

export interface RunOptions {
  /** Default: the client as it is. */
  readonly subject?: Subject;
  /** The subject of foreign clients. Default: the client without its queue. */
  readonly foreign?: Subject;
  /** Sees everything that happens, with its true time in us. */
  readonly onEvent?: (time: number, entry: readonly TraceValue[]) => void;
  /** The number of events after which a run is cut short, with the verdict unknown at best. Default 20 million. */
  readonly maxEvents?: number;
  /** The run ends as soon as this is violated. By default it goes on: there may be more to find. */
  readonly stopAt?: ViolationKind | "any";
}

export interface Outcome {
  readonly verdict: Verdict;
  readonly violations: readonly Violation[];
  /** Why no lock was granted in a run that is ok: no client could be granted one. */
  readonly whyNothing?: string;
  /** Of everything that happened: the same on each machine. */
  readonly hash: string;
  readonly marks: ReadonlyMap<Mark, number>;
  /** ms; infinite where no lock was granted. */
  readonly leastMargin: number;
  /** Calls of the client that settled or should have. */
  readonly operations: number;
  /** Locks asked for by the workload. */
  readonly attempts: number;
  readonly events: number;
  /** True time that passed, ms. */
  readonly simulated: number;
  /** The share of its bound that the slowest call of each kind took. */
  readonly maxCalls: ReadonlyMap<string, number>;
}

/** Runs a plan: faults and work, then calm and a last lock on everything, then the end of every client. */
export async function runPlan(plan: Plan, options: RunOptions = {}): Promise<Outcome> {
  const run = new Run(options.subject?.planOf?.(plan) ?? plan, options);
  const stopListening = onUncaught((error) => run.crashed(error));
  try {
    await run.declareNew();
    await run.work();
    await run.progress();
    await run.quit();
  } finally {
    // Anything left of it, such as an unhandled rejection, comes now: not in the next run of this thread.
    await new Promise<void>(breathe);
    stopListening();
  }
  return run.outcome;
}

/**
 * The minimum time for which a master that has stepped is excluded. (Not where a hold that several share is passed on: a vote that was
 * given before counts as long as it would have.)
 */
function exclusionIn({ settings, workload }: Plan): number {
  return settings.clockWatch?.exclude && (workload.parallel ?? 1) === 1 ? settings.ttl : 0;
}

class Run {
  readonly #options: RunOptions;
  readonly #cluster: Cluster;
  readonly #workers: readonly Worker[];
  readonly #intervals: LockIntervals;
  readonly #waits: Waits;
  readonly #calls: Calls;
  readonly #alarms: ClockAlarms;
  readonly #firstGrant: FirstGrant;
  readonly #post: Post;
  #isCutShort = false;
  #hasCrashed = false;

  constructor(plan: Plan, options: RunOptions) {
    this.#options = options;
    const kernel = new Kernel(new Engine(), new Trace(options.onEvent));
    const run = new Cluster(kernel, plan);
    this.#cluster = run;
    const { settings, workload } = plan;
    this.#intervals = new LockIntervals(run, exclusionIn(plan));
    this.#calls = new Calls(run, Math.max(...callTermsIn(plan).map(({ bounds }) => bounds.round)));
    this.#alarms = new ClockAlarms(run, exclusionIn(plan));
    this.#firstGrant = new FirstGrant(run, firstGrantTermsOf(plan));
    this.#waits = new Waits(run, termsOf(plan));
    this.#post = new Post(kernel, new Random(plan.seed, "post"));
    const owners = new TokenOwners(run);
    const order = new Order(run, orderTermsOf(plan), this.#waits);
    const removes = plan.faults.some(({ kind }) => kind === "remove" || kind === "evict");
    run.checkers = [
      this.#intervals,
      new Effects(run),
      new Shares(run, this.#intervals),
      ...(removes ? [new ForgottenKeys(run)] : []),
      this.#waits,
      order,
      new Lifetimes(run),
      new Jobs(run),
      this.#calls,
      this.#alarms,
      new Fencing(run),
      this.#firstGrant,
      owners,
      this.#post,
    ];
    for (const master of run.masters) master.watch(new Ownership(run, master, owners));
    const checkers = { intervals: this.#intervals, waits: this.#waits, order, calls: this.#calls };
    const random = new Random(plan.seed, "work");
    this.#workers = this.#cluster.clients.flatMap((process, index) => {
      const client = plan.clients[index]!;
      const { foreign = foreignClient } = this.#options;
      const subject = client.isForeign ? foreign : (this.#options.subject ?? theClient);
      const connections = this.#cluster.linksOf(process).map(({ commands }) => commands.connection);
      const redlocks = Array.from({ length: workload.redlocks ?? 1 }, () =>
        subject.create(connections, process, settings),
      );
      for (const redlock of redlocks) this.#listenTo(redlock, process);
      const its = { process, client, subject, run, settings, workload, checkers, post: this.#post };
      return Array.from({ length: workload.parallel ?? 1 }, (_, number) => {
        const name = number === 0 ? process.name : `${process.name} ${number}`;
        // Of those in one process the first has the script.
        const tasks = number === 0 ? workload.script?.[index] : [];
        const script = workload.script && (tasks ?? []);
        const redlock = redlocks[number % redlocks.length]!;
        return new Worker({ ...its, redlock, random: random.stream(name), script });
      });
    });
  }

  #listenTo(redlock: SubjectClient, client: Process): void {
    const { clockWatch } = this.#cluster.plan.settings;
    redlock.on?.("error", ({ reason }) => this.#cluster.see({ is: "error", client, reason }));
    redlock.on?.("clock", (event) => this.#cluster.see({ is: "clock told", client, event }));
    if ("on" in redlock && clockWatch) this.#alarms.listensTo(client);
  }

  /** With the restart guard the masters are declared new, before anything else happens. */
  async declareNew(): Promise<void> {
    const [first] = this.#workers;
    if (!this.#cluster.plan.settings.restartGuard || !first?.redlock.initialize) return;
    let isOver = false;
    this.#inTurn(first, async () => {
      // Where that fails they are in quarantine first.
      await first.redlock.initialize!().catch(() => {});
      isOver = true;
    });
    await this.#run(this.#now + 2000, () => isOver);
  }

  async work(): Promise<void> {
    const { duration, settings } = this.#cluster.plan;
    inject(this.#cluster);
    for (const worker of this.#workers) this.#inTurn(worker, () => worker.work());
    const calm = Math.max(duration, calmFrom(this.#cluster.plan));
    await this.#run(calm + 3 * settings.ttl);
    for (const worker of this.#workers) worker.stop();
    // A cycle under way: waiting for a lock, working under it, giving it up.
    const cycle = Math.max(
      ...callTermsIn(this.#cluster.plan).map(
        (call) => call.bounds.acquire + 30 * settings.ttl + 8 * call.bounds.extend + call.bounds.release,
      ),
    );
    const isOver = (): boolean => this.#post.isEmpty && this.#workers.every((worker) => worker.isDone);
    await this.#run(this.#now + 2 * cycle, isOver);
    this.#cluster.see({ is: "calm" });
  }

  /** With every fault over and every lock run out, each client can lock each resource, and nothing is left behind. */
  async progress(): Promise<void> {
    const { settings, network, workload } = this.#cluster.plan;
    const { findings, masters } = this.#cluster;
    const [first] = this.#living;
    await this.#run(this.#now + 1.2 * settings.ttl + 3 * network.longestLatency + 100);
    const all = resourcesIn(workload);
    const resources = all.slice(0, workload.resources + 1);
    const timeLimit = patienceFor(resources.length);
    if (settings.restartGuard) {
      // A master that has restarted since is noticed only now.
      await this.#each(this.#living, timeLimit, (worker) => tryEach(worker, resources.slice(0, 1), findings));
      await this.#run(this.#now + 1.2 * settings.restartGuard.maxTtl);
    }
    if (this.#answersInTime) await this.#serve(resources, timeLimit);
    await this.#each(this.#living, timeLimit, (worker) => tryEach(worker, resources, findings));
    await this.#run(this.#now + 3 * network.longestLatency);
    if (first) judgeLeftovers(masters, all, this.#options.subject ?? theClient, findings);
    const lasting = maxPlace(masters);
    if (lasting > maxPatience) findings.violated("leftover", `a place in a queue lasts ${lasting} ms`);
    await this.#run(this.#now + 1.1 * Math.min(lasting, maxPatience) + 100);
    judgePlaces(masters, findings);
  }

  /** (A guarded client can wait for a master no longer than part of maxTtl: on some networks that is too little.) */
  get #answersInTime(): boolean {
    const { nodeTimeout } = patientBelow(this.#living[0]?.longestTtl ?? patient.ttl);
    return (
      nodeTimeout === patient.nodeTimeout || answersWithin(nodeTimeout, this.#cluster.plan.network.latency)
    );
  }

  /** Everyone is served: one after the other, without a minority of the masters, and beside waiters that are half cut off. */
  async #serve(resources: readonly string[], timeLimit: number): Promise<void> {
    const { findings } = this.#cluster;
    for (const worker of this.#living) {
      await this.#each([worker], timeLimit, () => lockEach(worker, resources, findings, "when all was well"));
    }
    const spare = this.#spare;
    const [first] = this.#living;
    if (first && spare.length > 0) {
      for (const { process } of spare) process.freeze(timeLimit * 1000);
      const thaw = this.#now + timeLimit;
      const when = "while a minority of the masters hung";
      await this.#each([first], timeLimit, () => lockEach(first, resources.slice(0, 1), findings, when));
      await this.#serveBesideHung(first, resources);
      // (A vote that reaches them only now is of a lock that has run out: no release follows it.)
      await this.#run(thaw + 3 * this.#cluster.plan.network.longestLatency + 1.2 * shortTtl);
    }
    await this.#serveWhileWritesAreRefused(resources[0]!, timeLimit);
    await this.#serveBesidePartlyCut(resources[0]!, timeLimit);
  }

  /** Masters that hang delay no round of a waiter, though each of its rounds waits for them longer than this takes. */
  async #serveBesideHung(waiter: Worker, resources: readonly string[]): Promise<void> {
    const { settings, masters, clients, network } = this.#cluster.plan;
    const { subject = theClient } = this.#options;
    const isQueueing = ({ process }: Worker): boolean =>
      !clients[this.#cluster.clients.indexOf(process)]!.isForeign;
    const isOther = subject.isUnbounded === true || subject.keysOf !== undefined;
    if (isOther || !isQueueing(waiter) || settings.queue === false || settings.restartGuard) return;
    // (Without these rights there is no wake, and waiters ask again and again.)
    if (masters.some(({ forbids }) => forbids !== undefined)) return;
    const hurry = hurryIn(network.latency, 40 * waiter.process.timerLateness);
    if (hurry > maxHurry) return;
    const holder = this.#living.slice(1).find(isQueueing) ?? waiter;
    const lasting = 2 * patient.nodeTimeout;
    await this.#each([waiter], lasting, () =>
      waitBesideHung({ holder, waiter, resources, hurry, findings: this.#cluster.findings }),
    );
  }

  /** By a minority of the masters, for whatever reason; and by all of them, when their memory is full. */
  async #serveWhileWritesAreRefused(resource: string, timeLimit: number): Promise<void> {
    const { findings, masters } = this.#cluster;
    const [first] = this.#living;
    if (!first) return;
    const why = writeRefusals[this.#cluster.plan.seed % writeRefusals.length]!;
    const endings = this.#spare.map((master) => master.refuseWrites(why));
    const when = `while a minority of the masters refused to write (${why})`;
    await this.#each([first], timeLimit, () => lockEach(first, [resource], findings, when));
    for (const end of endings) end();
    // (An extension that no master can answer in time extends nothing.)
    const isInTime = answersWithin(first.bounds.nodeTimeout, this.#cluster.plan.network.latency);
    if (this.#options.subject?.losesKeysWhileFull || !isInTime) return;
    await this.#each([first], timeLimit, async () => {
      const lock = await acquireLast(first, resource);
      if (!lock) return;
      await extendWhileFull(first, lock, masters, findings);
      await releaseLast(first, lock);
    });
  }

  /** As many as may fail, and a quorum is left. */
  get #spare(): readonly Master[] {
    const [first] = this.#living;
    const masters = first ? this.#cluster.mastersOf(first.process) : this.#cluster.masters;
    return masters.slice(0, Math.floor((masters.length - 1) / 2));
  }

  async #serveBesidePartlyCut(resource: string, timeLimit: number): Promise<void> {
    const { settings, clients, network } = this.#cluster.plan;
    const { findings } = this.#cluster;
    const isQueueing = ({ process }: Worker): boolean =>
      settings.queue !== false && !clients[this.#cluster.clients.indexOf(process)]!.isForeign;
    const [first, ...others] = this.#living.filter(isQueueing);
    if (!first || others.length < 2 || this.#cluster.mastersOf(first.process).length < 3) return;
    // With a minority excluded, the rest is a bare quorum: no rival could hold beside them.
    if (excludesAllSteps(this.#cluster.plan)) return;
    let lock: SubjectLock | undefined;
    await this.#each([first], timeLimit, async () => {
      lock = await acquireLast(first, resource);
    });
    const waiters = others
      .slice(0, 2)
      .map((worker, number) => beginToWait(this.#cluster, worker, number, resource, settings.ttl));
    await this.#run(this.#now + 4 * first.bounds.nodeTimeout + 2 * network.longestLatency);
    for (const waiter of waiters) waiter.cut();
    const when = "while two who wait were cut off from more than half of the masters";
    await this.#each([first], timeLimit, async () => {
      await lock?.release();
      await lockEach(first, [resource], findings, when);
    });
    for (const waiter of waiters) waiter.end();
    await this.#run(this.#now + timeLimit, () => waiters.every((waiter) => waiter.isDone()));
  }

  /** An error that nothing catches ends the process that it is in. */
  crashed(error: unknown): void {
    if (!this.#hasCrashed) this.#cluster.findings.violated("error", `nothing catches ${String(error)}`);
    this.#hasCrashed = true;
  }

  async quit(): Promise<void> {
    const { parallel = 1, redlocks = 1 } = this.#cluster.plan.workload;
    const quitting = this.#workers.filter(
      ({ process }, index) => !process.isDead && index % parallel < redlocks,
    );
    for (const worker of quitting) {
      this.#inTurn(worker, async () => {
        await worker.call("quit", worker.bounds.quit, () => worker.redlock.quit());
      });
    }
    const { bounds } = this.#workers[0]!;
    if (quitting.length > 0) await this.#run(this.#now + 3 * bounds.quit);
    for (const checker of this.#cluster.checkers) checker.end();
  }

  get outcome(): Outcome {
    const { findings, clients } = this.#cluster;
    const first =
      this.#isCutShort || findings.verdict !== "unknown" ? undefined : this.#firstGrant.judge(clients);
    if (first?.isOwed) findings.violated("forgotten", first.reason);
    const { verdict, violations, marks, leastMargin, operations, attempts } = findings;
    for (const { kind, at, detail } of violations)
      this.#cluster.kernel.trace.add(Math.round(at * 1000), kind, detail);
    return {
      verdict: verdict === "ok" && this.#isCutShort ? "unknown" : first && !first.isOwed ? "ok" : verdict,
      ...(first && !first.isOwed ? { whyNothing: first.reason } : {}),
      violations,
      hash: this.#cluster.kernel.trace.hash,
      marks,
      leastMargin,
      operations,
      attempts,
      events: this.#cluster.kernel.steps,
      simulated: this.#now,
      maxCalls: new Map([...this.#calls.longest, ...this.#waits.longest]),
    };
  }

  /** ms */
  get #now(): number {
    return this.#cluster.kernel.now / 1000;
  }

  /** One of each process. */
  get #living(): readonly Worker[] {
    const { parallel = 1 } = this.#cluster.plan.workload;
    return this.#workers.filter(({ process }, index) => !process.isDead && index % parallel === 0);
  }

  get #isShown(): boolean {
    const { stopAt } = this.#options;
    const { violations } = this.#cluster.findings;
    if (stopAt === undefined || violations.length === 0) return false;
    return stopAt === "any" || violations.some(({ kind }) => kind === stopAt);
  }

  /** Begins `act` in a turn of each, and goes on until all are through, for `timeLimit` ms at most. */
  async #each(
    workers: readonly Worker[],
    timeLimit: number,
    act: (worker: Worker) => Promise<void>,
  ): Promise<void> {
    let busy = workers.length;
    for (const worker of workers) {
      this.#inTurn(worker, async () => {
        await act(worker);
        busy -= 1;
      });
    }
    await this.#run(this.#now + timeLimit, () => busy === 0);
  }

  /** Begins something in a turn of the worker's process. */
  #inTurn(worker: Worker, act: () => Promise<void>): void {
    this.#cluster.kernel.engine.schedule(() => worker.process.deliver(() => void act()), 1);
  }

  async #run(until: number, isOver: () => boolean = () => false): Promise<void> {
    const { maxEvents = 20_000_000 } = this.#options;
    const isTooLong = (): boolean => this.#cluster.kernel.steps >= maxEvents;
    const isEnough = (): boolean => this.#hasCrashed || isOver() || isTooLong() || this.#isShown;
    await this.#cluster.kernel.run(Math.round(until * 1000), isEnough).catch((error: unknown) => {
      // Thrown by a master or a checker, it is an error of the simulator.
      if (!this.#cluster.kernel.running?.isAsynchronous) throw error;
      this.crashed(error);
    });
    if (isTooLong()) this.#isCutShort = true;
  }
}
