import { Batch, type BatchOrigin } from "./batch.ts";
import type { Connection } from "./connection.ts";
import { abandoned, unsent } from "./fault.ts";
import type { Fault } from "./node.ts";
import { isAbandoned, isCleanUp, type Operation } from "./operation.ts";
import type { Runtime } from "./runtime.ts";

/** So many wait for a master that does not answer; more would only pile up. */
const mostUnanswered = 4096;
/** So many are sent in one batch: a master does nothing else meanwhile, some 3 us for each key. */
const largestBatch = 128;
const mostKeys = 512;
/** A master that has not answered for so long is fed no more, ms: the longest time that one has by default. */
const silence = 500;

type Slot = number | undefined;

/** What goes to one master of a Cluster, or to the master. */
interface Group {
  readonly slot: Slot;
  readonly isSilent: boolean;
  operations: Operation[];
  keys: number;
}

/** A batch on its way. */
interface Journey {
  readonly slot: Slot;
  readonly session: number;
  /** By the monotonic clock, ms. */
  readonly sentAt: number;
}

/**
 * What is to be sent on one connection (PROTOCOL 12, 14.16): whatever is asked for in one turn of the event loop goes
 * out together at its end. Many locks at a time cost few commands, one lock costs no more than its own, and nothing
 * waits for an answer, which a distant master gives late. The busier the process, the more is asked in a turn.
 *
 * In the order of the calls. A claim that was given up meanwhile is taken out, a clean-up never is.
 */
export class Outbox implements BatchOrigin {
  readonly connection: Connection;
  readonly #runtime: Pick<Runtime, "monotonic">;
  readonly #flushNow = () => this.flush();
  #waiting: Operation[] = [];
  #isDue = false;
  #isFlushing = false;
  /** Oldest first. */
  readonly #inFlight = new Map<Batch, Journey>();
  /** Clean-ups that are kept for a master that does not answer. */
  #held: Operation[] = [];
  #unanswered = 0;
  /** Counts the connections: what is left of an older one is never sent on the next (PROTOCOL 14.3). */
  #session = 0;
  #bySlot = false;
  #abandoned: Fault | undefined;

  constructor(connection: Connection, runtime: Pick<Runtime, "monotonic">) {
    this.connection = connection;
    this.#runtime = runtime;
    connection.onReady(() => {
      this.#session += 1;
      this.#giveUp(this.#held.splice(0));
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
      operation.settle(unsent(this.connection.name, `${mostUnanswered} commands are unanswered`));
      return;
    }
    this.#unanswered += 1;
    this.#waiting.push(operation);
    if (operation.isAlone && !this.#isFlushing) this.flush();
    else if (!this.#isDue) {
      this.#isDue = true;
      queueMicrotask(this.#flushNow);
    }
  }

  /** Sends what there is. `isLast`: also what is kept for a master that does not answer. */
  flush(isLast = false): void {
    this.#isDue = false;
    if (isLast) this.#waiting.unshift(...this.#held.splice(0));
    if (this.#waiting.length === 0) return;
    // Taken as a whole first: to look whether a claim is abandoned may end a hold, whose owner may ask for more.
    const waiting = this.#waiting;
    this.#waiting = [];
    if (!this.connection.isReady) return this.#giveUp(waiting);
    this.#isFlushing = true;
    const groups = new Map<Slot, Group>();
    for (const operation of waiting) {
      if (isAbandoned(operation)) {
        this.#unanswered -= 1;
        operation.settle(this.abandoned);
      } else this.#assign(operation, groups, isLast);
    }
    for (const group of groups.values()) this.#send(group);
    this.#isFlushing = false;
  }

  stands(batch: Batch): boolean {
    return this.connection.isReady && this.#inFlight.get(batch)?.session === this.#session;
  }

  answered(batch: Batch): void {
    this.#inFlight.delete(batch);
    this.#unanswered -= batch.operations.length;
    if (this.#held.length === 0) return;
    this.#waiting.unshift(...this.#held.splice(0));
    this.flush();
  }

  refusesSlots(): void {
    this.#bySlot = true;
  }

  #assign(operation: Operation, groups: Map<Slot, Group>, isLast: boolean): void {
    const slot = this.#slotOf(operation);
    let group = groups.get(slot);
    if (!group) {
      group = { slot, isSilent: !isLast && this.#isSilent(slot), operations: [], keys: 0 };
      groups.set(slot, group);
    }
    if (group.isSilent && !this.#mayFollow(operation)) this.#withhold(operation);
    else {
      const isFull = group.operations.length >= largestBatch || group.keys + operation.keys.length > mostKeys;
      if (isFull || operation.isAlone) this.#send(group);
      group.operations.push(operation);
      group.keys += operation.keys.length;
      if (operation.isAlone) this.#send(group);
    }
  }

  #send(group: Group): void {
    if (group.operations.length === 0) return;
    const batch = new Batch(this, group.operations);
    group.operations = [];
    group.keys = 0;
    const sentAt = this.#runtime.monotonic();
    this.#inFlight.set(batch, { slot: group.slot, session: this.#session, sentAt });
    batch.send();
  }

  #slotOf({ keys }: Operation): Slot {
    return this.connection.slotOf?.(keys[0]!, this.#bySlot);
  }

  /**
   * Whether the master has left its oldest batch unanswered for so long that somebody gave up waiting for it. What is
   * in flight tells when it is back.
   */
  #isSilent(slot: Slot): boolean {
    for (const [batch, journey] of this.#inFlight) {
      if (journey.slot !== slot) continue;
      const isOverdue = this.#runtime.monotonic() - journey.sentAt > silence;
      return isOverdue && batch.operations.some((operation) => !operation.claim || isAbandoned(operation));
    }
    return false;
  }

  /**
   * A clean-up of a claim that is in flight goes out at once, behind it on the same connection: on the next one it might
   * overtake it (PROTOCOL 2.6).
   */
  #mayFollow(operation: Operation): boolean {
    if (!isCleanUp(operation)) return false;
    const waiters = new Set(operation.words.map(waiterOf));
    for (const batch of this.#inFlight.keys()) {
      if (batch.operations.some(({ claim, words }) => claim && waiters.has(waiterOf(words[0]!)))) return true;
    }
    return false;
  }

  #withhold(operation: Operation): void {
    if (isCleanUp(operation)) this.#held.push(operation);
    else {
      this.#unanswered -= 1;
      operation.settle(unsent(this.connection.name, `it has not answered for ${silence} ms`));
    }
  }

  #giveUp(operations: readonly Operation[]): void {
    this.#unanswered -= operations.length;
    const { name, obstacle } = this.connection;
    for (const operation of operations) operation.settle(unsent(name, obstacle));
  }
}

/** A token without the number of its round. */
function waiterOf(token: string): string {
  return token.replace(/\.\d+$/, "");
}

/** One for each connection, however many nodes share it: they share its batches. */
const outboxes = new WeakMap<Connection, Outbox>();

export function outboxOf(connection: Connection, runtime: Pick<Runtime, "monotonic">): Outbox {
  let outbox = outboxes.get(connection);
  if (!outbox) {
    outbox = new Outbox(connection, runtime);
    outboxes.set(connection, outbox);
  }
  return outbox;
}
