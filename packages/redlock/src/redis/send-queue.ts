import { abandoned, unsent } from "../protocol/faults.ts";
import type { Fault } from "../protocol/node.ts";
import type { Runtime, Timer } from "../time/runtime.ts";
import { isAbandoned, isRelease, type Operation } from "./commands.ts";
import type { Connection } from "./connection.ts";
import { largestBatch, largestWindow, Pipeline, type PipelineOrigin } from "./pipeline.ts";

/**
 * With so many batches in flight the next one waits for an answer. One may be a straggler: of a round that is decided the
 * last answers are still on their way when the next round begins, and no lock waits for those.
 */
const mostBatches = 2;
/** What waits for an answer waits so long for it, ms: a distant master's takes longer. */
const longestWait = 1;

export type SendQueueRuntime = Pick<Runtime, "monotonic" | "setTimer">;

/**
 * What is to be sent on one connection (PROTOCOL 12). What is asked for in one go goes out at once and
 * together, unless two batches are in flight: then it waits for an answer, but not for long. So many locks at a time cost few
 * commands, and one lock no more than its own. More than a master can answer waits in its {@link Pipeline}.
 *
 * In the order of the calls, as long as nothing has to wait for room. A claim that was given up while it waited is taken
 * out; a clean-up never is, and neither a clean-up nor an extension is refused because there are many.
 */
export class SendQueue implements PipelineOrigin {
  readonly connection: Connection;
  readonly window: number;
  readonly runtime: SendQueueRuntime;
  /** One, but on a Cluster one for each slot with something in flight, or to be sent now. */
  readonly #pipelines = new Map<number | undefined, Pipeline>();
  #waiting: Operation[] = [];
  /** Batches without an answer. */
  #inFlight = 0;
  #flushes = 0;
  /** Whether what waits is sent as soon as those who run now have asked. */
  #isDue = false;
  #timer: Timer | undefined;
  #isFlushing = false;
  /** Whether keys of different slots are in commands of their own. */
  #isSlotted: boolean;
  /** Only kept, for as long as there is this send queue. */
  readonly #follow: (why: string, old: Connection) => void;
  #drainedAt = Number.NEGATIVE_INFINITY;
  #abandoned: Fault | undefined;
  #unsent: { readonly why: string; readonly fault: Fault } | undefined;

  constructor(connection: Connection, runtime: SendQueueRuntime, window: number) {
    this.connection = connection;
    this.window = window;
    this.runtime = runtime;
    this.#isSlotted = connection.slotOf?.("", false) !== undefined;
    // What was for one connection is never sent on the next: something else may have been decided since (PROTOCOL 2.2).
    connection.onReady(() => this.#giveUpAll());
    // What takes back what is in the database that is left still goes there (PROTOCOL 2.15).
    this.#follow = (_, old) => {
      const unsent = [...this.#pipelines.values()].flatMap((pipeline) => pipeline.drain());
      for (const operation of unsent.concat(this.#waiting.splice(0))) {
        sendQueueOf(old, runtime, window).post(operation);
      }
    };
    connection.onMove?.(this.#follow);
  }

  /** Under load many are given up, and an error takes its time to make: one for all. */
  get abandoned(): Fault {
    this.#abandoned ??= abandoned(this.connection.name);
    return this.#abandoned;
  }

  /** As in {@link LockNode.drainedAt}. */
  get drainedAt(): number {
    return this.#drainedAt;
  }

  refusesSlots(): void {
    this.#isSlotted = true;
  }

  unsentFor(why: string): Fault {
    if (this.#unsent?.why !== why) this.#unsent = { why, fault: unsent(this.connection.name, why) };
    return this.#unsent.fault;
  }

  /** To be called where the connection stands. */
  post(operation: Operation): void {
    this.#waiting.push(operation);
    if (operation.isAlone && !this.#isFlushing) this.flush();
    else if (!this.#isDue) {
      // As soon as those who run now have asked, and with all that waits before it.
      const isWhole = this.#waiting.length >= largestBatch;
      if (this.#inFlight < mostBatches || isWhole || this.#undoesClaimInFlight(operation)) {
        this.#isDue = true;
        if (due.length === 0) void resolved.then(flushAll);
        due.push(this);
      } else this.#timer ??= this.runtime.setTimer(this.flush, longestWait);
    }
  }

  /** Sends what waits, as far as it may be sent now. */
  readonly flush = (): void => {
    this.#isDue = false;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#waiting.length === 0) return;
    // Taken as a whole first: to look whether a claim is abandoned may end a hold, whose owner may ask for more.
    const waiting = this.#waiting;
    this.#waiting = [];
    if (!this.connection.isReady) {
      this.#giveUp(waiting);
      return;
    }
    this.#isFlushing = true;
    this.#flushes += 1;
    try {
      const isSent = !this.#isSlotted && this.#pipelineOf(undefined).sendAll(waiting, this.#flushes);
      if (!isSent) this.#sendEach(waiting);
    } finally {
      this.#isFlushing = false;
    }
  };

  /** Sends all that there is: the connection is about to be closed. */
  finish(): void {
    if (!this.connection.isReady) {
      this.#giveUpAll();
      return;
    }
    for (const pipeline of this.#pipelines.values()) pipeline.finish();
    this.flush();
    for (const pipeline of this.#pipelines.values()) pipeline.finish();
  }

  sent(): void {
    this.#inFlight += 1;
  }

  answered(pipeline: Pipeline, wasDraining: boolean): void {
    this.#inFlight -= 1;
    if (wasDraining) this.#drainedAt = this.runtime.monotonic();
    // First what has been asked for since: an extension may be among it.
    if (this.#waiting.length > 0) this.flush();
    if (pipeline.hasBacklog) this.#refill(pipeline);
    if (pipeline.slot !== undefined && pipeline.isIdle) this.#pipelines.delete(pipeline.slot);
  }

  #refill(pipeline: Pipeline): void {
    if (this.connection.isReady) pipeline.refill();
    else this.#giveUp(pipeline.drain());
  }

  /** Each in its order, where it belongs: some wait for room, some are for another slot, some were given up. */
  #sendEach(operations: readonly Operation[]): void {
    const { client } = this.connection;
    const filled: Pipeline[] = [];
    const unsent = new Set<string>();
    for (const operation of operations) {
      if (isAbandoned(operation)) {
        if (operation.kind === "vote") unsent.add(operation.words[0]!);
        operation.hear(client, this.abandoned);
        continue;
      }
      // Behind a vote that was never sent there is nothing to take back.
      if (unsent.size > 0 && isRelease(operation) && operation.words.every((token) => unsent.has(token))) {
        operation.hear(client, { vote: "no" });
        continue;
      }
      const pipeline = this.#pipelineOf(this.#slotOf(operation));
      const wasEmpty = pipeline.isEmpty;
      pipeline.take(operation, this.#flushes);
      if (wasEmpty && !pipeline.isEmpty) filled.push(pipeline);
    }
    for (const pipeline of filled) pipeline.send();
  }

  #undoesClaimInFlight(operation: Operation): boolean {
    return (
      isRelease(operation) && this.#pipelines.get(this.#slotOf(operation))?.hasClaimFor(operation) === true
    );
  }

  #slotOf({ keys }: Operation): number | undefined {
    return this.connection.slotOf?.(keys[0]!, this.#isSlotted);
  }

  #pipelineOf(slot: number | undefined): Pipeline {
    let pipeline = this.#pipelines.get(slot);
    if (!pipeline) {
      pipeline = new Pipeline(this, slot);
      this.#pipelines.set(slot, pipeline);
    }
    return pipeline;
  }

  #giveUpAll(): void {
    for (const pipeline of this.#pipelines.values()) this.#giveUp(pipeline.drain());
    this.#giveUp(this.#waiting.splice(0));
  }

  #giveUp(operations: readonly Operation[]): void {
    const fault = unsent(this.connection.name, this.connection.notReadyReason);
    for (const operation of operations) operation.hear(this.connection.client, fault);
  }
}

const resolved = Promise.resolve();
/** What is to be sent behind those who run now. */
let due: SendQueue[] = [];

/** Of all masters in one microtask, since all are asked in one turn. */
function flushAll(): void {
  const sendQueues = due;
  due = [];
  for (const sendQueue of sendQueues) {
    try {
      sendQueue.flush();
    } catch (error) {
      // A mistake of ours, met at one master: what is asked of the others goes out before the process hears of it.
      void Promise.reject(error);
    }
  }
}

/** One for each connection, however many nodes share it: they share its batches. */
const sendQueues = new WeakMap<Connection, SendQueue>();

export function sendQueueOf(
  connection: Connection,
  runtime: SendQueueRuntime,
  window: number = largestWindow,
): SendQueue {
  let sendQueue = sendQueues.get(connection);
  if (!sendQueue) {
    sendQueue = new SendQueue(connection, runtime, window);
    sendQueues.set(connection, sendQueue);
  }
  return sendQueue;
}
