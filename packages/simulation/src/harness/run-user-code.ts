import { InvalidArgumentError, Redlock, type RedlockError, type RedlockOptions } from "@quorlock/redlock";
import { RedisNode } from "@quorlock/redlock/internal";
import type { Verdict, Violation } from "../checkers/findings.ts";
import { Engine } from "../engine/engine.ts";
import { Kernel } from "../engine/kernel.ts";
import { Process } from "../engine/process.ts";
import { Trace, type TraceValue } from "../engine/trace.ts";
import { knownOf } from "../network/latency.ts";
import { OneWay } from "../network/one-way.ts";
import type { Plan } from "../plan/plan.ts";
import { Random } from "../random.ts";
import { Cluster } from "../run/cluster.ts";
import { calmFrom, inject } from "../run/injection.ts";
import type { Caller } from "./circle.ts";
import { isStalledBeforeWrites } from "./plan-of-seed.ts";
import { remote } from "./remote.ts";
import { type ClientContext, shown } from "./simulate-options.ts";
import { Watch, type WatchLimits } from "./watch.ts";

/** Code under test, and what it must keep to. */
export interface UserCode<Resource extends object> {
  readonly resource: () => Resource;
  readonly client: (context: ClientContext<Resource>) => Promise<unknown>;
  readonly rounds: number;
  readonly settings: RedlockOptions;
  readonly limits: CodeLimits;
  /** Throws, or returns what is wrong: a text, an Error or `false`. `undefined`, `true` and "" are in order. Called after each call to the resource, and at the end. */
  readonly invariant: (resource: Resource) => unknown;
}

export interface CodeLimits extends WatchLimits {
  /** How much longer than the faults the code may go on, ms of true time. */
  readonly time: number;
}

export interface CodeRun {
  readonly verdict: Verdict;
  /** The first: the run has ended with it. */
  readonly violation: Violation | undefined;
  /** The number of runs that reached the end of the code, and of locks that were refused or lost. */
  readonly completed: number;
  readonly refused: number;
  readonly undisturbed: Watch["undisturbed"];
}

/** One run of the code under test, by a plan. */
export async function runUserCode<Resource extends object>(
  plan: Plan,
  code: UserCode<Resource>,
  onEvent?: (time: number, entry: readonly TraceValue[]) => void,
): Promise<CodeRun> {
  const kernel = new Kernel(new Engine(), new Trace(onEvent, onEvent !== undefined));
  const cluster = new Cluster(kernel, plan);
  const { findings, triggerPoints } = cluster;
  const watch = new Watch(cluster, cluster.clients, code.limits);
  cluster.checkers = [watch];
  const fixture = new Fixture(cluster, code, watch);
  inject(cluster);
  const clients = cluster.clients.map((process, index) => fixture.begin(process, index));
  const end = Math.max(plan.duration, calmFrom(plan)) + code.limits.time;
  const isOver = (): boolean =>
    fixture.misuse !== undefined || findings.violations.length > 0 || clients.every(({ isDone }) => isDone);
  const stop = watch.begin((client) => triggerPoints.granted(client, ""));
  await kernel.run(Math.round(end * 1000), isOver).finally(stop);
  if (findings.violations.length === 0) fixture.judgeTheEnd(clients);
  if (fixture.misuse) throw fixture.misuse;
  return {
    // A run that completed shows something even if no lock was requested.
    verdict: findings.verdict === "unknown" && fixture.completed > 0 ? "ok" : findings.verdict,
    violation: findings.violations[0],
    completed: fixture.completed,
    refused: fixture.refused,
    undisturbed: watch.undisturbed,
  };
}

/** Of the messages to the resource: those that are late, and by which factor at most. */
const shareOfLate = 0.1;
const longestLateness = 20;

interface Client {
  readonly process: Process;
  readonly isDone: boolean;
}

class Fixture<Resource extends object> {
  completed = 0;
  refused = 0;
  /** Set if the user's code does not run, or its invariant cannot be judged. */
  misuse: InvalidArgumentError | undefined;
  readonly #cluster: Cluster;
  readonly #code: UserCode<Resource>;
  readonly #resource: Resource;
  readonly #server: Process;
  readonly #random: Random;
  readonly #watch: Watch;

  constructor(cluster: Cluster, code: UserCode<Resource>, watch: Watch) {
    this.#watch = watch;
    this.#cluster = cluster;
    this.#code = code;
    this.#resource = code.resource();
    this.#random = new Random(cluster.plan.seed, "rehearsal");
    const random = this.#random.stream("server");
    const ideal = { wall: 0, rate: 0, timerLateness: 0 };
    this.#server = new Process(cluster.kernel, { name: "resource", isAsynchronous: false, random, ...ideal });
  }

  /** Runs the code in this process, round after round. */
  begin(process: Process, index: number): Client {
    const state = {
      process,
      over: false,
      get isDone(): boolean {
        return this.over || process.isDead;
      },
    };
    const context = this.#contextOf(process, index);
    const isPaced = isStalledBeforeWrites(this.#cluster.plan);
    const random = this.#random.stream(`rounds of ${process.name}`);
    const work = async (): Promise<void> => {
      for (let round = 0; round < this.#code.rounds; round += 1) {
        // Code that does not wait for a lock would be through before the lease of a stalled client is over.
        const { ttl } = this.#cluster.plan.settings;
        if (isPaced && random.chance(0.5)) await context(round).pause(ttl * random.logUniform(0.01, 2));
        process.record("begins round", round);
        this.#watch.of(process).unserved.clear();
        await this.#round(context(round));
      }
      state.over = true;
    };
    this.#cluster.kernel.engine.schedule(() => process.deliver(() => void work()), 1);
    return state;
  }

  judgeTheEnd(clients: readonly Client[]): void {
    this.#judge();
    for (const { process, isDone } of clients) {
      if (!isDone)
        this.#cluster.findings.violated("unsettled", `${this.#watch.of(process).name} never came to its end`);
    }
  }

  async #round(context: ClientContext<Resource>): Promise<void> {
    try {
      const running: unknown = this.#code.client(context);
      if (!isPromise(running))
        this.#refuse(`client must return a promise, but has returned ${kindOf(running)}`);
      else if (isIterator(await running)) this.#refuse("client must not return a generator: nothing runs it");
      this.completed += 1;
    } catch (error) {
      if (isAboutLocking(error)) this.refused += 1;
      else this.#cluster.findings.violated("error", `client ${context.index}: ${String(error)}`);
    }
  }

  #judge(): void {
    let wrong: unknown;
    try {
      wrong = this.#code.invariant(this.#resource);
    } catch (error) {
      wrong = error instanceof Error ? error : new Error(String(error));
    }
    if (wrong === undefined || wrong === true || wrong === "") return;
    const text = wrong === false ? "the invariant returned false" : wrong;
    const detail = text instanceof Error ? text.message : text;
    if (typeof detail === "string") this.#cluster.findings.violated("invariant", detail);
    else this.#refuseResult(wrong);
  }

  #refuseResult(result: unknown): void {
    if (isPromise(result)) {
      // By the time it settles the resource may be another.
      result.then(undefined, () => {});
      const why = "its result is judged at once, after each call to the resource";
      this.#refuse(`invariant must not return a promise: ${why}`);
    } else {
      const allowed = "undefined or true if nothing is wrong, and otherwise a text, an Error or false";
      this.#refuse(`invariant must return ${allowed}, but has returned ${kindOf(result)}`);
    }
  }

  #refuse(why: string): void {
    this.misuse ??= new InvalidArgumentError(why);
  }

  /**
   * Some messages are late, but none that is sent under a lock by more than the time in which nobody else can be granted it: what
   * its next holder sends comes after it. us
   */
  #latencyFor({ holding }: Caller, steady: number, random: Random): number {
    const late = random.chance(shareOfLate) ? steady * random.between(1, longestLateness) : steady;
    const { ttl } = this.#cluster.plan.settings;
    const left = [...holding].flatMap(({ resources }) =>
      resources.map((resource) => this.#keptFor(resource)),
    );
    return Math.round(Math.max(1, Math.min(late, steady + 1000 * Math.min(ttl / 10, ...left))));
  }

  /** For how long a quorum of the masters keeps it, ms. */
  #keptFor(resource: string): number {
    const { masters } = this.#cluster;
    const left = masters.map((master) => (master.peek(resource)?.expiresAt ?? 0) - master.process.wallNow());
    return Math.max(0, left.sort((one, other) => other - one)[Math.floor(masters.length / 2)]!);
  }

  #contextOf(process: Process, index: number): (round: number) => ClientContext<Resource> {
    const random = this.#random.stream(process.name);
    const { latency, longestLatency } = this.#cluster.plan.network;
    const steady = { shape: "constant", ms: knownOf(latency).typical } as const;
    const oneWay = (): OneWay => new OneWay(this.#cluster.kernel, steady, longestLatency * 1000, random);
    const way = { client: process, server: this.#server, requests: oneWay(), replies: oneWay() };
    const caller = this.#watch.of(process);
    const nodes = this.#cluster.links[index]!.map(
      ({ commands }) => new RedisNode(commands.connection, { runtime: process }),
    );
    const listener = {
      onCall: () => {
        caller.busy += 1;
        this.#cluster.triggerPoints.raise("write", { client: process });
        return this.#latencyFor(caller, 1000 * steady.ms, random);
      },
      onResult: (result: unknown) => {
        if (!isPromise(result)) return;
        result.then(undefined, () => {});
        this.#refuse(
          "a method of the resource must not return a promise: each call runs as a whole, at once",
        );
      },
      onEffect: () => this.#judge(),
      onReply: () => {
        caller.busy -= 1;
      },
    };
    const redlock = new Redlock(nodes, { ...this.#code.settings, runtime: process });
    return (round) => ({
      redlock,
      resource: remote(this.#cluster.kernel, { ...way, round }, this.#resource, listener),
      index,
      round,
      pause(ms) {
        caller.busy += 1;
        return new Promise((resolve) => {
          process.setTimer(() => {
            caller.busy -= 1;
            resolve();
          }, ms);
        });
      },
      random: () => random.fraction(),
    });
  }
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as Partial<PromiseLike<unknown>> | null | undefined)?.then === "function";
}

function isIterator(value: unknown): boolean {
  return typeof (value as Partial<Iterator<unknown>> | null | undefined)?.next === "function";
}

function kindOf(value: unknown): string {
  return isIterator(value) ? "a generator, which nothing runs" : shown(value);
}

/** A lock that could not be had, or was lost: what code under a lock has to live with. */
function isAboutLocking(error: unknown): boolean {
  const { code } = (error ?? {}) as Partial<RedlockError>;
  return code === "RESOURCE_LOCKED" || code === "NO_QUORUM" || code === "LOCK_LOST" || code === "ABORTED";
}
