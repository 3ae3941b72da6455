// For everyone.

export type { IoredisClient } from "./adapters/ioredis/ioredis.ts";
export type { Client, CustomScripts, RedlockOptions } from "./client.ts";
export {
  AbortError,
  ClosedError,
  ExecutionError,
  type ExecutionStats,
  InvalidArgumentError,
  LockLostError,
  NodeError,
  type NodeErrorReason,
  RedlockError,
  type RedlockErrorCode,
  ResourceLockedError,
} from "./errors.ts";
export { type DetachedLock, Lock } from "./holding/lock.ts";
export type { RedlockAbortSignal, Routine } from "./holding/using.ts";
export type { Inspection } from "./protocol/inspect.ts";
export type { LockState, ReleaseResult } from "./protocol/lease.ts";
// What it is made of, for those who bring one of their own, has the subpath `internal`.
export type { LockNode } from "./protocol/node.ts";
export type { AcquireOptions, RedlockEvents } from "./redlock.ts";
export { Redlock, Redlock as default } from "./redlock.ts";
export type { ClockEvent } from "./safeguards/clock-watch.ts";
export type { RestartGuardOptions } from "./safeguards/restart-guard.ts";
// For those who tune the waiting.
export {
  type ExponentialBackoffOptions,
  exponentialBackoff,
  fixedBackoff,
} from "./settings/backoff.ts";
export type { Backoff, ClockWatchOptions, Refusal, Settings } from "./settings/settings.ts";
// For those who bring another time.
export type { Runtime, Timer } from "./time/runtime.ts";
export { systemRuntime } from "./time/system.ts";
