import type { NodeError } from "../errors.ts";
import { isInFrame, outside } from "../time/async-context.ts";
import { Latch } from "../time/cancellation.ts";
import { keptFor } from "../time/kept.ts";
import type { LeaseClock } from "../time/lease-clock.ts";
import { maxTimerDelay, type Runtime, type Timer } from "../time/runtime.ts";
import { answered } from "../tracing/channels.ts";
import type { StateLog } from "../tracing/state-log.ts";
import { traceAnswer } from "../tracing/traces.ts";
import { fault, nodeFailed } from "./faults.ts";
import type { Answer, Fault, LockNode, Question, Sink, Timed } from "./node.ts";
import { quorumOf, type Tally } from "./quorum.ts";
import { RoundClocks } from "./round-clocks.ts";

/** A master, as a round asks it. */
export type Voter = Pick<LockNode, "name" | "client" | "ask" | "drainedAt">;

/** The side that asks: its masters and clocks. */
export interface Asking {
  readonly nodes: readonly Voter[];
  readonly runtime: Runtime;
  readonly clock: LeaseClock;
  /** Told of each master's answer. */
  readonly log?: StateLog | undefined;
  /** Gets the error of each answer that is a fault. */
  readonly report?: ((error: NodeError) => void) | undefined;
}

export interface RoundPlan {
  /** The time one master has to answer, ms. All are asked at once, so one timer serves them all. */
  readonly timeout: number;
  /**
   * The time a master has, ms, while it works off other requests of this client: the delay is not its own fault
   * (PROTOCOL 12.9). Default: `timeout`.
   */
  readonly maxTimeout?: number | undefined;
  /** The question that follows such an answer, which does not count as the answer of its master then. */
  readonly followUp?: ((index: number, answer: Answer) => Question | undefined) | undefined;
  /**
   * Called with each answer as it arrives, a timed one when the clocks of the round have judged it. A master that
   * exceeds its time gives a `TIMEOUT` fault. Its real answer is still passed on if it comes later: `answers` keeps the fault,
   * so a late yes does not decide the round; but the deadline of its master counts, for a waiter or a lease.
   */
  readonly onAnswer?: ((index: number, answer: Answer, round: Round) => void) | undefined;
  /** Whether the answers can decide. Default: not before the last one. */
  readonly isDecided?: ((answers: Tally) => boolean) | undefined;
}

/** A timer later than this was delayed by a busy event loop, ms: unread answers may be waiting behind it. */
export const lateTimerThreshold = 5;
/** As a part of the timeout: an event loop that was blocked for longer took part of the masters' time. */
const stalledFraction = 1 / 10;

/**
 * Asks all masters the same at the same time, and gives each the same short time to answer (PROTOCOL 2.2).
 *
 * `decided` resolves as soon as the answers can decide, at the latest when the time is up: no caller waits longer,
 * whatever the masters do (PROTOCOL 1.10). `closed` resolves when every master has answered or has been given up.
 */
export class Round implements Sink {
  /** The time of the first send, in lease time: read before anything is sent (PROTOCOL 2.4). */
  readonly sentAt: number;
  readonly decided: Promise<void>;
  readonly answers: Array<Answer | undefined>;
  /** One master's time to answer, ms. */
  readonly timeout: number;
  /** `undefined` once it is decided. */
  #resolveDecided: (() => void) | undefined;
  #missing: number;
  /** `undefined` until all masters have been asked, and once it is closed. */
  #timer: Timer | undefined;
  /** Made for the first listener: most rounds have none. */
  #closed: Latch | undefined;
  #forget: (() => void) | undefined;
  #onAnswered: (() => void) | undefined;
  #clocks: RoundClocks | undefined;
  /**
   * Whether the event loop was blocked past the timeout before: a loop that always is must not make the round wait
   * for ever.
   */
  #hasStalled = false;
  /** Whether an answer came without the index of a master. */
  #hasStray = false;
  readonly #asking: Asking;
  readonly #question: Question;
  readonly #plan: RoundPlan;
  readonly #claim: { giveUp(): void } | undefined;

  /** `claim`: abandoned when the round is closed: commands not sent by then are not sent any more. */
  constructor(asking: Asking, question: Question, plan: RoundPlan, claim?: { giveUp(): void }) {
    this.timeout = plan.timeout;
    this.#missing = asking.nodes.length;
    this.answers = [];
    for (const _ of asking.nodes) this.answers.push(undefined);
    this.decided = new Promise((resolve) => {
      this.#resolveDecided = resolve;
    });
    this.sentAt = asking.clock.now();
    this.#asking = asking;
    this.#question = question;
    this.#plan = plan;
    this.#claim = claim;
  }

  /** Sends the request; once only, directly after the round was made: deadlines count from there. */
  ask(): this {
    // Batches, timers and connections that this starts serve other calls as well: not in the routine of this one (PROTOCOL 10.7).
    if (isInFrame()) return outside(() => this.ask());
    for (let index = 0; index < this.answers.length; index += 1) this.#askOne(index, this.#question);
    this.#setTimer(this.sentAt);
    if (this.#missing === 0) this.#close();
    return this;
  }

  #askOne(index: number, question: Question): void {
    const node = this.#asking.nodes[index]!;
    try {
      node.ask(question, index, this);
    } catch (error) {
      this.answered(index, nodeFailed(node.name, error));
    }
  }

  /** Whether some masters still have time to answer. */
  get isOpen(): boolean {
    return this.#missing > 0;
  }

  /** Judges later messages of the round, such as a grant; `undefined` until a timed answer has come. */
  get clocks(): RoundClocks | undefined {
    return this.#clocks;
  }

  /** Over when the round is closed. */
  get closed(): Latch {
    this.#closed ??= new Latch();
    if (this.#missing === 0) this.#closed.end();
    return this.#closed;
  }

  /** Resolves when the round is decided, or at the end of `ended` with the answers so far. */
  decidedOr(ended: Latch): Promise<void> {
    this.#forget = ended.onEnd(() => this.#decide());
    return this.decided;
  }

  /** Resolves as soon as the answers are enough, at the latest when the round is closed. */
  until(isEnough: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#onAnswered = () => {
        if (this.#missing > 0 && !isEnough()) return;
        this.#onAnswered = undefined;
        resolve();
      };
      this.#onAnswered();
    });
  }

  /** The single entry point for all answers, in time or late. */
  answered(index: number, reply: Answer | Timed): void {
    // PROTOCOL 2.14: a vote belongs to its round: one more than masters were asked could make a quorum. A node that does not
    // pass on its index counts as silent.
    if (!(index in this.answers)) {
      this.#hasStray = true;
      return;
    }
    if (!this.#timer && this.#missing > 0) {
      // An answer given synchronously is processed after all masters have been asked.
      void Promise.resolve().then(() => this.answered(index, reply));
    } else if (reply.is === "timed") {
      this.#clocks ??= new RoundClocks(this.answers, quorumOf(this.answers.length));
      this.#clocks.judge(index, reply, (why) =>
        this.#accept(index, why === undefined ? reply.vote : byClock(this.#asking.nodes[index]!, why)),
      );
    } else this.#accept(index, reply);
  }

  #accept(index: number, answer: Answer): void {
    const { nodes, clock, report, log } = this.#asking;
    const { verb } = this.#question;
    const plan = this.#plan;
    const next = plan.followUp?.(index, answer);
    if (next) {
      this.#askOne(index, next);
      return;
    }
    const late = this.answers[index] !== undefined;
    if (!late) {
      this.answers[index] = answer;
      this.#missing -= 1;
      if (answered.hasSubscribers) traceAnswer(nodes[index]!.name, verb, clock.now() - this.sentAt, answer);
    }
    if (answer.is === "fault") report?.(answer.error);
    plan.onAnswer?.(index, answer, this);
    // `onAnswer` may have made a fault of it: an extension does, of a yes in quarantine.
    if (!late) log?.onAnswer(nodes[index]!, verb, this.answers[index]!);
    if (late) return;
    if (plan.isDecided?.(this.answers)) this.#decide();
    if (this.#missing === 0) this.#close();
    this.#onAnswered?.();
    this.#clocks?.review();
  }

  /**
   * Timers run before sockets are read: after a short stall the answers get one more turn to be read. A long stall
   * let nothing be sent or read: the masters get their time once more (PROTOCOL 12.9). Deadlines count from the send in any case
   * (PROTOCOL 3.1), so this costs no safety.
   */
  #expire(due: number): void {
    const { clock, runtime } = this.#asking;
    const stall = clock.now() - due;
    if (stall <= lateTimerThreshold || this.#hasStalled) this.#giveUp(stall);
    else if (stall <= this.timeout * stalledFraction) {
      this.#timer = runtime.setTimer(() => this.#giveUp(stall), 1);
    } else {
      this.#hasStalled = true;
      this.#setTimer();
    }
  }

  /**
   * Gives up all missing masters. Those that work off other requests of this client get more time, if the round has
   * more.
   */
  #giveUp(stall: number): void {
    const { nodes, runtime, clock } = this.#asking;
    const hasTime = clock.now() - this.sentAt < (this.#plan.maxTimeout ?? 0);
    const drainedSince = runtime.monotonic() - this.timeout - stall;
    for (const [index, node] of nodes.entries()) {
      const isDraining = (node.drainedAt ?? Number.NEGATIVE_INFINITY) > drainedSince;
      if (this.answers[index] !== undefined || (isDraining && hasTime)) continue;
      const silenceOf = isDraining ? overtaken : timedOut;
      const silence = (this.#hasStray ? unnumbered : silenceOf)(node, Math.ceil(this.timeout));
      const why = this.#clocks?.giveUp(index);
      this.#accept(index, why === undefined ? silence : byClock(node, why));
    }
    if (this.#missing > 0) this.#setTimer();
    // PROTOCOL 1.10: a caller waits for a release or a rollback no longer than this, though it may go on until its keys have expired.
    if (this.#question.verb === "release") this.#decide();
  }

  #setTimer(from = this.#asking.clock.now()): void {
    const delay = Math.min(this.timeout, maxTimerDelay);
    const due = from + delay;
    this.#timer = this.#asking.runtime.setTimer(() => this.#expire(due), delay);
    if (!this.#resolveDecided) this.#timer.unref();
  }

  #decide(): void {
    if (!this.#resolveDecided) return;
    // The caller goes on; waiting for the missing masters must not keep the process alive.
    this.#timer?.unref();
    this.#resolveDecided();
    this.#resolveDecided = undefined;
    this.#forget?.();
    this.#forget = undefined;
  }

  #close(): void {
    this.#claim?.giveUp();
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#decide();
    this.#closed?.end();
  }
}

/**
 * The master answered other requests of this client, so this is not its fault; but the command may have been sent.
 */
function overtaken(node: Voter, timeout: number): Fault {
  return fault(node.name, "ABANDONED", `it waited behind other requests for ${timeout} ms`, true);
}

/** The vote does not count (PROTOCOL 11.2, 11.3). */
function byClock(node: Voter, why: string): Fault {
  return fault(node.name, "CLOCK", why, true);
}

/** Some node of the user's own does not pass on its index. */
function unnumbered(node: Voter, timeout: number): Fault {
  const why = "an answer came without the index that `ask` was called with";
  return fault(node.name, "TIMEOUT", `no answer within ${timeout} ms; ${why}`, true);
}

/**
 * One error object for all rounds of a master: thousands of rounds may time out at once, and an error is slow to
 * build.
 */
function timedOut(node: Voter, timeout: number): Fault {
  const known = keptFor("timeOuts", node, () => new Map<string, Fault>());
  const why = `no answer within ${timeout} ms`;
  const latest = known.get(why) ?? fault(node.name, "TIMEOUT", why, true);
  known.clear();
  known.set(why, latest);
  return latest;
}
