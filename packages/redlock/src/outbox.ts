import type { Connection } from "./connection.ts";
import { abandoned, unsent } from "./fault.ts";
import { Lane, type LaneOrigin, largestBatch, type Pace } from "./lane.ts";
import type { Fault } from "./node.ts";
import { isAbandoned, isCleanUp, type Operation } from "./operation.ts";
import type { Runtime, Timer } from "./runtime.ts";

/** So many wait for a master that does not answer; more would only pile up. */
const mostUnanswered = 4096;
const overflow = `${mostUnanswered} commands are unanswered`;
/** What waits for an answer waits so long for it, ms: a distant master's takes longer. */
const longestWait = 1;

export type OutboxRuntime = Pick<Runtime, "monotonic" | "setTimer">;

/**
 * What is to be sent on one connection (PROTOCOL 12, 14.16). Where nothing is in flight, what is asked for in one go
 * goes out at once and together; else it waits for the answer, but not for long. So many locks at a time cost few
 * commands, and one lock no more than its own. A master that lags behind is sent nothing new until it answers.
 *
 * In the order of the calls. A claim that was given up while it waited is taken out, a clean-up never is.
 */
export class Outbox implements LaneOrigin {
  readonly connection: Connection;
  readonly #runtime: OutboxRuntime;
  /** One, but on a Cluster one for each slot with something in flight, or to be sent now. */
  readonly #lanes = new Map<number | undefined, Lane>();
  #waiting: Operation[] = [];
  /** Until their master keeps up again. */
  #kept: Operation[] = [];
  /** Those that wait or are in flight. */
  #unanswered = 0;
  #inFlight = 0;
  #flushes = 0;
  /** Whether what waits is sent as soon as those who run now have asked. */
  #isDue = false;
  #timer: Timer | undefined;
  #isFlushing = false;
  #session = 0;
  #isSlotted = false;
  /** Only kept, for as long as there is this outbox. */
  readonly #follow: (why: string, old: Connection) => void;
  #abandoned: Fault | undefined;
  #unsent: { readonly why: string; readonly fault: Fault } | undefined;

  constructor(connection: Connection, runtime: OutboxRuntime) {
    this.connection = connection;
    this.#runtime = runtime;
    // What was for one connection is never sent on the next: something else may have been decided since (PROTOCOL 2.2).
    connection.onReady(() => {
      this.#session += 1;
      this.#giveUp([...this.#kept.splice(0), ...this.#waiting.splice(0)]);
    });
    // What takes back what is in the database that is left still goes there (PROTOCOL 14.18).
    this.#follow = (_, old) => {
      const unsent = [...this.#kept.splice(0), ...this.#waiting.splice(0)];
      this.#unanswered -= unsent.length;
      for (const operation of unsent) outboxOf(old, runtime).post(operation);
    };
    connection.onMove?.(this.#follow);
  }

  get session(): number {
    return this.#session;
  }

  /** Under load many are given up, and an error takes its time to make: one for all. */
  get abandoned(): Fault {
    this.#abandoned ??= abandoned(this.connection.name);
    return this.#abandoned;
  }

  now(): number {
    return this.#runtime.monotonic();
  }

  refusesSlots(): void {
    this.#isSlotted = true;
  }

  /** To be called where the connection stands. */
  post(operation: Operation): void {
    if (this.#unanswered >= mostUnanswered) {
      operation.settle(this.#unsentFor(overflow));
      return;
    }
    this.#unanswered += 1;
    this.#waiting.push(operation);
    if (operation.isAlone && !this.#isFlushing) this.flush();
    else if (!this.#isDue) this.#plan(operation);
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
    if (this.connection.isReady) this.#send(waiting);
    else this.#giveUp(waiting);
  };

  /** Sends all that there is: the connection is about to be closed. */
  finish(): void {
    const operations = [...this.#kept.splice(0), ...this.#waiting.splice(0)];
    if (this.connection.isReady) this.#send(operations, "keeping up");
    else this.#giveUp(operations);
  }

  sent(operations: number): void {
    this.#inFlight += operations;
  }

  answered(lane: Lane, operations: number): void {
    this.#unanswered -= operations;
    this.#inFlight -= operations;
    if (lane.slot !== undefined && lane.isIdle) this.#lanes.delete(lane.slot);
    if (this.#kept.length > 0 && lane.pace === "keeping up") {
      this.#waiting = [...this.#kept.splice(0), ...this.#waiting];
    }
    this.flush();
  }

  /** When it is to be sent, with all that waits before it. */
  #plan(operation: Operation): void {
    const isWhole = this.#waiting.length >= largestBatch;
    if (this.#inFlight === 0 || isWhole || this.#undoesClaimInFlight(operation)) {
      this.#isDue = true;
      void Promise.resolve().then(this.flush);
    } else this.#timer ??= this.#runtime.setTimer(this.flush, longestWait);
  }

  /** `pace`: what is to be thought of all masters. */
  #send(operations: readonly Operation[], pace?: Pace): void {
    this.#isFlushing = true;
    this.#flushes += 1;
    const filled: Lane[] = [];
    for (const operation of operations) {
      if (isAbandoned(operation)) {
        this.#refuse(operation, this.abandoned);
        continue;
      }
      const lane = this.#laneOf(operation);
      if (lane.isEmpty) filled.push(lane);
      const itsPace = pace ?? lane.paceIn(this.#flushes);
      if (itsPace === "keeping up") lane.add(operation);
      else this.#addOrKeep(operation, lane, itsPace);
    }
    for (const lane of filled) lane.send();
    this.#isFlushing = false;
  }

  /** A silent master is asked for nothing: what is in flight tells when it is back. */
  #addOrKeep(operation: Operation, lane: Lane, pace: "lagging" | "silent"): void {
    const isWanted = operation.isAlone && pace === "lagging";
    if (isWanted || this.#undoesClaimInFlight(operation)) lane.add(operation);
    else if (pace === "lagging" || isCleanUp(operation)) this.#kept.push(operation);
    else this.#refuse(operation, this.#unsentFor(`it has not answered for ${lane.silence} ms`));
  }

  /**
   * A clean-up of a claim that is in flight goes out at once, behind it on the same connection: sent on the next one it
   * might overtake it (PROTOCOL 2.6).
   */
  #undoesClaimInFlight(operation: Operation): boolean {
    return isCleanUp(operation) && this.#lanes.get(this.#slotOf(operation))?.hasClaimFor(operation) === true;
  }

  #slotOf({ keys }: Operation): number | undefined {
    return this.connection.slotOf?.(keys[0]!, this.#isSlotted);
  }

  #laneOf(operation: Operation): Lane {
    const slot = this.#slotOf(operation);
    let lane = this.#lanes.get(slot);
    if (!lane) {
      lane = new Lane(this, slot);
      this.#lanes.set(slot, lane);
    }
    return lane;
  }

  #giveUp(operations: readonly Operation[]): void {
    const fault = unsent(this.connection.name, this.connection.obstacle);
    for (const operation of operations) this.#refuse(operation, fault);
  }

  #refuse(operation: Operation, why: Fault): void {
    this.#unanswered -= 1;
    operation.settle(why);
  }

  #unsentFor(why: string): Fault {
    if (this.#unsent?.why !== why) this.#unsent = { why, fault: unsent(this.connection.name, why) };
    return this.#unsent.fault;
  }
}

/** One for each connection, however many nodes share it: they share its batches. */
const outboxes = new WeakMap<Connection, Outbox>();

export function outboxOf(connection: Connection, runtime: OutboxRuntime): Outbox {
  let outbox = outboxes.get(connection);
  if (!outbox) {
    outbox = new Outbox(connection, runtime);
    outboxes.set(connection, outbox);
  }
  return outbox;
}
