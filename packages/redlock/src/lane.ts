import { Batch, type BatchOrigin } from "./batch.ts";
import type { Connection } from "./connection.ts";
import type { Fault } from "./node.ts";
import { isOver, type Operation } from "./operation.ts";
import { waiterOf } from "./token.ts";

/** So many are sent in one batch: a master does nothing else meanwhile, some 3 us for each key. */
export const largestBatch = 128;
const mostKeys = 512;
/** With so many operations in flight a master lags behind. */
const largestWindow = 512;
/**
 * A master that has not answered for so long is fed no more, ms: several times what one has by default, and where locks
 * are asked for that last long, part of their ttl. On a slow network one that is merely late must not be taken for dead:
 * with a few that are, no quorum would be left to ask (simulation, seeds 588 and guarded 1688).
 */
const shortestSilence = 2500;
const longestSilence = 10_000;
const silenceFraction = 1 / 2;

/** `lagging`: the master has enough to answer. `silent`: and has said nothing for so long that somebody gave up on it. */
export type Pace = "keeping up" | "lagging" | "silent";

/** What lanes share: the connection. */
export interface LaneOrigin {
  readonly connection: Connection;
  readonly abandoned: Fault;
  /** Changes with each connection. */
  readonly session: number;
  now(): number;
  refusesSlots(): void;
  /** So many operations go out. */
  sent(operations: number): void;
  /** So many operations of the lane have been answered. */
  answered(lane: Lane, operations: number): void;
}

/** The way to one master: on a Cluster there are several over one connection, one for each hash slot. */
export class Lane implements BatchOrigin {
  readonly slot: number | undefined;
  readonly #origin: LaneOrigin;
  /** Oldest first. */
  readonly #inFlight = new Set<Batch>();
  /** Operations in flight. */
  #unanswered = 0;
  /** The next batch. */
  #operations: Operation[] = [];
  #keys = 0;
  #pace: Pace = "keeping up";
  #longestTtl = 0;
  /** The flush that the pace was looked at for. */
  #flush = 0;

  constructor(origin: LaneOrigin, slot: number | undefined) {
    this.#origin = origin;
    this.slot = slot;
  }

  get connection(): Connection {
    return this.#origin.connection;
  }

  get abandoned(): Fault {
    return this.#origin.abandoned;
  }

  get isIdle(): boolean {
    return this.#inFlight.size === 0;
  }

  /** Whether the next batch is empty. */
  get isEmpty(): boolean {
    return this.#operations.length === 0;
  }

  /** The pace at the beginning of this flush: what it sends itself does not slow it down. */
  paceIn(flush: number): Pace {
    if (this.#flush !== flush) this.#pace = this.pace;
    this.#flush = flush;
    return this.#pace;
  }

  get pace(): Pace {
    if (this.#unanswered === 0) return "keeping up";
    const [oldest] = this.#inFlight as Iterable<Batch | undefined>;
    const isOverdue = oldest && this.#origin.now() - oldest.sentAt > this.silence;
    // Late alone is not enough: whoever has a longer time-out may still wait for it.
    if (isOverdue && oldest.operations.some(isOver)) return "silent";
    return this.#unanswered < largestWindow ? "keeping up" : "lagging";
  }

  /** After so long, ms. */
  get silence(): number {
    return Math.min(Math.max(shortestSilence, this.#longestTtl * silenceFraction), longestSilence);
  }

  /** Whether a claim is in flight that `cleanUp` undoes. */
  hasClaimFor(cleanUp: Operation): boolean {
    const waiters = cleanUp.words.map(waiterOf);
    for (const batch of this.#inFlight) if (batch.hasClaimOf(waiters)) return true;
    return false;
  }

  /** Puts the operation into the next batch; what is there goes out first where it is too much for one. */
  add(operation: Operation): void {
    const isWhole = this.#operations.length >= largestBatch || this.#keys + operation.keys.length > mostKeys;
    if (operation.isAlone || isWhole) this.send();
    this.#operations.push(operation);
    this.#keys += operation.keys.length;
    this.#longestTtl = Math.max(this.#longestTtl, operation.ttl);
    if (operation.isAlone) this.send();
  }

  send(): void {
    if (this.#operations.length === 0) return;
    const batch = new Batch(this, this.#operations, this.#origin.session, this.#origin.now());
    this.#operations = [];
    this.#keys = 0;
    this.#inFlight.add(batch);
    this.#unanswered += batch.operations.length;
    this.#origin.sent(batch.operations.length);
    batch.send();
  }

  stands(batch: Batch): boolean {
    return this.connection.isReady && batch.session === this.#origin.session;
  }

  refusesSlots(): void {
    this.#origin.refusesSlots();
  }

  answered(batch: Batch): void {
    this.#inFlight.delete(batch);
    this.#unanswered -= batch.operations.length;
    this.#origin.answered(this, batch.operations.length);
  }
}
