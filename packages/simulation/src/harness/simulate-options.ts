import { InvalidArgumentError, type Redlock, type RedlockOptions } from "@quorlock/redlock";
import { suggestion } from "../command-line/nearest.ts";
import type { TraceValue } from "../engine/trace.ts";
import { type Fault, type FaultName, faultNames } from "../plan/fault.ts";
import type { Plan } from "../plan/plan.ts";
import { PlanError, validPlan } from "../plan/validate.ts";
import type { Remote } from "./remote.ts";

/** The context of the code under test, in the process in which it runs. */
export interface ClientContext<Resource> {
  /** A `Redlock` of this process, over its own connections to the masters. */
  readonly redlock: Redlock;
  /** The resource that the lock protects, on a separate machine. */
  readonly resource: Remote<Resource>;
  /** The number of this client, from 0, and the number of its earlier runs. */
  readonly index: number;
  readonly round: number;
  /** Waits, by this process's timers. (`setTimeout` would wait in real time.) */
  readonly pause: (ms: number) => Promise<void>;
  /** Seeded, in [0, 1). (`Math.random` would be another run each time.) */
  readonly random: () => number;
}

export interface SimulateOptions<Resource extends object> {
  /** Makes what the lock protects, a new one for each run. Its methods run on a separate machine, one call at a time. */
  readonly resource: () => Resource;
  /**
   * The code of each client process, called several times. It may fail to lock: the client's own errors are expected.
   */
  readonly client: (context: ClientContext<Resource>) => Promise<unknown>;
  /**
   * The user's invariant of the resource: throws, or returns a description of the problem (or `false`); `undefined` or
   * `true` if there is none. It is called after each call to the resource, and its result is judged at once: a promise, a
   * generator and any other value are refused.
   */
  readonly invariant?: (resource: Resource) => unknown;
  /** How many runs, each with other clocks, latencies and faults. Default 100. */
  readonly seeds?: number;
  /** Only this one: to look at a run again. */
  readonly seed?: number;
  /** Client processes. Default 3. */
  readonly clients?: number;
  /** Default 5. */
  readonly masters?: number;
  /** How often each client runs its code. Default 5. */
  readonly rounds?: number;
  /** The ttl of your locks, ms: pauses, cuts and latencies are drawn in proportion. Default 1000. */
  readonly ttl?: number;
  /** For each client's `Redlock`. Default: waits up to ten ttls. */
  readonly settings?: Omit<RedlockOptions, "runtime">;
  /**
   * The kinds of faults that may happen, all but some, or exactly these. Default: all that correct code survives, and then, as a
   * second question, processes that are stopped between a look at the lock and what they do then, against which no lock
   * helps. That is asked unless you choose the faults, or except `stall`.
   */
  readonly faults?: readonly FaultName[] | readonly Fault[] | { readonly except: readonly FaultName[] };
  /** From when on waiting is a violation. */
  readonly limits?: {
    /** How much longer than the faults the code may go on, ms. Default: 600 ttls. */
    readonly time?: number;
    /** How long clients may wait for each other, ms; less if a lease ends meanwhile. Default: the ttl. */
    readonly deadlock?: number;
    /** How many who asked later may be served before a client. Default: 100. */
    readonly starvation?: number;
  };
  /** Sees everything that happens, in the order of true time, us. */
  readonly onEvent?: (time: number, entry: readonly TraceValue[]) => void;
}

// A misspelt option would silently do nothing, and a wrong number of runs would be none: both would end "ok".

type Check = (name: string, value: unknown) => void;

const whole =
  (least: number, most = Number.MAX_SAFE_INTEGER): Check =>
  (name, value) => {
    if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most) return;
    throw invalid(`${name} must be a whole number from ${least} to ${most}, but is ${shown(value)}`);
  };

const callable: Check = (name, value) => {
  if (typeof value !== "function") throw invalid(`${name} must be a function, but is ${shown(value)}`);
};

function record(name: string, value: unknown): void {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw invalid(`${name} must be an object, but is ${shown(value)}`);
}

const limitChecks: Readonly<Record<string, Check>> = {
  time: whole(1),
  deadlock: whole(1),
  starvation: whole(1),
};

/** Clients and masters by number: each pair has connections. */
const most = 1000;

const checks: { readonly [Name in keyof Required<SimulateOptions<object>>]: Check } = {
  resource: callable,
  client: callable,
  invariant: callable,
  seeds: whole(1),
  seed: whole(0),
  clients: whole(1, most),
  masters: whole(1, most),
  rounds: whole(1),
  ttl: whole(1, 2_000_000),
  settings: record,
  faults: checkFaults,
  limits(name, value) {
    record(name, value);
    checkEach(`${name}.`, value as object, limitChecks);
  },
  onEvent: callable,
};

/** (A slot moves in a Cluster only.) */
const kinds: readonly string[] = faultNames.filter((name) => name !== "reshard");

/** @throws InvalidArgumentError for an unknown option, with the nearest name, and for a value that is none. */
export function checkSimulateOptions(options: unknown): void {
  if (typeof options !== "object" || options === null || Array.isArray(options))
    throw invalid(`the options of simulate must be an object, but are ${shown(options)}`);
  checkEach("", options, checks);
  for (const name of ["resource", "client"] as const)
    callable(name, (options as Record<string, unknown>)[name]);
}

function checkEach(prefix: string, options: object, known: Readonly<Record<string, Check>>): void {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue;
    const full = `${prefix}${name}`;
    if (!Object.hasOwn(known, name))
      throw invalid(`unknown option "${full}" of simulate: ${suggestion(name, Object.keys(known))}`);
    known[name]!(full, value);
  }
}

/** Whether all kinds are meant but these. */
export function isExcept(
  faults: NonNullable<SimulateOptions<object>["faults"]>,
): faults is { readonly except: readonly FaultName[] } {
  return !Array.isArray(faults);
}

function checkFaults(name: string, value: unknown): void {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    checkEach(`${name}.`, value, { except: checkKinds });
    checkKinds(`${name}.except`, (value as Record<string, unknown>)["except"]);
    return;
  }
  if (!Array.isArray(value)) throw invalid(`${name} must be a list, but is ${shown(value)}`);
  const names = value.filter((fault) => typeof fault === "string");
  if (names.length > 0 && names.length < value.length)
    throw invalid(`${name} must be kinds of faults, or exact faults, but not both`);
  checkKinds(name, names);
}

function checkKinds(name: string, value: unknown): void {
  if (!Array.isArray(value)) throw invalid(`${name} must be a list, but is ${shown(value)}`);
  for (const kind of value) {
    if (!kinds.includes(kind)) throw invalid(`${name}: unknown kind "${kind}": ${suggestion(kind, kinds)}`);
  }
}

/** The plan with these faults. @throws InvalidArgumentError for a fault that could not happen in it. */
export function withFaults(plan: Plan, faults: readonly Fault[]): Plan {
  try {
    return validPlan({ ...plan, faults });
  } catch (error) {
    throw error instanceof PlanError ? invalid(error.message.replace(/^plan\./, "")) : error;
  }
}

function invalid(message: string): InvalidArgumentError {
  return new InvalidArgumentError(message);
}

export function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "function") return "a function";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" && value !== null ? "an object" : String(value);
}
