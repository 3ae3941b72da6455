import { abandoned, unsent } from "../protocol/faults.ts";
import { MasterClock } from "../protocol/master-clock.ts";
import type { Answer, Fault } from "../protocol/node.ts";
import type { Runtime, Timer } from "../time/runtime.ts";
import { isAbandoned, isRelease, type Posted } from "./commands.ts";
import type { Connection } from "./connection.ts";
import { defaultWindow, isOpen, maxBatchSize, Pipeline, type PipelineOrigin } from "./pipeline.ts";
import { timeIn } from "./reply-numbers.ts";

// The road of a question, from a node to the socket and back. Three parts, from the outside to the inside:
//
//   RedisNode.ask ─▶ SendQueue ────────────────▶ Pipeline ───────────────────────────▶ Batch ──────────▶ Connection
//                    one for a connection        one for a send queue                  until it is answered
//                    collects the questions      counts what is in flight, and keeps   encodes, sends, reads the
//                    of a turn                   the backlog beyond the window         reply at each position
//                         ▲                           ▲                                    │
//                         └── sends what waits ───────┴─── makes room ◀── last answer ◀────┴─▶ sink.answered(place, answer)
//
// - *A single lock* takes the short way: `post` schedules one microtask for all masters, `flushAll`; each send queue
//   hands its questions over at once (`Pipeline.batchOfAll`), and the batch goes to the socket. The masters get the same questions,
//   so `encoded` makes one message for all of them.
// - *Under load* batches collect questions while others are in flight. Beyond the window questions wait in the
//   pipeline, extensions before releases before requests, and are sent as answers make room (PROTOCOL 12.7).
// - *If the connection is lost*, nothing that waits here is sent on the next one (PROTOCOL 2.2): every question is
//   answered with a fault, once.

/**
 * The maximum number of batches in flight on one connection. With one, each straggler would delay the next
 * batch: the last answers of a decided round are often still on their way when the next round begins, and no
 * lock waits for those.
 */
const maxBatchesInFlight = 2;
/**
 * The maximum wait for an answer before a further batch is sent anyway, ms. A nearby master answers within 1
 * ms; for a distant one, waiting longer would add latency and save little.
 */
const maxWait = 1;

/** The readings of the master's clock when a connection is made: the most exact one counts. */
const firstReadings = 3;

export type SendQueueRuntime = Pick<Runtime, "monotonic" | "wall" | "setTimer">;

/**
 * The questions to send on one connection (PROTOCOL 12).
 *
 * Problem: a process may request thousands of locks at a time. One command per question costs the master and
 * both socket ends more than the question itself. The usual remedies do not fit. A fixed batching interval
 * delays every single lock by that interval. Pipelining without a limit moves the queue into the master's
 * socket, where an urgent extension cannot overtake anything. A plain bounded queue refuses extensions and
 * releases along with new requests, which loses locks that are held.
 *
 * Solution:
 * - Questions requested in one turn of the event loop leave together, in a microtask after that turn. A
 *   single lock pays nothing for this.
 * - While {@link maxBatchesInFlight} batches are unanswered, questions collect here until an answer arrives,
 *   {@link maxWait} passes, or a batch is full. The batch size therefore adapts to the load.
 * - Questions beyond the send window wait in the {@link Pipeline}, which orders them by purpose.
 *
 * The order of the calls is preserved as long as nothing waits for room. A claim that is abandoned while it
 * waits is removed. A release is never removed, and neither a release nor an extension is refused because of
 * the load.
 */
export class SendQueue implements PipelineOrigin {
  readonly connection: Connection;
  readonly window: number;
  readonly runtime: SendQueueRuntime;
  readonly clock: MasterClock;
  /** Whether the clock is read when a connection is made: its users wait in queues. */
  readsClock = false;
  readonly #pipeline: Pipeline;
  #waiting: Posted[] = [];
  /** The number of unanswered batches. */
  #inFlight = 0;
  #flushCount = 0;
  /** Whether a flush is scheduled after the current turn. */
  #isFlushScheduled = false;
  #timer: Timer | undefined;
  #isFlushing = false;
  #drainedAt = Number.NEGATIVE_INFINITY;
  #abandonedFault: Fault | undefined;
  #unsentFault: { readonly why: string; readonly fault: Fault } | undefined;

  constructor(connection: Connection, runtime: SendQueueRuntime, window: number) {
    this.connection = connection;
    this.window = window;
    this.runtime = runtime;
    this.clock = new MasterClock(runtime);
    this.#pipeline = new Pipeline(this);
    // Questions for one connection are never sent on the next, which may lead to another database: the round may have
    // been decided since (PROTOCOL 2.2, 2.15).
    connection.onReady(() => {
      this.#giveUpAll();
      if (this.readsClock) void this.#readClock();
    });
  }

  /** Not in the burst of calls that needs it, which hears the answers late (PROTOCOL 7.2). */
  async #readClock(): Promise<void> {
    const { connection, clock } = this;
    const { session } = connection;
    for (let count = 0; count < firstReadings; count += 1) {
      const sent = clock.now();
      const time = timeIn(await connection.send("TIME", []).catch(() => undefined));
      if (connection.session !== session) return;
      if (count === 0) clock.forget();
      if (time === undefined) return;
      clock.observe(sent, time);
    }
  }

  /** One shared error: under load many questions are abandoned, and an error is slow to build. */
  get abandonedFault(): Fault {
    this.#abandonedFault ??= abandoned(this.connection.name);
    return this.#abandonedFault;
  }

  /** As in {@link LockNode.drainedAt}. */
  get drainedAt(): number {
    return this.#drainedAt;
  }

  unsentFault(why: string): Fault {
    if (this.#unsentFault?.why !== why) this.#unsentFault = { why, fault: unsent(this.connection.name, why) };
    return this.#unsentFault.fault;
  }

  /** Requires a ready connection. */
  post(posted: Posted): void {
    const { question } = posted;
    // A rollback goes behind its vote (PROTOCOL 2.6).
    this.#waiting.push(posted);
    if (posted.isUnbatched && !this.#isFlushing) this.flush();
    else if (!this.#isFlushScheduled) {
      // In a microtask after the current turn, together with everything that waits.
      const isFull = this.#waiting.length >= maxBatchSize;
      // (Looked up last: it goes through all that is in flight.)
      const hasRoom = this.#inFlight < maxBatchesInFlight || isFull;
      if (hasRoom || (isRelease(question) && this.#pipeline.hasClaimUndoneBy(question))) {
        this.#isFlushScheduled = true;
        if (scheduled.length === 0) void microtask.then(flushAll);
        scheduled.push(this);
      } else this.#timer ??= this.runtime.setTimer(this.flush, maxWait);
    }
  }

  /** Sends the waiting questions, as far as the window allows. */
  readonly flush = (): void => {
    this.#isFlushScheduled = false;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#waiting.length === 0) return;
    // Emptied first: the check whether a claim is abandoned may end a lease, and its owner may post more
    // questions.
    const waiting = this.#waiting;
    this.#waiting = [];
    if (!isOpen(this.connection)) {
      this.#giveUp(waiting);
      return;
    }
    this.#isFlushing = true;
    this.#flushCount += 1;
    try {
      const batch = this.#pipeline.batchOfAll(waiting, this.#flushCount);
      if (batch) batch.send();
      else this.#sendEach(waiting);
    } finally {
      this.#isFlushing = false;
    }
  };

  /** Sends everything: the connection is about to be closed. */
  finish(): void {
    if (!isOpen(this.connection)) {
      this.#giveUpAll();
      return;
    }
    this.#pipeline.finish();
    this.flush();
    this.#pipeline.finish();
  }

  onBatchSent(): void {
    this.#inFlight += 1;
  }

  onBatchAnswered(wasDraining: boolean): void {
    this.#inFlight -= 1;
    if (wasDraining) this.#drainedAt = this.runtime.monotonic();
    // Questions that were posted since go first: they may include an extension.
    if (this.#waiting.length > 0) this.flush();
    if (!this.#pipeline.hasBacklog) return;
    if (isOpen(this.connection)) this.#pipeline.refill();
    else this.#giveUp(this.#pipeline.drain());
  }

  /** Takes each question by itself and in order, if some wait for room or are abandoned. */
  #sendEach(waiting: readonly Posted[]): void {
    const unsent = new Set<string>();
    for (const posted of waiting) {
      const { question } = posted;
      if (isAbandoned(question)) {
        if (question.verb === "vote") unsent.add(question.words[0]!);
        answer(posted, this.abandonedFault);
        continue;
      }
      // The vote before it was never sent: there is nothing to roll back.
      if (unsent.size > 0 && isRelease(question) && question.words.every((token) => unsent.has(token))) {
        answer(posted, { is: "missed" });
        continue;
      }
      this.#pipeline.take(posted, this.#flushCount);
    }
    this.#pipeline.send();
  }

  #giveUpAll(): void {
    this.#giveUp(this.#pipeline.drain());
    this.#giveUp(this.#waiting.splice(0));
  }

  #giveUp(waiting: readonly Posted[]): void {
    const fault = unsent(this.connection.name, this.connection.notReadyReason);
    for (const posted of waiting) answer(posted, fault);
  }
}

function answer({ place, sink }: Posted, its: Answer): void {
  sink.answered(place, its);
}

const microtask = Promise.resolve();
/** The send queues to flush after the current turn. */
let scheduled: SendQueue[] = [];

/** Flushes all masters in one microtask, since all of them are asked in one turn. */
function flushAll(): void {
  const sendQueues = scheduled;
  scheduled = [];
  for (const sendQueue of sendQueues) {
    try {
      sendQueue.flush();
    } catch (error) {
      // A bug at one master must not keep the others from being asked. The process still sees the error.
      void Promise.reject(error);
    }
  }
}

/** One per connection: all nodes on a connection share its batches. */
const sendQueues = new WeakMap<Connection, SendQueue>();

export function sendQueueOf(
  connection: Connection,
  runtime: SendQueueRuntime,
  window: number = defaultWindow,
): SendQueue {
  let sendQueue = sendQueues.get(connection);
  if (!sendQueue) {
    sendQueue = new SendQueue(connection, runtime, window);
    sendQueues.set(connection, sendQueue);
  }
  return sendQueue;
}
