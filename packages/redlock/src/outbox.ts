import { Batch, type BatchOrigin, type Slot } from "./batch.ts";
import type { Connection } from "./connection.ts";
import { abandoned, unsent } from "./fault.ts";
import type { Fault } from "./node.ts";
import { isAbandoned, isCleanUp, type Operation } from "./operation.ts";
import type { Runtime, Timer } from "./runtime.ts";

/** So many wait for a master that does not answer; more would only pile up. */
const mostUnanswered = 4096;
/** So many are sent in one batch: a master does nothing else meanwhile, some 3 us for each key. */
const largestBatch = 128;
const mostKeys = 512;
/** What waits for an answer waits so long for it at most, ms: a distant master's takes longer. */
const longestWait = 1;
/** But not before the answer while so many operations are in flight: the master lags behind. */
const window = 512;
/** A master that has not answered for so long is fed no more, ms: the longest time that one has by default. */
const silence = 500;

export type OutboxRuntime = Pick<Runtime, "monotonic" | "setTimer">;

/** What goes out to one master, on a Cluster; to the master, where there is one. */
interface Group {
  readonly slot: Slot;
  /** `lagging`: it has a whole window to answer. `silent`: and has left it unanswered for too long. */
  readonly state: "keeping up" | "lagging" | "silent";
  operations: Operation[];
  keys: number;
}

/**
 * What is to be sent on one connection (PROTOCOL 12, 14.16). Where nothing is in flight, what is asked for in one go
 * goes out at once and together; else it waits for the answer, but not for long. So many locks at a time cost few
 * commands, and one lock no more than its own.
 *
 * In the order of the calls. A claim that was given up while it waited is taken out, a clean-up never is.
 */
export class Outbox implements BatchOrigin {
  readonly connection: Connection;
  readonly #runtime: OutboxRuntime;
  readonly #flush = (): void => this.flush();
  #waiting: Operation[] = [];
  /** Whether it is sent as soon as those who run now have asked. */
  #isDue = false;
  #timer: Timer | undefined;
  #isFlushing = false;
  /** Oldest first. */
  readonly #inFlight = new Set<Batch>();
  /** Operations that wait or are in flight. */
  #unanswered = 0;
  /** Counts the connections: what belongs to one is never sent on the next (PROTOCOL 2.2). */
  #session = 0;
  #isSlotted = false;
  #abandoned: Fault | undefined;
  #unsent: { readonly why: string; readonly fault: Fault } | undefined;

  constructor(connection: Connection, runtime: OutboxRuntime) {
    this.connection = connection;
    this.#runtime = runtime;
    connection.onReady(() => {
      this.#session += 1;
      this.#giveUp(this.#waiting.splice(0));
    });
  }

  /** Under load many are given up, and an error takes its time to make: one for all. */
  get abandoned(): Fault {
    this.#abandoned ??= abandoned(this.connection.name);
    return this.#abandoned;
  }

  /** To be called where the connection stands. */
  post(operation: Operation): void {
    if (this.#unanswered >= mostUnanswered) {
      operation.settle(this.#unsentFor(`${mostUnanswered} commands are unanswered`));
      return;
    }
    this.#unanswered += 1;
    this.#waiting.push(operation);
    if (operation.isAlone && !this.#isFlushing) this.flush();
    else if (!this.#isDue) this.#plan(operation);
  }

  /** Sends what may be sent now. `isLast`: the rest as well. */
  flush(isLast = false): void {
    this.#isDue = false;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#waiting.length === 0) return;
    // Taken as a whole first: to look whether a claim is abandoned may end a hold, whose owner may ask for more.
    const waiting = this.#waiting;
    this.#waiting = [];
    if (!this.connection.isReady) return this.#giveUp(waiting);
    this.#isFlushing = true;
    const groups = new Map<Slot, Group>();
    const kept = waiting.filter((operation) => !this.#assign(operation, groups, isLast));
    for (const group of groups.values()) this.#send(group);
    if (kept.length > 0) this.#waiting = [...kept, ...this.#waiting];
    this.#isFlushing = false;
  }

  stands(batch: Batch): boolean {
    return this.connection.isReady && batch.session === this.#session;
  }

  answered(batch: Batch): void {
    this.#inFlight.delete(batch);
    this.#unanswered -= batch.operations.length;
    if (this.#waiting.length > 0) this.flush();
  }

  refusesSlots(): void {
    this.#isSlotted = true;
  }

  /** When the operation is to be sent, with all that waits before it. */
  #plan(operation: Operation): void {
    const isUrgent = this.#inFlight.size === 0 || this.#mayFollow(operation);
    if (isUrgent || this.#waiting.length >= largestBatch) {
      this.#isDue = true;
      queueMicrotask(this.#flush);
    } else this.#timer ??= this.#runtime.setTimer(this.#flush, longestWait);
  }

  /** Puts the operation into a group, or refuses it. False where it has to wait. */
  #assign(operation: Operation, groups: Map<Slot, Group>, isLast: boolean): boolean {
    if (isAbandoned(operation)) return this.#refuse(operation, this.abandoned);
    const slot = this.connection.slotOf?.(operation.keys[0]!, this.#isSlotted);
    let group = groups.get(slot);
    if (!group) {
      group = { slot, state: isLast ? "keeping up" : this.#stateOf(slot), operations: [], keys: 0 };
      groups.set(slot, group);
    }
    if (group.state !== "keeping up" && !this.#mayFollow(operation)) {
      if (group.state === "lagging" || isCleanUp(operation)) return false;
      return this.#refuse(operation, this.#unsentFor(`it has not answered for ${silence} ms`));
    }
    const isFull = group.operations.length >= largestBatch || group.keys + operation.keys.length > mostKeys;
    if (operation.isAlone || isFull) this.#send(group);
    group.operations.push(operation);
    group.keys += operation.keys.length;
    if (operation.isAlone) this.#send(group);
    return true;
  }

  #send(group: Group): void {
    const { slot, operations } = group;
    if (operations.length === 0) return;
    group.operations = [];
    group.keys = 0;
    const batch = new Batch(this, operations, slot, this.#session, this.#runtime.monotonic());
    this.#inFlight.add(batch);
    batch.send();
  }

  /** A silent one is sent no more: what is in flight tells when it is back. */
  #stateOf(slot: Slot): Group["state"] {
    let oldest: Batch | undefined;
    let inFlight = 0;
    for (const batch of this.#inFlight) {
      if (batch.slot !== slot) continue;
      oldest ??= batch;
      inFlight += batch.operations.length;
    }
    // Late alone is not enough: whoever has a longer time-out may still wait for it.
    const isOver = oldest?.operations.some(({ claim }) => !claim || claim.abandoned);
    if (isOver && this.#runtime.monotonic() - oldest!.sentAt > silence) return "silent";
    return inFlight < window ? "keeping up" : "lagging";
  }

  /**
   * A clean-up of a claim that is in flight goes out at once, behind it on the same connection: sent on the next one it
   * might overtake it (PROTOCOL 2.6).
   */
  #mayFollow(operation: Operation): boolean {
    if (!isCleanUp(operation)) return false;
    for (const batch of this.#inFlight) if (batch.hasClaimFor(operation)) return true;
    return false;
  }

  #giveUp(operations: readonly Operation[]): void {
    const fault = unsent(this.connection.name, this.connection.obstacle);
    for (const operation of operations) this.#refuse(operation, fault);
  }

  #refuse(operation: Operation, why: Fault): true {
    this.#unanswered -= 1;
    operation.settle(why);
    return true;
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
