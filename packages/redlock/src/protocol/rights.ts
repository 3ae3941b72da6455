/**
 * The rights that locks need: `ready` and `quorlock doctor` try them, and a test compares docs/permissions.md with them. Each command
 * may have words with which it is tried: behind a key that does not exist they change nothing.
 */
export const rights = {
  /** Executed by claims, extensions and releases. */
  locks: ["GET", "PTTL", "DEL", "PEXPIRE,1", "SET,-,XX,PX,1"],
  /** Added by queues: these commands, and these keys. */
  queues: ["EXISTS", "ZCARD", "ZRANGE,0,0", "ZREM,-", "ZADD,XX,1,-"],
  keysOfQueues: "~quorlock:*",
  scripts: ["EVAL", "EVALSHA"],
  /** Without them locks are slower, or less is known: of keys, and without a key. */
  helpful: ["MGET", "PUBLISH,-", "PUBSUB|NUMSUB", "PING"],
  keyless: ["TIME", "SUBSCRIBE", "INFO"],
  channels: ["resetchannels", "&quorlock:*"],
  /** Added by `restartGuard`, by shared claims, and by clients without scripts. */
  guard: ["OBJECT|ENCODING", "SETRANGE,0,"],
  shared: ["TIME", "ZSCORE,-"],
  transactions: ["WATCH", "MULTI", "EXEC", "DISCARD"],
} as const;

/** As an ACL rule has it behind its plus. */
export const commandIn = (words: string): string => words.split(",")[0]!.toLowerCase();
