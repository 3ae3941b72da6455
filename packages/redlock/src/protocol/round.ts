import { outside } from "../time/async-context.ts";
import type { Cancellation } from "../time/cancellation.ts";
import type { LeaseClock } from "../time/lease-clock.ts";
import { longestTimer, type Runtime, type Timer } from "../time/runtime.ts";
import { fault } from "./faults.ts";
import type { Fault, LockNode, Timed } from "./node.ts";
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
  ask(node: LockNode, settle: (reply: Reply | Fault | Timed<Reply>) => void): void;
  /**
   * Called with each answer as it comes, a timed one when the clocks of the round have judged it; true once the answers
   * can decide. A master whose time is up gives a `TIMEOUT` fault; its real answer, should that still come, is told as well, but is no vote any more.
   */
  hear(index: number, answer: Reply | Fault): boolean;
}

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
    this.answers = plan.nodes.map(() => undefined);
    this.decided = new Promise((resolve) => {
      this.#resolveDecided = resolve;
    });
    this.sentAt = plan.clock.now();
    // What this arms (batches, timers, connections) serves others as well.
    outside(() => this.#askAll(plan));
    if (this.#missing === 0) this.#close();
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
    for (let index = 0; index < plan.nodes.length; index += 1) this.#ask(plan, index);
    this.#setTimer(plan, this.sentAt);
  }

  #ask(plan: RoundPlan<Reply>, index: number): void {
    const node = plan.nodes[index]!;
    const settle = (reply: Reply | Fault | Timed<Reply>): void => {
      // One that answers at once is heard when all have been asked.
      if (this.#timer || this.#missing === 0) this.#read(plan, index, reply);
      else void Promise.resolve().then(() => this.#read(plan, index, reply));
    };
    try {
      plan.ask(node, settle);
    } catch (error) {
      settle(faultOf(node, error));
    }
  }

  /** The one way in: whatever a master says, in this round or too late for it. */
  #read(plan: RoundPlan<Reply>, index: number, reply: Reply | Fault | Timed<Reply>): void {
    if (isTimed(reply)) {
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
    if (this.#missing === 0) this.#close();
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

  #close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#decide();
    const listeners = this.#onClosed;
    this.#onClosed = undefined;
    if (listeners) for (const listener of listeners) listener();
  }
}

function isTimed<Reply extends object>(reply: Reply | Fault | Timed<Reply>): reply is Timed<Reply> {
  return "reading" in reply;
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
