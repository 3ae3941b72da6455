import { outside } from "../time/async-context.ts";
import type { Cancellation } from "../time/cancellation.ts";
import type { LeaseClock } from "../time/lease-clock.ts";
import { longestTimer, type Runtime, type Timer } from "../time/runtime.ts";
import { fault } from "./faults.ts";
import type { Answer, Fault, LockNode, Question, ReleaseAnswer, Timed } from "./node.ts";
import { RoundClocks } from "./round-clocks.ts";

export interface RoundPlan<Reply extends object> {
  readonly nodes: readonly LockNode[];
  readonly runtime: Runtime;
  readonly clock: LeaseClock;
  /** One master's time to answer, ms. All are asked at once, so one timer serves them all. */
  readonly timeout: number;
  /**
   * How long a master may take that works off what else this client has asked of it, ms: that it is behind is no fault of
   * its own (PROTOCOL 14.16). Default: the same.
   */
  readonly longest?: number;
  /** What all masters are asked alike, or how each of them is asked. */
  readonly ask: Asked | ((node: LockNode, settle: Settle<Reply>) => void);
  /** Given up when the round is closed: what was not sent by then is not sent any more. */
  readonly claim?: { giveUp(): void };
  /**
   * Called with each answer as it comes, a timed one when the clocks of the round have judged it; true once the answers
   * can decide. A master whose time is up gives a `TIMEOUT` fault; its real answer, should that still come, is told as well, but is no vote any more.
   */
  hear(index: number, answer: Reply | Fault): boolean;
}

/** A question, but for how the answers are heard: that is up to the round. */
export type Asked = Omit<Question, "hear">;

type Settle<Reply> = (reply: Reply | Fault | Timed<Reply>) => void;

/** A timer later than this was held up by a busy event loop, ms: answers may lie unread behind it. */
export const lateTimer = 5;
/** Of the time-out: an event loop that was held up for longer took part of the masters' time. */
const stalledFraction = 1 / 10;

/**
 * Asks all masters the same at the same time, and gives each the same short time to answer.
 *
 * `decided` settles as soon as the answers can decide, at the latest when the time is up: whatever the masters
 * do, nobody waits longer. `closed` settles when every master has answered or has been given up. From then on only
 * the answers are kept: a lock remembers its rounds for as long as it is held.
 */
export class Round<Reply extends object> {
  /** When the first command went out, in lease time: read before anything is sent (PROTOCOL 2.4). */
  readonly sentAt: number;
  readonly decided: Promise<void>;
  readonly answers: Array<Reply | Fault | undefined>;
  /** One master's time to answer, ms. */
  readonly timeout: number;
  /** `undefined` once it is decided. */
  #resolveDecided: (() => void) | undefined;
  #missing: number;
  /** `undefined` once it is closed. */
  #timer: Timer | undefined;
  #onClosed: Array<() => void> | undefined;
  #forget: (() => void) | undefined;
  #clocks: RoundClocks | undefined;
  /** Whether the event loop was held up behind the time-out before: a loop that always is must not wait for ever. */
  #hasStalled = false;

  constructor(plan: RoundPlan<Reply>) {
    this.timeout = plan.timeout;
    this.#missing = plan.nodes.length;
    this.answers = [];
    for (const _ of plan.nodes) this.answers.push(undefined);
    this.decided = new Promise((resolve) => {
      this.#resolveDecided = resolve;
    });
    this.sentAt = plan.clock.now();
    // What this arms (batches, timers, connections) serves others as well.
    outside(() => this.#askAll(plan));
    if (this.#missing === 0) this.#close(plan);
  }

  /** Whether some masters have still time to answer. */
  get isOpen(): boolean {
    return this.#missing > 0;
  }

  /** Judges what else comes of the round, such as a grant; `undefined` until a timed answer has come. */
  get clocks(): RoundClocks | undefined {
    return this.#clocks;
  }

  get closed(): Promise<void> {
    return new Promise((resolve) => this.onClosed(resolve));
  }

  /** Calls back when it is closed: at once if it is. */
  onClosed(listener: () => void): void {
    if (this.#missing === 0) listener();
    else if (this.#onClosed) this.#onClosed.push(listener);
    else this.#onClosed = [listener];
  }

  /** Settles when it is decided, or at the cancellation: the answers there are have to do then. */
  decidedOr(cancellation: Cancellation): Promise<void> {
    this.#forget = cancellation.onCancel(() => this.#decide());
    return this.decided;
  }

  #askAll(plan: RoundPlan<Reply>): void {
    const { nodes, ask } = plan;
    // One question for all, which is sent to each as it stands.
    const question = typeof ask === "function" ? undefined : { ...ask, hear: this.#hearFrom(plan) };
    for (let index = 0; index < nodes.length; index += 1) {
      const node = nodes[index]!;
      try {
        if (question && node.ask) node.ask(question);
        else this.#askAlone(plan, index, node);
      } catch (error) {
        this.#read(plan, index, faultOf(node, error));
      }
    }
    this.#setTimer(plan, this.sentAt);
  }

  #hearFrom(plan: RoundPlan<Reply>): Question["hear"] {
    return (client, answer) => {
      for (let index = 0; index < plan.nodes.length; index += 1) {
        if (plan.nodes[index]!.client !== client) continue;
        // A question is answered in its own kind.
        this.#read(plan, index, answer as unknown as Reply);
        return;
      }
    };
  }

  #askAlone(plan: RoundPlan<Reply>, index: number, node: LockNode): void {
    const { ask } = plan;
    const settle: Settle<Reply> = (reply) => this.#read(plan, index, reply);
    if (typeof ask === "function") {
      ask(node, settle);
      return;
    }
    const { kind, keys, words, claim } = ask;
    const own = settle as unknown as (answer: Answer | ReleaseAnswer | Timed<Answer>) => void;
    if (kind === "release") node.release(keys, words, own);
    else if (kind === "vote") node.vote(claim!, own);
    else node.extend(claim!, kind === "repair", own);
  }

  /** The one way in: whatever a master says, in this round or too late for it. */
  #read(plan: RoundPlan<Reply>, index: number, reply: Reply | Fault | Timed<Reply>): void {
    if (!this.#timer && this.#missing > 0) {
      // One that answers at once is heard when all have been asked.
      void Promise.resolve().then(() => this.#read(plan, index, reply));
    } else if ("reading" in reply) {
      this.#clocks ??= new RoundClocks(this.answers);
      this.#clocks.judge(index, reply, (answer) => this.#hear(plan, index, answer));
    } else this.#hear(plan, index, reply);
  }

  #hear(plan: RoundPlan<Reply>, index: number, answer: Reply | Fault): void {
    const late = this.answers[index] !== undefined;
    if (!late) {
      this.answers[index] = answer;
      this.#missing -= 1;
    }
    const decided = plan.hear(index, answer);
    if (late) return;
    if (decided) this.#decide();
    if (this.#missing === 0) this.#close(plan);
    this.#clocks?.review();
  }

  /**
   * Timers run before sockets are read: after a short stall the answers are given one turn to be seen. Through a long one
   * nothing could be sent or read: once more the masters are given their time. Deadlines count from the send all the same
   * (PROTOCOL 3), so this takes no safety.
   */
  #expire(plan: RoundPlan<Reply>, due: number): void {
    const stall = plan.clock.now() - due;
    if (stall <= lateTimer || this.#hasStalled) this.#giveUp(plan, stall);
    else if (stall <= this.timeout * stalledFraction) {
      this.#timer = plan.runtime.setTimer(() => this.#giveUp(plan, stall), 1);
    } else {
      this.#hasStalled = true;
      this.#setTimer(plan);
    }
  }

  /**
   * All that are missing. Those that work off what else this client has asked of them are given more time, where the round
   * has more.
   */
  #giveUp(plan: RoundPlan<Reply>, stall: number): void {
    const { nodes, runtime, clock, longest = 0 } = plan;
    const hasTime = clock.now() - this.sentAt < longest;
    const drainedSince = runtime.monotonic() - this.timeout - stall;
    for (const [index, node] of nodes.entries()) {
      const isDraining = (node.drainedAt ?? Number.NEGATIVE_INFINITY) > drainedSince;
      if (this.answers[index] !== undefined || (isDraining && hasTime)) continue;
      const silence = (isDraining ? overtaken : timedOut)(node, this.timeout);
      this.#hear(plan, index, this.#clocks?.giveUp(index) ?? silence);
    }
    if (this.#missing > 0) this.#setTimer(plan);
  }

  #setTimer(plan: RoundPlan<Reply>, from = plan.clock.now()): void {
    const delay = Math.min(this.timeout, longestTimer);
    const due = from + delay;
    this.#timer = plan.runtime.setTimer(() => this.#expire(plan, due), delay);
    if (!this.#resolveDecided) this.#timer.unref();
  }

  #decide(): void {
    if (!this.#resolveDecided) return;
    // Whoever waited goes on; for the masters still missing no process needs to be kept alive.
    this.#timer?.unref();
    this.#resolveDecided();
    this.#resolveDecided = undefined;
    this.#forget?.();
    this.#forget = undefined;
  }

  #close({ claim }: RoundPlan<Reply>): void {
    claim?.giveUp();
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#decide();
    const listeners = this.#onClosed;
    this.#onClosed = undefined;
    if (listeners) for (const listener of listeners) listener();
  }
}

/** Answers are values; a `LockNode` that throws all the same has given none. */
function faultOf(node: LockNode, cause: unknown): Fault {
  return fault(node.name, "UNEXPECTED_REPLY", `the node failed: ${String(cause)}`, true, cause);
}

/** It has answered others of this client's, so this is no fault of its own; but it may have been sent. */
function overtaken(node: LockNode, timeout: number): Fault {
  return fault(node.name, "ABANDONED", `it stood behind other requests for ${timeout} ms`, true);
}

const timeOuts = new WeakMap<LockNode, { readonly timeout: number; readonly fault: Fault }>();

/** One for all rounds of a master: thousands may end with it at once, and an error takes its time to make. */
function timedOut(node: LockNode, timeout: number): Fault {
  const known = timeOuts.get(node);
  if (known?.timeout === timeout) return known.fault;
  const made = { timeout, fault: fault(node.name, "TIMEOUT", `no answer within ${timeout} ms`, true) };
  timeOuts.set(node, made);
  return made.fault;
}
