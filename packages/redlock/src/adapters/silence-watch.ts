import type { Runtime, Timer } from "../time/runtime.ts";

/**
 * A connection is silent if a command waits for a whole period and no reply to any command arrives, ms. 1 s
 * is well above a normal round trip.
 */
const minPeriod = 1000;
/**
 * The period doubles while no reply arrives, up to this, ms: a dead connection is tested less and less often.
 */
const maxPeriod = 16_000;

/** The connection's reactions to silence. */
export interface SilenceListener {
  /** Called once for each period in which a command waited and no reply arrived. */
  onSilence(): void;
  /** Called when a command is answered or rejected after a silence. */
  onAnswer(): void;
  /** Whether a rejection is an error reply of the master. */
  isErrorReply(error: unknown): boolean;
}

/**
 * Detects silent connections. TCP alone does not: a half-open connection, whose peer has vanished, looks like
 * a slow one until the kernel gives up many minutes later.
 *
 * Counts commands and replies, and compares the counts once per period, so a command costs no clock reading
 * and no timer of its own.
 */
export class SilenceWatch {
  readonly #runtime: Pick<Runtime, "setTimer">;
  readonly #listener: SilenceListener;
  #unanswered = 0;
  #answers = 0;
  #period = minPeriod;
  /** Runs while commands may be waiting. */
  #timer: Timer | undefined;

  constructor(runtime: Pick<Runtime, "setTimer">, listener: SilenceListener) {
    this.#runtime = runtime;
    this.#listener = listener;
  }

  /** Records that a command was sent. */
  onSent(): void {
    this.#unanswered += 1;
    if (!this.#timer) this.#schedule();
  }

  /** Records that a command was answered, or failed with `error`. */
  onSettled(error: unknown): void {
    const isAnswer = error === undefined || this.#listener.isErrorReply(error);
    this.#unanswered -= 1;
    this.#answers += 1;
    if (this.#period === minPeriod) return;
    if (isAnswer) this.#restart();
    this.#listener.onAnswer();
  }

  /** The master answers again: the period starts from its minimum. */
  #restart(): void {
    this.#period = minPeriod;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#unanswered > 0) this.#schedule();
  }

  #schedule(): void {
    const answers = this.#answers;
    this.#timer = this.#runtime.setTimer(() => {
      this.#timer = undefined;
      if (this.#unanswered === 0) return;
      const isSilent = this.#answers === answers;
      if (isSilent) this.#period = Math.min(2 * this.#period, maxPeriod);
      this.#schedule();
      if (isSilent) this.#listener.onSilence();
    }, this.#period);
    this.#timer.unref();
  }
}
