import type { Context } from "../protocol/context.ts";
import { answerOf, questionOf } from "../protocol/question.ts";
import type { Mark } from "../protocol/request.ts";
import type { Timer } from "../time/runtime.ts";

/** How long a mark lasts beside one `nodeTimeout` after its last renewal, and the time between two renewals, ms. */
const lifetime = 2000;
const interval = 500;

/**
 * Keeps further readers out while a writer retries without a queue (PROTOCOL 10.8). Each call has a mark under its own
 * name, so a writer that gives up or is granted removes no other's.
 */
export class WaitingMark implements Mark {
  readonly #context: Pick<Context, "nodes" | "runtime" | "tokens">;
  readonly #key: string;
  readonly #lifetime: number;
  readonly #name: string;
  #timer: Timer | undefined;

  constructor(context: Pick<Context, "nodes" | "runtime" | "tokens">, key: string, nodeTimeout: number) {
    this.#context = context;
    this.#key = key;
    this.#lifetime = lifetime + nodeTimeout;
    this.#name = context.tokens.next();
  }

  /** Makes it, and goes on to renew it: so it outlasts any pause, and not this process. */
  keep(): void {
    if (!this.#timer) this.#renew();
  }

  remove(): void {
    if (!this.#timer) return;
    this.#timer.cancel();
    this.#timer = undefined;
    this.#write(0);
  }

  /** Also makes it on masters where readers have come since. */
  #renew(): void {
    this.#write(this.#lifetime);
    this.#timer = this.#context.runtime.setTimer(() => this.#renew(), interval);
  }

  /** A master that this does not reach lets the mark expire. */
  #write(ttl: number): void {
    const mark = questionOf({ verb: "mark", keys: [this.#key], words: [this.#name], ttl });
    for (const node of this.#context.nodes) void answerOf(node, mark);
  }
}
