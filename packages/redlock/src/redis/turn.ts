import type { Posted } from "./batch.ts";
import { type Encoded, encode, isEncodingOf } from "./commands.ts";

interface Flushed {
  flush(): void;
}

const microtask = Promise.resolve();

/**
 * Shared by the masters of this process, whichever Redlocks they belong to: they are asked in one turn of the event loop,
 * mostly the same. So they send at the end of that turn, and what is encoded for one of them usually fits the next
 * (PROTOCOL 12.1). No object of one Redlock can hold it.
 */
class Turn {
  #senders: Flushed[] = [];
  #latest: Encoded | undefined;

  has(sender: Flushed): boolean {
    return this.#senders.includes(sender);
  }

  /** Flushes it in a microtask behind the code that asks now. */
  flushAtEnd(sender: Flushed): void {
    if (this.#senders.length === 0) void microtask.then(this.#flushAll);
    this.#senders.push(sender);
  }

  readonly #flushAll = (): void => {
    const senders = this.#senders;
    this.#senders = [];
    for (const sender of senders) {
      try {
        sender.flush();
      } catch (error) {
        // A bug at one master must not keep the others from being asked. The process still sees the error.
        void Promise.reject(error);
      }
    }
  };

  /** The command for the questions of one batch. */
  encoded(posted: readonly Posted[]): Encoded {
    if (!this.#latest || !isEncodingOf(this.#latest, posted)) this.#latest = encode(posted);
    return this.#latest;
  }

  /** Drops the encoding: a master has answered, so the others have been sent theirs. */
  forget(encoded: Encoded): void {
    if (this.#latest === encoded) this.#latest = undefined;
  }
}

export const turn: Turn = new Turn();
