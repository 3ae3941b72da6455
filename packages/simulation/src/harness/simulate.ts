import type { RedlockOptions } from "@quorlock/redlock";
import type { Verdict, Violation } from "../checkers/findings.ts";
import { knownOf } from "../network/latency.ts";
import { counted } from "../pictures/markup.ts";
import type { Fault, FaultName } from "../plan/fault.ts";
import type { Plan } from "../plan/plan.ts";
import { promised } from "../plan/swarm.ts";
import { adviceFor, fencingAdvice } from "./advice.ts";
import { Incident } from "./incident.ts";
import { incidentPicture } from "./incident-picture.ts";
import { isStalledBeforeWrites, planOfSeed, stalledBeforeWrites } from "./plan-of-seed.ts";
import { type CodeRun, runUserCode, type UserCode } from "./run-user-code.ts";
import { checkSimulateOptions, isExcept, type SimulateOptions, withFaults } from "./simulate-options.ts";

export type { SimulateOptions } from "./simulate-options.ts";

/** The findings of a seed; each is empty or undefined if nothing was found. */
export interface Finding {
  /** The violation, with the seed that shows it again. */
  readonly violation: string | undefined;
  readonly seed: number | undefined;
  /**
   * The events that led to it, a line each: who asked for a lock, waited, held it, lost it, was told, and called the resource; the faults;
   * and at the end what helps.
   */
  readonly story: readonly string[];
  /** The same as an SVG, for which the seed is run once more. */
  readonly picture: () => Promise<string>;
}

export interface SimulateResult extends Finding {
  /** Whether the code is safe with a lock, under faults that correct code survives. `unknown`: no run of it came to its end. */
  readonly verdict: Verdict;
  /** Runs that were made: up to the first that was violated. */
  readonly runs: number;
  /** How often the code ran to its end, in all runs. */
  readonly completed: number;
  /** How often a lock was refused or lost. */
  readonly refused: number;
  /**
   * The second question, if the first has found nothing: clients are stopped between a look at the lock and the call that follows.
   * No lock prevents what they do then; a resource that refuses the smaller fencing token does.
   */
  readonly fencing: Finding & { readonly verdict: "safe" | "needs a fencing token" | "not asked" };
  /** All of it in words. */
  readonly report: string;
}

const defaultTtl = 1000;

/**
 * Puts code that relies on a lock to the test: against drifting clocks, pauses, crashes and slow networks, in virtual
 * time. Stops at the first run in which something is violated.
 *
 * Your code must take time and randomness from its context only, and do nothing but promises otherwise.
 *
 * Rejects with an `InvalidArgumentError` for an unknown option, a value out of range, an
 * invariant that returns a promise, a generator, a number, null or an object, or a client that returns no promise.
 */
export async function simulate<Resource extends object>(
  options: SimulateOptions<Resource>,
): Promise<SimulateResult> {
  checkSimulateOptions(options);
  const question = new Question(options);
  const { found, ...sum } = await question.search((plan) => plan);
  const { notes } = question;
  const verdict: Verdict = found.violation !== undefined ? "violated" : sum.completed > 0 ? "ok" : "unknown";
  const isAsked = verdict === "ok" && question.mayStall;
  const second = isAsked ? (await question.search(stalledBeforeWrites)).found : question.nothing;
  const isNeeded = second.violation !== undefined;
  const fencing = {
    ...second,
    verdict: isNeeded ? "needs a fencing token" : isAsked ? "safe" : "not asked",
  } as const;
  const { runs, completed, refused } = sum;
  const head = `${verdict}: ${counted(runs, "run")}, the code came to its end ${completed} times, locks were refused or lost ${refused} times`;
  const report = [
    head,
    ...notes,
    ...reportOf(found),
    ...(isAsked ? [`fencing: ${fencing.verdict}`] : []),
    ...reportOf(second),
  ];
  return { verdict, runs, completed, refused, ...found, fencing, report: report.join("\n") };
}

function reportOf({ violation, seed, story }: Finding): readonly string[] {
  return violation === undefined ? [] : [`seed ${seed}: ${violation}`, ...story];
}

/** Settings that the plan needs: clocks and latencies are drawn in proportion to these times. */
const defaults = {
  driftFactor: 0.01,
  retryCount: 10,
  retryDelay: 200,
  retryJitter: 100,
  automaticExtensionThreshold: 500,
};

/** Runs code under test by the plans of its seeds. */
class Question<Resource extends object> {
  readonly nothing: Finding = {
    violation: undefined,
    seed: undefined,
    story: [],
    picture: () => Promise.reject(new Error("there is no picture, since nothing was violated")),
  };
  readonly #options: SimulateOptions<Resource>;
  readonly #code: UserCode<Resource>;
  readonly #ttl: number;
  readonly #nodeTimeout: number;
  /** Of all runs, those in which most calls found no quorum although no fault disturbed them; such calls, and their round trips, ms. */
  readonly #tooSlow = { of: 0, runs: 0, calls: 0, roundTrips: 0 };

  constructor(options: SimulateOptions<Resource>) {
    const { rounds = 5, ttl = defaultTtl, resource, client, invariant = () => {}, limits } = options;
    this.#options = options;
    this.#ttl = ttl;
    // The client's default, as its documentation gives it.
    this.#nodeTimeout = Math.min(Math.max(ttl / 20, 50), 500, Math.max(1, ttl / 4));
    const settings: RedlockOptions = { waitTimeout: 10 * ttl, ...options.settings };
    const within = { time: 600 * ttl, deadlock: ttl, starvation: 100, ...limits };
    this.#code = { resource, client, invariant, rounds, settings, limits: within };
  }

  /** Whether stalls are among the faults, and not those that the user has chosen alone. */
  get mayStall(): boolean {
    const { faults } = this.#options;
    return faults === undefined || (isExcept(faults) && !faults.except.includes("stall"));
  }

  /** Up to the first seed in which something is violated. */
  async search(
    changed: (plan: Plan) => Plan,
  ): Promise<Pick<SimulateResult, "runs" | "completed" | "refused"> & { readonly found: Finding }> {
    const { seed, seeds = 100, onEvent } = this.#options;
    const sum = { runs: 0, completed: 0, refused: 0 };
    for (let current = seed ?? 1; current <= (seed ?? seeds); current += 1) {
      const plan = changed(this.#planOf(current));
      const run = await runUserCode(plan, this.#code, onEvent);
      sum.runs += 1;
      sum.completed += run.completed;
      sum.refused += run.refused;
      this.#count(plan, run);
      if (run.violation) return { ...sum, found: await this.#findingOf(plan, run.violation) };
    }
    return { ...sum, found: this.nothing };
  }

  /** Advice that the calls give beside violations. */
  get notes(): readonly string[] {
    const { of, runs, calls, roundTrips } = this.#tooSlow;
    // Fewer may have met slow messages.
    if (runs <= of / 20) return [];
    const nodeTimeout = this.#options.settings?.nodeTimeout ?? this.#nodeTimeout;
    return [
      `nodeTimeout is below the round trip in ${runs} of ${counted(of, "run")}: ${calls} calls that no fault disturbed found no quorum. ` +
        `It is ${nodeTimeout} ms unless a call sets its own, and there the network's round trip takes ${Math.round(roundTrips / runs)} ms on average`,
    ];
  }

  #count({ network }: Plan, { undisturbed: { answered, noQuorum } }: CodeRun): void {
    this.#tooSlow.of += 1;
    if (noQuorum <= answered) return;
    this.#tooSlow.runs += 1;
    this.#tooSlow.calls += noQuorum;
    this.#tooSlow.roundTrips += 2 * knownOf(network.latency).typical;
  }

  /** The same run once more, and all of it seen. */
  async #findingOf(plan: Plan, violation: Violation): Promise<Finding> {
    const incident = new Incident();
    await runUserCode(plan, this.#code, (time, words) => incident.see(time, words));
    const { kind, at, detail } = violation;
    const { masters, clients, seed, network } = plan;
    const setting =
      `${counted(masters.length, "master")}, ${counted(clients.length, "client")}, a ttl of ${this.#ttl} ms; ` +
      `a message takes ${knownOf(network.latency).typical.toFixed(1)} ms`;
    return {
      violation: `${kind} at ${at.toFixed(3)} ms: ${detail}`,
      seed,
      story: [
        setting,
        ...incident.lines(violation),
        ...(isStalledBeforeWrites(plan) ? fencingAdvice : adviceFor)(incident, violation),
      ],
      picture: async () => incidentPicture(incident, violation, `Seed ${seed}`),
    };
  }

  #planOf(seed: number): Plan {
    const { clients = 3, masters = 5, faults } = this.#options;
    // Of the network, whose latencies are up to 0.7 of it, twice that with their jitter: a round trip is within what the client waits by default.
    const settings = { ...defaults, ttl: this.#ttl, nodeTimeout: 0.35 * this.#nodeTimeout };
    const given = { masters, clients, settings };
    if (faults === undefined) return planOfSeed(seed, given);
    if (isExcept(faults)) {
      const { except } = faults;
      return planOfSeed(seed, { ...given, kinds: promised.kinds.filter((kind) => !except.includes(kind)) });
    }
    const isExact = faults.some((fault) => typeof fault === "object");
    const plan = planOfSeed(seed, { ...given, kinds: isExact ? [] : (faults as readonly FaultName[]) });
    return isExact ? withFaults(plan, faults as readonly Fault[]) : plan;
  }
}
