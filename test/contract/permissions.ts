import { commandIn, rights } from "@quorlock/redlock/internal";

// The ACL rules of the documentation, word for word (./permissions.test.ts): the tests run under them.

const allowing = (...commands: readonly string[]): readonly string[] =>
  commands.map((words) => `+${commandIn(words)}`);

const [reset, channels] = rights.channels;

export const documentedRule: readonly string[] = [
  reset,
  "~lock:*",
  rights.keysOfQueues,
  channels,
  ...allowing(...rights.locks, ...rights.queues, ...rights.helpful, ...rights.keyless, ...rights.scripts),
];

/** Where no call waits in a queue. */
export const documentedRuleWithoutQueues: readonly string[] = [
  "~lock:*",
  ...allowing(...rights.locks, ...rights.scripts, "INFO"),
];

/** For clients without scripts. */
export const documentedRuleWithoutScripts: readonly string[] = [
  reset,
  "~lock:*",
  ...allowing(...rights.locks, ...rights.transactions, "INFO"),
];

/** The commands that readers and writers need in addition to the first rule, and `restartGuard`. */
export const documentedRuleOfReaders: readonly string[] = allowing(...rights.shared);
export const documentedRuleOfGuard: readonly string[] = allowing(...rights.guard);
