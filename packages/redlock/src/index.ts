export type { RedisClient } from "./adapters/client-libraries.ts";
export type { Client, RedlockOptions } from "./client.ts";
export {
  AbortError,
  type ClientExecutionResult,
  type ClockEvent,
  ClosedError,
  ExecutionError,
  type ExecutionStats,
  InvalidArgumentError,
  LockLostError,
  NodeError,
  type NodeErrorReason,
  type Owner,
  RedlockError,
  type RedlockErrorCode,
  ResourceLockedError,
} from "./errors.ts";
export type { RedlockAbortSignal, Routine } from "./holding/lock.ts";
export { type DetachedLock, Lock, type LockOwner } from "./holding/lock.ts";
export type { ExecutionResult } from "./protocol/execution-stats.ts";
export type { Inspection, Waiter } from "./protocol/inspect.ts";
export type { LockState } from "./protocol/lease.ts";
// The parts for implementing a node are exported by the subpath `internal`.
export type { LockNode } from "./protocol/node.ts";
export type { AcquireOptions, ReadyOptions, RedlockEvents } from "./redlock.ts";
export { Redlock, Redlock as default } from "./redlock.ts";
export type { RestartGuardOptions } from "./safeguards/restart-guard.ts";
// Backoff and settings.
export {
  type ExponentialBackoffOptions,
  exponentialBackoff,
  fixedBackoff,
} from "./settings/backoff.ts";
export type { Backoff, ClockWatchOptions, Settings } from "./settings/settings.ts";
// Clocks, timers and randomness.
export type { Runtime, Timer } from "./time/runtime.ts";
export { systemRuntime } from "./time/system.ts";
