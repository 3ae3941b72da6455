import { outside } from "./async-context.ts";
import type { Cancellation } from "./cancellation.ts";
import type { LeaseClock } from "./clock.ts";
import { fault } from "./fault.ts";
import type { Fault, LockNode, Timed } from "./node.ts";
import { RoundClocks } from "./round-clocks.ts";
import { longestTimer, type Runtime, type Timer } from "./runtime.ts";

export interface RoundPlan<Reply extends object> {
  readonly nodes: readonly LockNode[];
  readonly runtime: Runtime;
  readonly clock: LeaseClock;
  /** One master's time to answer, ms. All are asked at once, so one timer serves them all. */
  readonly timeout: number;
  ask(node: LockNode, settle: (reply: Reply | Fault | Timed<Reply>) => void): void;
  /**
   * Called with each answer as it comes, a timed one when the clocks of the round have judged it; true once the answers can decide. A master whose time is up gives a
   * `TIMEOUT` fault; its real answer, should that still come, is told as well, but is no vote any more.
   */
  hear(index: number, answer: Reply | Fault): boolean;
}

/** A timer later than this was held up by a busy event loop, ms: answers may lie unread behind it. */
const lateTimer = 5;

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
    const delay = Math.min(plan.timeout, longestTimer);
    this.#timer = plan.runtime.setTimer(() => this.#expire(plan, this.sentAt + delay), delay);
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

  /** Timers run before sockets are read: after a stall the answers are given one turn to be seen. */
  #expire(plan: RoundPlan<Reply>, due: number): void {
    if (plan.clock.now() - due > lateTimer) {
      this.#timer = plan.runtime.setTimer(() => this.#giveUp(plan), 1);
    } else {
      this.#giveUp(plan);
    }
  }

  #giveUp(plan: RoundPlan<Reply>): void {
    for (const [index, node] of plan.nodes.entries()) {
      if (this.answers[index] !== undefined) continue;
      const silent = () => fault(node.name, "TIMEOUT", `no answer within ${this.timeout} ms`, true);
      this.#hear(plan, index, this.#clocks?.giveUp(index) ?? silent());
    }
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
