import { NotSent } from "../adapters/link.ts";
import type { Batch } from "../redis/batch.ts";
import type { Args } from "../redis/connection.ts";
import { timeLeftIn, UnexpectedReply } from "../redis/reply-numbers.ts";

export type Command = readonly [name: string, args: readonly (string | number)[]];

/**
 * The steps of one question: each is sent on the connection of its batch, or not at all (PROTOCOL 2.16). Between two steps
 * the client library may replace the connection, perhaps by one to another database, where no key is watched and no
 * transaction is open.
 */
export class Steps {
  readonly batch: Batch;
  /** Whether one of them may have set or deleted a key. */
  hasWritten = false;

  constructor(batch: Batch) {
    this.batch = batch;
  }

  /** Rejects with {@link NotSent} if the connection is gone. */
  send(command: string, args: Args): Promise<unknown> {
    const { isCurrent, connection } = this.batch;
    return isCurrent
      ? connection.send(command, args)
      : Promise.reject(new NotSent(connection.notReadyReason));
  }
}

/** The state of a key when it was read. */
export interface FoundKey {
  /** `undefined` if the key is free. */
  readonly owner: string | undefined;
  /** The remaining time, ms: 0 if the key is free, `Infinity` without expiry. */
  readonly remaining: number;
}

/**
 * The maximum number of transactions for one question, if keys change during each of them. Each takes two round
 * trips.
 */
export const maxTransactions = 5;

/**
 * Reads keys and writes them without a change in between, by WATCH and EXEC: the equivalent of a script. It
 * takes two round trips: WATCH, the reads and MULTI; then the writes and EXEC, which does nothing if a key
 * was changed meanwhile.
 *
 * MULTI is sent with the reads, so that its success is known before any write. Where MULTI is forbidden or
 * renamed, later writes would be executed one by one, on keys in any state.
 *
 * Until it is over, the connection treats every command as part of the transaction: nothing else may be sent. All commands
 * go on that one connection or not at all: on the next one, the writes would be executed one by one, perhaps in another
 * database (PROTOCOL 2.16).
 *
 * `decide` returns the writes, or the answer if nothing is to be written; `read` the answer in the replies, or `undefined` if
 * all is to be done again. `undefined` if the keys changed during each transaction. Rejects with the error of the master or
 * of the connection.
 */
export async function transact<A extends object>(
  steps: Steps,
  keys: readonly string[],
  decide: (found: readonly FoundKey[]) => readonly Command[] | A,
  read: (
    replies: readonly unknown[],
    writes: readonly Command[],
    found: readonly FoundKey[],
  ) => A | undefined,
): Promise<A | undefined> {
  for (let count = 0; count < maxTransactions; count += 1) {
    const found = await begin(steps, keys);
    const writes = decide(found);
    if (!isList(writes)) {
      discard(steps);
      return writes;
    }
    const replies = await commit(steps, writes);
    const answer = replies && read(replies, writes, found);
    if (answer) return answer;
  }
  return undefined;
}

function isList(decided: readonly Command[] | object): decided is readonly Command[] {
  return Array.isArray(decided);
}

async function begin(steps: Steps, keys: readonly string[]): Promise<readonly FoundKey[]> {
  const reads = keys.flatMap((key): Command[] => [
    ["GET", [key]],
    ["PTTL", [key]],
  ]);
  const replies = await repliesTo(steps, [["WATCH", keys], ...reads, ["MULTI", []]]);
  try {
    const [watch, ...rest] = replies.map((reply) => (isWrongType(reply) ? otherType : valueIn(reply)));
    const multi = rest.pop();
    for (const reply of [watch, multi]) if (reply !== "OK") throw new UnexpectedReply(reply);
    return keys.map((_, index) => foundKeyIn(rest[2 * index], rest[2 * index + 1]));
  } catch (error) {
    // If MULTI failed as well, the keys stay watched. At worst the next EXEC does nothing, and its
    // transaction is repeated.
    if (replies.at(-1)?.status === "fulfilled") discard(steps);
    throw error;
  }
}

/** The reply to each command; `undefined` if nothing was executed because a key was changed. */
async function commit(steps: Steps, commands: readonly Command[]): Promise<readonly unknown[] | undefined> {
  const replies = await repliesTo(steps, [...commands, ["EXEC", []]]);
  try {
    // The first failure has the reason; EXEC after it reports only that the transaction was discarded.
    const executed = replies.map(valueIn).pop();
    if (executed === null) return undefined;
    if (!Array.isArray(executed) || executed.length !== commands.length) throw new UnexpectedReply(executed);
    const failure = executed.find((reply) => reply instanceof Error);
    steps.hasWritten = true;
    if (failure) throw failure;
    return executed;
  } catch (error) {
    // If EXEC itself is refused, the transaction may still be open.
    const exec = replies.at(-1);
    if (exec?.status === "rejected" && steps.batch.connection.isErrorReply(exec.reason)) discard(steps);
    throw error;
  }
}

/** Discards an open transaction and unwatches its keys. */
function discard(steps: Steps): void {
  // If this fails, the next command fails too. If the connection is gone, so is the transaction.
  steps.send("DISCARD", []).catch(() => {});
}

/** Sends all commands at once and waits for every reply. */
function repliesTo(steps: Steps, commands: readonly Command[]): Promise<PromiseSettledResult<unknown>[]> {
  return Promise.allSettled(commands.map(([name, args]) => steps.send(name, args)));
}

/** The owner of a key that is not a string, until its type is known. It matches no token. */
export const otherType = "(no string)";

function isWrongType(result: PromiseSettledResult<unknown>): boolean {
  return (
    result.status === "rejected" && /^WRONGTYPE\b/.test((result.reason as Error | undefined)?.message ?? "")
  );
}

function valueIn(result: PromiseSettledResult<unknown>): unknown {
  if (result.status === "rejected") throw result.reason;
  return result.value;
}

/** The state of a key from its GET and PTTL replies. */
export function foundKeyIn(owner: unknown, pttl: unknown): FoundKey {
  const left = timeLeftIn(pttl);
  if (left === undefined) throw new UnexpectedReply(pttl);
  if (owner !== null && typeof owner !== "string") throw new UnexpectedReply(owner);
  // The key may have appeared or disappeared between the two commands. If that matters, EXEC does nothing.
  if (owner === null || pttl === -2) return { owner: undefined, remaining: 0 };
  return { owner, remaining: left };
}
