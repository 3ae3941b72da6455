import { abandoned, crowdedOut, failed, unexpected, unsent } from "../protocol/faults.ts";
import type { Claim, Fault } from "../protocol/node.ts";
import { Fifo } from "../time/fifo.ts";
import type { Runtime } from "../time/runtime.ts";
import { systemRuntime } from "../time/system.ts";
import type { Purpose } from "./commands.ts";
import type { Connection } from "./connection.ts";
import { slowAnswer } from "./pipeline.ts";
import { NotSent, Session } from "./session.ts";
import { UnexpectedReply } from "./transaction.ts";

/** Something that a master is asked. */
export interface Call<A> {
  readonly purpose: Purpose;
  /** Whom it is for: what was given up is not sent any more. `undefined` where it has to be sent in any case. */
  readonly claim?: Pick<Claim, "abandoned"> | undefined;
  /** Looked at when its turn comes: what it is answered instead of being sent. */
  readonly refusal?: (() => Fault | undefined) | undefined;
  /** What is sent, and must not be told. */
  readonly tokens: readonly string[];
  /** Whether nothing else may be sent until it is answered. */
  readonly isAlone: boolean;
  /** Sends, at once and by `session` alone: that of the connection that it was called on. */
  run(session: Session): Promise<A>;
}

interface Waiting extends Call<unknown> {
  readonly settle: (answer: unknown) => void;
}

/** Requests that are unanswered, at most: a master that hangs must not fill the memory. */
const mostRequests = 4096;
/** Calls of any kind, once the master has said nothing for so long, ms: what is refused now is owed until it expires. */
const mostUnanswered = 4096;
const silence = 2500;
/** Where more calls than this are unanswered, one of them stands in line behind others. */
const fewCalls = 512;

/**
 * The calls to one master, each sent in its turn, and one transaction at a time, since WATCH and MULTI are matters of the
 * whole connection. Of those that have to wait, those go first that keep a lease (PROTOCOL 12.7). What waits was called on one
 * connection, and is not sent on the next (PROTOCOL 2.2).
 */
export class CommandQueue {
  readonly #connection: Connection;
  readonly #runtime: Pick<Runtime, "monotonic">;
  /** Goes on with a call that has been answered: before all others. */
  readonly #first = new Fifo<Waiting>();
  readonly #keeping = new Fifo<Waiting>();
  /** In the order in which they were made: a release is behind the claim that it undoes. */
  readonly #others = new Fifo<Waiting>();
  readonly #unanswered = new Set<Waiting>();
  #requests = 0;
  /** Of the connection that those who wait were called on; none where they wait for the first. */
  #session: Session | undefined;
  /** When it last answered, or was first asked after it had answered everything. */
  #heardAt = 0;
  #drainedAt = Number.NEGATIVE_INFINITY;
  #isTaken = false;
  #onAnswered: Array<() => void> = [];

  constructor(connection: Connection, runtime: Pick<Runtime, "monotonic"> = systemRuntime) {
    this.#connection = connection;
    this.#runtime = runtime;
  }

  /** As in {@link LockNode.drainedAt}. */
  get drainedAt(): number {
    return this.#drainedAt;
  }

  /** Settles when all calls are answered. */
  get answered(): Promise<void> {
    if (this.#unanswered.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onAnswered.push(resolve));
  }

  /** `first`: before all that waits. Never rejects: what goes wrong is a fault. */
  post<A>(call: Call<A>, first = false): Promise<A | Fault> {
    this.#follow();
    const refusal = first ? undefined : this.#refusalOf(call);
    if (refusal) return Promise.resolve(refusal);
    return new Promise<A | Fault>((resolve) => {
      const waiting: Waiting = {
        ...call,
        settle: (answer) => {
          this.#settled(waiting);
          // A call is answered in its own kind.
          resolve(answer as A | Fault);
        },
      };
      if (this.#unanswered.size === 0) this.#heardAt = this.#runtime.monotonic();
      this.#unanswered.add(waiting);
      if (call.purpose === "request") this.#requests += 1;
      const queue = call.purpose === "keep" ? this.#keeping : this.#others;
      (first ? this.#first : queue).push(waiting);
      this.#goOn();
    });
  }

  /**
   * The client was switched to another database, and `left` leads to the one before: releases that wait undo what is there.
   * Whatever else waits counts for nothing any more.
   */
  handOver(left: CommandQueue, why: string): void {
    for (const call of this.#drain()) {
      if (call.purpose !== "release") call.settle(unsent(this.#connection.name, why));
      else void left.post(call).then(call.settle);
    }
  }

  #refusalOf({ purpose }: Call<unknown>): Fault | undefined {
    const { name } = this.#connection;
    const isFull = this.#unanswered.size >= mostUnanswered;
    if (isFull && this.#runtime.monotonic() - this.#heardAt > silence) {
      return unsent(name, `it has not answered for ${silence} ms`);
    }
    if (purpose !== "request" || this.#requests < mostRequests) return undefined;
    this.#dropAbandoned();
    return this.#requests < mostRequests ? undefined : crowdedOut(name, mostRequests);
  }

  #dropAbandoned(): void {
    for (const call of this.#others.drain()) {
      if (call.claim?.abandoned) call.settle(abandoned(this.#connection.name));
      else this.#others.push(call);
    }
  }

  #settled(call: Waiting): void {
    this.#unanswered.delete(call);
    if (call.purpose === "request") this.#requests -= 1;
    if (this.#unanswered.size === 0) for (const resolve of this.#onAnswered.splice(0)) resolve();
  }

  #shift(): Waiting | undefined {
    return this.#first.shift() ?? this.#keeping.shift() ?? this.#others.shift();
  }

  get #isEmpty(): boolean {
    return this.#first.length + this.#keeping.length + this.#others.length === 0;
  }

  /** What was called on a connection that is gone is given up. */
  #follow(): void {
    if (this.#session?.stands) return;
    if (this.#session) this.#giveUpAll();
    this.#session = this.#connection.isReady ? new Session(this.#connection) : undefined;
  }

  #goOn(): void {
    this.#follow();
    while (!this.#isTaken && !this.#isEmpty) {
      if (!this.#connection.isReady) {
        this.#connect();
        return;
      }
      this.#send(this.#shift()!);
    }
  }

  /** A first connection is waited for. A lost one is not: what waits was called on that one. */
  #connect(): void {
    const connecting = this.#connection.connectFirst();
    const giveUp = () => {
      if (!this.#connection.isReady) this.#giveUpAll();
    };
    if (connecting === undefined) giveUp();
    else this.#takeUntil(connecting.then(giveUp));
  }

  #giveUpAll(): void {
    const { name, notReadyReason } = this.#connection;
    for (const call of this.#drain()) call.settle(unsent(name, notReadyReason));
  }

  #drain(): readonly Waiting[] {
    return [this.#first, this.#keeping, this.#others].flatMap((queue) => queue.drain());
  }

  #send(call: Waiting): void {
    if (call.claim?.abandoned) {
      call.settle(abandoned(this.#connection.name));
      return;
    }
    const refusal = call.refusal?.();
    if (refusal) {
      call.settle(refusal);
      return;
    }
    const sentAt = this.#runtime.monotonic();
    const session = new Session(this.#connection);
    const answer = call.run(session).catch((error: unknown) => this.#faultOf(error, call, session));
    void answer.then((settled) => {
      this.#heardAt = this.#runtime.monotonic();
      const isSlow = this.#heardAt - sentAt > slowAnswer;
      if (this.#unanswered.size > fewCalls && !isSlow) this.#drainedAt = this.#heardAt;
      call.settle(settled);
    });
    if (call.isAlone) this.#takeUntil(answer);
  }

  #takeUntil(end: Promise<unknown>): void {
    this.#isTaken = true;
    void end.then(() => {
      this.#isTaken = false;
      this.#goOn();
    });
  }

  #faultOf(error: unknown, { tokens }: Waiting, { hasWritten }: Session): Fault {
    // What was sent before the step that was not has only read, or was a transaction that has to be made again.
    if (error instanceof NotSent)
      return { ...unsent(this.#connection.name, error.message), sent: hasWritten };
    if (error instanceof UnexpectedReply) return unexpected(this.#connection.name, error.reply);
    const isReply = this.#connection.isReply(error);
    const fault = failed(this.#connection.name, error, isReply, tokens);
    if (isReply) this.#connection.complain?.(fault.error.error);
    return fault;
  }
}
