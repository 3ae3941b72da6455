// The subpath `internal`: the types and functions for adapters to other client libraries, for other kinds of
// masters and for simulated ones. It may change in any release.

export { type ListedMaster, leastDistinct, quorumsIntersect } from "../owners/membership.ts";
export {
  type HeldLock,
  maxRecordedLocks,
  type OwnerRecord,
  ownerKey,
  ownersKey,
  recordIn,
  recordLifetime,
} from "../owners/owner-record.ts";
export type {
  Answer,
  Claim,
  Entry,
  Fault,
  Grant,
  Guard,
  GuardState,
  KeyState,
  LockNode,
  LockQueue,
  MasterServer,
  No,
  OnPush,
  Outcome,
  Push,
  Question,
  RecordStore,
  Sink,
  Timed,
  Verb,
  Wake,
  Yes,
} from "../protocol/node.ts";
export { answerOf, questionOf } from "../protocol/question.ts";
export type { ClockJudge, ClockReadings, Moment, Reading } from "../protocol/reading.ts";
export { commandIn, rights } from "../protocol/rights.ts";
export {
  batchScript,
  claimScript,
  enqueueScript,
  guardedClaimScript,
  guardedReleaseScript as guardedLeaveScript,
  ownerScript,
  releaseAndGrantScript as leaveScript,
  releaseBatchScript,
  releaseScript,
  type Script,
  sharedBatchScript,
  voteBatchScript,
  waitersScript,
} from "../scripts.generated.ts";
export { constructorOptions } from "../settings/options.ts";
export type { Args, Connection, Done, Message } from "./connection.ts";
export { RedisNode } from "./redis-node.ts";
