import type { Session } from "../adapters/session.ts";
import { timeLeftIn, UnexpectedReply } from "../redis/reply-numbers.ts";

export type Command = readonly [name: string, args: readonly (string | number)[]];

/** The state of a key when it was read. */
export interface FoundKey {
  /** `undefined` if the key is free. */
  readonly owner: string | undefined;
  /** The remaining time, ms: 0 if the key is free, `Infinity` without expiry. */
  readonly remaining: number;
}

/**
 * Reads keys and writes them without a change in between, by WATCH and EXEC: the equivalent of a script. It
 * takes two round trips: WATCH, the reads and MULTI; then the writes and EXEC, which does nothing if a key
 * was changed meanwhile.
 *
 * MULTI is sent with the reads, so that its success is known before any write. Where MULTI is forbidden or
 * renamed, later writes would be executed one by one, on keys in any state.
 *
 * From `begin` to `commit` or `discard`, the connection treats every command as part of the transaction:
 * nothing else may be sent. All commands go on that one connection or not at all: on the next one, the writes
 * would be executed one by one, perhaps in another database (PROTOCOL 2.16).
 */
export class Transaction {
  /** One for each key, in order. */
  readonly found: readonly FoundKey[];
  readonly #session: Session;

  private constructor(session: Session, found: readonly FoundKey[]) {
    this.#session = session;
    this.found = found;
  }

  /** Rejects with the error of the master or of the connection. */
  static async begin(session: Session, keys: readonly string[]): Promise<Transaction> {
    const reads = keys.flatMap((key): Command[] => [
      ["GET", [key]],
      ["PTTL", [key]],
    ]);
    const replies = await repliesTo(session, [["WATCH", keys], ...reads, ["MULTI", []]]);
    try {
      const [watch, ...rest] = replies.map((reply) => (isWrongType(reply) ? otherType : valueIn(reply)));
      const multi = rest.pop();
      for (const reply of [watch, multi]) if (reply !== "OK") throw new UnexpectedReply(reply);
      return new Transaction(
        session,
        keys.map((_, index) => foundKeyIn(rest[2 * index], rest[2 * index + 1])),
      );
    } catch (error) {
      // If MULTI failed as well, the keys stay watched. At worst the next EXEC does nothing, and its
      // transaction is repeated.
      if (replies.at(-1)?.status === "fulfilled") discard(session);
      throw error;
    }
  }

  /** The reply to each command; `undefined` if nothing was executed because a key was changed. */
  async commit(commands: readonly Command[]): Promise<readonly unknown[] | undefined> {
    const replies = await repliesTo(this.#session, [...commands, ["EXEC", []]]);
    try {
      // The first failure has the reason; EXEC after it reports only that the transaction was discarded.
      const executed = replies.map(valueIn).pop();
      if (executed === null) return undefined;
      if (!Array.isArray(executed) || executed.length !== commands.length)
        throw new UnexpectedReply(executed);
      const failure = executed.find((reply) => reply instanceof Error);
      this.#session.hasWritten = true;
      if (failure) throw failure;
      return executed;
    } catch (error) {
      // If EXEC itself is refused, the transaction may still be open.
      const exec = replies.at(-1);
      if (exec?.status === "rejected" && this.#session.isErrorReply(exec.reason)) this.discard();
      throw error;
    }
  }

  /** Discards the transaction and unwatches its keys. Later commands come after that. */
  discard(): void {
    discard(this.#session);
  }
}

/** Discards an open transaction and unwatches its keys. */
function discard(session: Session): void {
  // If this fails, the next command fails too. If the connection is gone, so is the transaction.
  session.send("DISCARD", []).catch(() => {});
}

/** Sends all commands at once and waits for every reply. */
function repliesTo(session: Session, commands: readonly Command[]): Promise<PromiseSettledResult<unknown>[]> {
  return Promise.allSettled(commands.map(([name, args]) => session.send(name, args)));
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
