import { NotSent, Session } from "../adapters/session.ts";
import { abandoned, crowdedOut, failed, unexpected, unsent } from "../protocol/faults.ts";
import type { Claim, Fault } from "../protocol/node.ts";
import type { Purpose } from "../redis/commands.ts";
import type { Connection } from "../redis/connection.ts";
import { slowAnswerThreshold } from "../redis/pipeline.ts";
import { UnexpectedReply } from "../redis/reply-numbers.ts";
import { Fifo } from "../time/fifo.ts";
import type { Runtime } from "../time/runtime.ts";
import { systemRuntime } from "../time/system.ts";

/** One call to a master. */
export interface Call<A> {
  readonly purpose: Purpose;
  /** An abandoned claim is no longer sent. `undefined` for a call that must be sent in any case. */
  readonly claim?: Claim | undefined;
  /** Evaluated when the call's turn comes: an answer to give instead of sending. */
  readonly refusal?: (() => Fault | undefined) | undefined;
  /** The words of the question: a token among them is secret, and removed from error messages. */
  readonly words: readonly string[];
  /** Whether no other call may be sent until this one is answered. */
  readonly isExclusive: boolean;
  /** Sends the call immediately, and only on `session`: that of the connection it was posted on. */
  run(session: Session): Promise<A>;
}

interface PendingCall extends Call<unknown> {
  readonly resolve: (answer: unknown) => void;
}

/** The maximum number of unanswered requests: bounds the memory while a master hangs. */
const maxRequests = 4096;
/**
 * The maximum number of unanswered calls of any kind while the master has not answered for `maxSilence` ms. A
 * release refused here stays a pending delete until its keys expire.
 */
const maxUnanswered = 4096;
const maxSilence = 2500;
/** With more unanswered calls than this, a late answer is explained by the calls in front of it. */
const drainingThreshold = 512;

/**
 * The calls to one master, sent in turn. Exclusive calls run one at a time: WATCH and MULTI belong to the
 * whole connection. Among waiting calls, those that keep a lease go first (PROTOCOL 12.7). A waiting call
 * belongs to the connection it was posted on and is not sent on the next one (PROTOCOL 2.2).
 */
export class CommandQueue {
  readonly #connection: Connection;
  readonly #runtime: Pick<Runtime, "monotonic">;
  /** Calls that continue an answered call: sent before all others. */
  readonly #urgent = new Fifo<PendingCall>();
  readonly #keeps = new Fifo<PendingCall>();
  /** In the order of the calls: a release is behind the claim it undoes. */
  readonly #others = new Fifo<PendingCall>();
  readonly #unanswered = new Set<PendingCall>();
  #requests = 0;
  /**
   * The session in which the waiting calls were posted; `undefined` while they wait for the first connection.
   */
  #session: Session | undefined;
  /** The time of the last answer, or of the first call after all were answered. */
  #lastAnswerAt = 0;
  #drainedAt = Number.NEGATIVE_INFINITY;
  #isPaused = false;
  /** Whether abandoned requests were dropped in this turn. */
  #hasDropped = false;
  #answeredListeners: Array<() => void> = [];

  constructor(connection: Connection, runtime: Pick<Runtime, "monotonic"> = systemRuntime) {
    this.#connection = connection;
    this.#runtime = runtime;
  }

  /** As in {@link LockNode.drainedAt}. */
  get drainedAt(): number {
    return this.#drainedAt;
  }

  /** Resolves when all calls are answered. */
  get answered(): Promise<void> {
    if (this.#unanswered.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#answeredListeners.push(resolve));
  }

  /** Posts a call; with `first`, ahead of all waiting ones. Never rejects: failures are faults. */
  post<A>(call: Call<A>, first = false): Promise<A | Fault> {
    this.#dropStale();
    const refusal = first ? undefined : this.#refusalOf(call);
    if (refusal) return Promise.resolve(refusal);
    return new Promise<A | Fault>((resolve) => {
      const waiting: PendingCall = {
        ...call,
        resolve: (answer) => {
          this.#onSettled(waiting);
          // The answer has the type that the call's `run` returns.
          resolve(answer as A | Fault);
        },
      };
      if (this.#unanswered.size === 0) this.#lastAnswerAt = this.#runtime.monotonic();
      this.#unanswered.add(waiting);
      if (call.purpose === "request") this.#requests += 1;
      const queue = call.purpose === "keep" ? this.#keeps : this.#others;
      (first ? this.#urgent : queue).push(waiting);
      this.#sendNext();
    });
  }

  #refusalOf({ purpose }: Call<unknown>): Fault | undefined {
    const { name } = this.#connection;
    const isFull = this.#unanswered.size >= maxUnanswered;
    if (isFull && this.#runtime.monotonic() - this.#lastAnswerAt > maxSilence) {
      return unsent(name, `it has not answered for ${maxSilence} ms`);
    }
    if (purpose !== "request" || this.#requests < maxRequests) return undefined;
    this.#dropAbandoned();
    return this.#requests < maxRequests ? undefined : crowdedOut(name, maxRequests);
  }

  /** Once in a turn: for each of thousands of refused requests it would read thousands of waiting calls. */
  #dropAbandoned(): void {
    if (this.#hasDropped) return;
    this.#hasDropped = true;
    void Promise.resolve().then(() => {
      this.#hasDropped = false;
    });
    for (const call of this.#others.drain()) {
      if (call.claim?.abandoned) call.resolve(abandoned(this.#connection.name));
      else this.#others.push(call);
    }
  }

  #onSettled(call: PendingCall): void {
    this.#unanswered.delete(call);
    if (call.purpose === "request") this.#requests -= 1;
    if (this.#unanswered.size === 0) for (const resolve of this.#answeredListeners.splice(0)) resolve();
  }

  #shift(): PendingCall | undefined {
    return this.#urgent.shift() ?? this.#keeps.shift() ?? this.#others.shift();
  }

  get #isEmpty(): boolean {
    return this.#urgent.length + this.#keeps.length + this.#others.length === 0;
  }

  /** Gives up the calls that were posted on an earlier connection. */
  #dropStale(): void {
    if (this.#session?.isCurrent) return;
    if (this.#session) this.#giveUpAll();
    this.#session = this.#connection.isReady ? new Session(this.#connection) : undefined;
  }

  #sendNext(): void {
    this.#dropStale();
    while (!this.#isPaused && !this.#isEmpty) {
      if (!this.#connection.isReady) {
        this.#connect();
        return;
      }
      this.#send(this.#shift()!);
    }
  }

  /** A first connection is awaited. A lost one is not: the waiting calls belong to it. */
  #connect(): void {
    const connecting = this.#connection.connectFirst();
    const giveUp = () => {
      if (!this.#connection.isReady) this.#giveUpAll();
    };
    if (connecting === undefined) giveUp();
    else this.#pauseUntil(connecting.then(giveUp));
  }

  #giveUpAll(): void {
    const { name, notReadyReason } = this.#connection;
    for (const call of this.#drain()) call.resolve(unsent(name, notReadyReason));
  }

  #drain(): readonly PendingCall[] {
    return [this.#urgent, this.#keeps, this.#others].flatMap((queue) => queue.drain());
  }

  #send(call: PendingCall): void {
    if (call.claim?.abandoned) {
      call.resolve(abandoned(this.#connection.name));
      return;
    }
    const refusal = call.refusal?.();
    if (refusal) {
      call.resolve(refusal);
      return;
    }
    const sentAt = this.#runtime.monotonic();
    const session = new Session(this.#connection);
    const answer = call.run(session).catch((error: unknown) => this.#faultOf(error, call, session));
    void answer.then((settled) => {
      this.#lastAnswerAt = this.#runtime.monotonic();
      const isSlow = this.#lastAnswerAt - sentAt > slowAnswerThreshold;
      if (this.#unanswered.size > drainingThreshold && !isSlow) this.#drainedAt = this.#lastAnswerAt;
      call.resolve(settled);
    });
    if (call.isExclusive) this.#pauseUntil(answer);
  }

  #pauseUntil(end: Promise<unknown>): void {
    this.#isPaused = true;
    void end.then(() => {
      this.#isPaused = false;
      this.#sendNext();
    });
  }

  #faultOf(error: unknown, { words }: PendingCall, { hasWritten }: Session): Fault {
    // The steps before the unsent one only read, or belong to a transaction that did not commit.
    if (error instanceof NotSent)
      return { ...unsent(this.#connection.name, error.message), sent: hasWritten };
    if (error instanceof UnexpectedReply) return unexpected(this.#connection.name, error.reply);
    const isReply = this.#connection.isErrorReply(error);
    const fault = failed(this.#connection.name, error, isReply, words);
    if (isReply) this.#connection.onErrorReply?.(fault.error.error);
    return fault;
  }
}
