// To run a simulation.

export {
  allMarks,
  type Mark,
  type Verdict,
  type Violation,
  type ViolationKind,
} from "./checkers/findings.ts";
// The parts, for simulations of your own.
export { Clocks, type ClocksOptions, type PartsPerMillion } from "./clocks/clocks.ts";
export type { Engine, EngineKind, EventId } from "./engine/engine.ts";
export { engineOf } from "./engine/engine-of.ts";
export { Kernel } from "./engine/kernel.ts";
export { Process, type ProcessOptions } from "./engine/process.ts";
export { Trace, type TraceValue } from "./engine/trace.ts";
export type { CrashKind, Persistence } from "./master/durability.ts";
export { Master } from "./master/master.ts";
export type { Latency } from "./network/latency.ts";
// What is simulated, as data.
export type { Fault, FaultKind, FaultName, Targets } from "./plan/fault.ts";
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
export { promisedPlan } from "./plan/swarm.ts";
export { Random } from "./random.ts";
export { type Outcome, type SimulateOptions, simulate } from "./run/simulate.ts";
export { type Subject, theClient } from "./run/subject.ts";
