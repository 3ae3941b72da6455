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
// For those who bring another client library, or another time.
export type {
  Answer,
  Claim,
  Fault,
  Guard,
  GuardState,
  Hear,
  Holding,
  LockNode,
  LockQueue,
  MasterClock,
  Moment,
  No,
  Push,
  QueueEntry,
  Reading,
  ReleaseAnswer,
  Settle,
  SettleVote,
  Timed,
  Yes,
} from "./protocol/node.ts";
export type { Connection } from "./redis/connection.ts";
export {
  batchScript,
  claimScript,
  enqueueScript,
  guardedClaimScript,
  guardedLeaveScript,
  leaveScript,
  releaseBatchScript,
  releaseScript,
  type Script,
  voteBatchScript,
} from "./redis/lua/scripts.ts";
export { RedisNode } from "./redis/redis-node.ts";
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
export type { Runtime, Timer } from "./time/runtime.ts";
export { systemRuntime } from "./time/system.ts";
