import type { Runtime, Timer } from "../time/runtime.ts";

/** A connection is silent when a command waits for so long, and no reply to any command comes meanwhile, ms. */
const shortestSilence = 1000;
/** The period doubles while no reply comes, up to this, ms. */
const longestSilence = 16_000;

/** What the connection does about silence. */
export interface Listening {
  /** No reply has come for a whole period, and a command waits for one. Called once for each such period. */
  silent(): void;
  /** A command has been answered, or rejected, since it was silent. */
  heard(): void;
  /** Whether a rejection is the master's own answer. */
  isReply(error: unknown): boolean;
}

/**
 * Tells when a connection is silent. TCP alone does not: a peer that vanished without a word (a half-open connection) looks
 * like one that thinks, until the kernel gives up, many minutes later.
 *
 * It counts, and looks at the counts once in a period: a command costs no clock and no timer of its own.
 */
export class SilenceWatch {
  readonly #runtime: Pick<Runtime, "setTimer">;
  readonly #listening: Listening;
  #unanswered = 0;
  #answers = 0;
  #isSilent = false;
  #period = shortestSilence;
  /** Runs while a command may wait. */
  #timer: Timer | undefined;

  constructor(runtime: Pick<Runtime, "setTimer">, listening: Listening) {
    this.#runtime = runtime;
    this.#listening = listening;
  }

  /** A command has been sent. */
  sent(): void {
    this.#unanswered += 1;
    if (!this.#timer) this.#lookLater();
  }

  /** It has been answered, or has failed with `error`. */
  settled(error: unknown): void {
    const isAnswer = error === undefined || this.#listening.isReply(error);
    this.#unanswered -= 1;
    this.#answers += 1;
    if (isAnswer && this.#period > shortestSilence) this.#begin();
    if (!this.#isSilent) return;
    this.#isSilent = false;
    this.#listening.heard();
  }

  /** It answers again: the next silence is noticed as soon as the first was. */
  #begin(): void {
    this.#period = shortestSilence;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#unanswered > 0) this.#lookLater();
  }

  #lookLater(): void {
    const answers = this.#answers;
    this.#timer = this.#runtime.setTimer(() => {
      this.#timer = undefined;
      if (this.#unanswered === 0) return;
      const isSilent = this.#answers === answers;
      if (isSilent) this.#period = Math.min(2 * this.#period, longestSilence);
      this.#lookLater();
      if (!isSilent) return;
      this.#isSilent = true;
      this.#listening.silent();
    }, this.#period);
    this.#timer.unref();
  }
}
