// To test your own code.

export type { Remote } from "./harness/remote.ts";
export { type Finding, type SimulateOptions, type SimulateResult, simulate } from "./harness/simulate.ts";
export type { ClientContext } from "./harness/simulate-options.ts";

// To run the client, or something in its place.

export {
  allMarks,
  type Mark,
  type Verdict,
  type Violation,
  type ViolationKind,
} from "./checkers/findings.ts";
export { promisedPlan } from "./plan/swarm.ts";
export { type Outcome, type RunOptions, runPlan } from "./run/run-plan.ts";
export { type Subject, type SubjectClient, type SubjectLock, theClient } from "./run/subject.ts";
export type { Scenario } from "./scenarios/scenario.ts";
export { scenarios } from "./scenarios/scenarios.ts";

// To see it.

export { type Recording, record } from "./pictures/recording.ts";
export { timeline, type Viewer } from "./pictures/timeline.ts";

// The data types of plans and runs.

export type { AtMoment, Fault, FaultKind, FaultName, Moment, Targets, When } from "./plan/fault.ts";
export type {
  ClientPlan,
  ClockPlan,
  LockSettings,
  MasterPlan,
  NetworkPlan,
  Plan,
  Style,
  Workload,
} from "./plan/plan.ts";

// The parts, for your own simulations.

export { Clocks, type ClocksOptions, type PartsPerMillion } from "./clocks/clocks.ts";
export { Engine, type EventId } from "./engine/engine.ts";
export { Kernel } from "./engine/kernel.ts";
export { Process, type ProcessOptions } from "./engine/process.ts";
export { Trace, type TraceValue } from "./engine/trace.ts";
export type { CrashKind, Persistence } from "./master/durability.ts";
export { Master } from "./master/master.ts";
export type { Latency } from "./network/latency.ts";
export { Random } from "./random.ts";
