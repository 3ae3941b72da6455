import { timeLeftIn } from "./reply-numbers.ts";
import type { Session } from "./session.ts";

export type Command = readonly [name: string, args: readonly (string | number)[]];

/** What a key was found to be. */
export interface Found {
  /** `undefined` where it is free. */
  readonly owner: string | undefined;
  /** How long it lives, ms: 0 where it is free, `Infinity` where it never expires. */
  readonly left: number;
}

/** A reply that is no answer to its command. */
export class UnexpectedReply extends Error {
  readonly reply: unknown;

  constructor(reply: unknown) {
    super("a reply that is no answer to its command");
    this.reply = reply;
  }
}

/**
 * Look, then write, and nobody in between: what a script does in one step, by WATCH and EXEC. It takes two round
 * trips: WATCH, the reads and MULTI; then the writes and EXEC, which does nothing where a key was touched meanwhile.
 *
 * MULTI goes with the reads, so that it is known to stand before anything is written. Where it is forbidden or renamed,
 * writes behind it would be executed one by one, on whatever they find.
 *
 * From `begin` to `commit` or `discard` the connection takes every command for a part of this: nothing else may be sent. And
 * these are sent on that connection or not at all: on the next one the writes would be executed one by one, on whatever
 * they find, perhaps in another database.
 */
export class Transaction {
  /** For each key, in their order. */
  readonly found: readonly Found[];
  readonly #session: Session;

  private constructor(session: Session, found: readonly Found[]) {
    this.#session = session;
    this.found = found;
  }

  /** Rejects with what the master or the connection says. */
  static async begin(session: Session, keys: readonly string[]): Promise<Transaction> {
    const reads = keys.flatMap((key): Command[] => [
      ["GET", [key]],
      ["PTTL", [key]],
    ]);
    const replies = await repliesTo(session, [["WATCH", keys], ...reads, ["MULTI", []]]);
    try {
      const [watch, ...rest] = replies.map((reply) =>
        isOfAnotherType(reply) ? anotherType : valueIn(reply),
      );
      const multi = rest.pop();
      for (const reply of [watch, multi]) if (reply !== "OK") throw new UnexpectedReply(reply);
      return new Transaction(
        session,
        keys.map((_, index) => foundIn(rest[2 * index], rest[2 * index + 1])),
      );
    } catch (error) {
      // (Where MULTI failed as well, the keys stay watched; at worst the next EXEC does nothing, and is made again.)
      if (replies.at(-1)?.status === "fulfilled") discard(session);
      throw error;
    }
  }

  /** The reply to each command; `undefined` where nothing was executed, since a key has been touched. */
  async commit(commands: readonly Command[]): Promise<readonly unknown[] | undefined> {
    const replies = await repliesTo(this.#session, [...commands, ["EXEC", []]]);
    try {
      // The first that fails tells why: behind it EXEC only says that the transaction was discarded.
      const executed = replies.map(valueIn).pop();
      if (executed === null) return undefined;
      if (!Array.isArray(executed) || executed.length !== commands.length)
        throw new UnexpectedReply(executed);
      const failure = executed.find((reply) => reply instanceof Error);
      this.#session.hasWritten = true;
      if (failure) throw failure;
      return executed;
    } catch (error) {
      // An EXEC that is refused itself may leave the transaction open.
      const exec = replies.at(-1);
      if (exec?.status === "rejected" && this.#session.isReply(exec.reason)) this.discard();
      throw error;
    }
  }

  /** Forgets it, and the keys that are watched. Whatever is sent next comes behind. */
  discard(): void {
    discard(this.#session);
  }
}

/** Forgets whatever transaction is open, and the keys that are watched. */
export function discard(session: Session): void {
  // Where it fails, the next command says so. Where the connection is gone, so is the transaction.
  session.send("DISCARD", []).catch(() => {});
}

/** Sends all of them at once, and waits for every reply. */
function repliesTo(session: Session, commands: readonly Command[]): Promise<PromiseSettledResult<unknown>[]> {
  return Promise.allSettled(commands.map(([name, args]) => session.send(name, args)));
}

/** The value of a key that is no string, as in the scripts: it is somebody's, and belongs to no token. */
const anotherType = "(no string)";

function isOfAnotherType(result: PromiseSettledResult<unknown>): boolean {
  return (
    result.status === "rejected" && /^WRONGTYPE\b/.test((result.reason as Error | undefined)?.message ?? "")
  );
}

function valueIn(result: PromiseSettledResult<unknown>): unknown {
  if (result.status === "rejected") throw result.reason;
  return result.value;
}

/** The replies to GET and PTTL. */
export function foundIn(owner: unknown, pttl: unknown): Found {
  const left = timeLeftIn(pttl);
  if (left === undefined) throw new UnexpectedReply(pttl);
  if (owner !== null && typeof owner !== "string") throw new UnexpectedReply(owner);
  // It may have come or gone between the two questions. Where that matters, EXEC will do nothing.
  if (owner === null || pttl === -2) return { owner: undefined, left: 0 };
  return { owner, left };
}
