// The subpath `internal`: what is needed to bring another client library, a master of one's own, or a simulated one. It
// may change in any release.

export type {
  Answer,
  Claim,
  Fault,
  Guard,
  GuardedMaster,
  GuardState,
  Holding,
  LockNode,
  LockQueue,
  MasterClock,
  MasterServer,
  Moment,
  No,
  OnAnswer,
  OnPush,
  OnVote,
  Push,
  Question,
  QueueEntry,
  Reading,
  ReleaseAnswer,
  Timed,
  Yes,
} from "../protocol/node.ts";
export type { Args, Connection, Done } from "./connection.ts";
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
} from "./lua/scripts.ts";
export { RedisNode } from "./redis-node.ts";
