import type { Outcome } from "../protocol/node.ts";
import { questionOf } from "../protocol/question.ts";
import { rights } from "../protocol/rights.ts";
import type { Asker, Posted } from "../redis/posted.ts";
import type { Steps } from "./transaction.ts";

type Replies = ReadonlyArray<PromiseSettledResult<unknown>>;

/**
 * Executes what claims, extensions and releases execute, on a key that nobody locks, all at once. It waits its turn like a
 * question: within the transaction of another it would end that one.
 */
export class Trial implements Asker {
  readonly isAlone = true;
  readonly posted: Posted;
  readonly #key: string;
  readonly #onReplies: (replies: Replies) => void;
  #replies: Replies = [];

  constructor(key: string, onReplies: (replies: Replies) => void) {
    this.#key = key;
    this.#onReplies = onReplies;
    const question = questionOf({ verb: "inspect", keys: [key], words: [] });
    const sink = { answered: () => {} };
    this.posted = { question, place: 0, sink, purpose: "request", readsTime: false, asker: this };
  }

  async run(steps: Steps): Promise<Outcome> {
    const replies = [...rights.locks, ...rights.transactions].map((words) => {
      const [command = "", ...args] = words.split(",");
      return steps.send(command, /MULTI|EXEC|DISCARD/.test(command) ? [] : [this.#key, ...args]);
    });
    this.#replies = await Promise.allSettled(replies);
    return { is: "done" };
  }

  /** Without replies if it was not sent. */
  settled(): void {
    this.#onReplies(this.#replies);
  }
}
