import { crowdedOut } from "../protocol/faults.ts";
import type { Fault, ReleaseAnswer } from "../protocol/node.ts";
import { waiterOf } from "../protocol/token.ts";
import { Fifo } from "../time/fifo.ts";
import type { Runtime } from "../time/runtime.ts";
import { Batch, type BatchOrigin } from "./batch.ts";
import { isAbandoned, isOver, isRelease, type Operation, purposeOf } from "./commands.ts";
import type { Connection } from "./connection.ts";

/** So many are sent in one batch: a master does nothing else meanwhile, some 3 us for each key. */
export const largestBatch = 128;
const mostKeys = 512;
/**
 * The send window: so many operations are in flight at most, and beside them so many that keep a lease. What is behind it
 * waits here, where it can be overtaken; in the master's socket it could not.
 */
export const largestWindow = 512;
/** Requests that wait for room, at most: a master that hangs must not fill the memory. */
const mostRequests = 4096;
/** Releases that are kept for a silent master, at most: more are refused, and owed until the keys expire. */
const mostKept = 4096;
/**
 * A master that has not answered for so long is fed no more, ms: several times what one has by default, and where locks
 * are asked for that last long, part of their ttl. On a slow network one that is merely late must not be taken for dead:
 * with a few that are, no quorum would be left to ask (simulation, seeds 588 and guarded 1688).
 */
const shortestSilence = 2500;
const longestSilence = 10_000;
const silenceFraction = 1 / 2;
/** A master that takes longer for one batch, ms, is slow, whatever else stands in line: nobody waits on for that. */
export const slowAnswer = 500;

/** What pipelines share: the connection. */
export interface PipelineOrigin {
  readonly connection: Connection;
  readonly abandoned: Fault;
  /** How many operations may be in flight, and beside them how many that keep a lease. */
  readonly window: number;
  readonly runtime: Pick<Runtime, "monotonic">;
  refusesSlots(): void;
  /** What is told of a master that is not asked, for this reason. */
  unsentFor(why: string): Fault;
  /** A batch goes out. */
  sent(): void;
  /** A batch of the pipeline has been answered. `wasDraining`: see {@link Pipeline.isDraining}. */
  answered(pipeline: Pipeline, wasDraining: boolean): void;
}

/**
 * The way to one master: on a Cluster there are several over one connection, one for each hash slot.
 *
 * Where the window is full, what keeps a lease goes first, then releases, then requests, each in the order of the calls
 * (PROTOCOL 12.7). An extension has a window of its own, so that nothing else can fill it. A release may overtake the
 * vote that it undoes: that vote was given up before, and is not sent any more.
 */
export class Pipeline implements BatchOrigin {
  readonly slot: number | undefined;
  readonly connection: Connection;
  readonly #origin: PipelineOrigin;
  /** Oldest first. */
  readonly #inFlight = new Set<Batch>();
  /** The next batch. */
  #operations: Operation[] = [];
  #keys = 0;
  /** What keeps a lease, in flight and in the next batch. */
  #keeping = 0;
  /** Of these, in the next batch. */
  #keepingNext = 0;
  /** The rest, in flight and in the next batch. */
  #others = 0;
  readonly #keeps = new Fifo<Operation>();
  readonly #releases = new Fifo<Operation>();
  #requests = new Fifo<Operation>();
  /** The votes among these, by token. */
  readonly #unsentVotes = new Map<string, Operation>();
  #isSilent = false;
  #longestTtl = 0;
  /** False where nothing waits for room. */
  #mayWait = false;
  /** The latest batch of what had to wait for room. */
  #behind: Batch | undefined;
  /** Whether something waits for room, or did: not only for a silent master. */
  #isCrowded = false;
  /** The flush that `isSilent` was looked at for. */
  #flush = 0;

  constructor(origin: PipelineOrigin, slot: number | undefined) {
    this.#origin = origin;
    this.connection = origin.connection;
    this.slot = slot;
  }

  get abandoned(): Fault {
    return this.#origin.abandoned;
  }

  get isIdle(): boolean {
    return this.#inFlight.size === 0 && !this.hasBacklog;
  }

  /** Whether the next batch is empty. */
  get isEmpty(): boolean {
    return this.#operations.length === 0;
  }

  /** Whether something waits for room. */
  get hasBacklog(): boolean {
    this.#mayWait &&= this.#keeps.length + this.#releases.length + this.#requests.length > 0;
    return this.#mayWait;
  }

  /** Whether something waits for room, or has no answer yet and did. (What a silent master kept is no reason to wait on.) */
  get isDraining(): boolean {
    if (!this.#isCrowded) return false;
    const isBehind = this.#behind !== undefined && this.#inFlight.has(this.#behind);
    this.#isCrowded = this.hasBacklog || isBehind;
    return this.#isCrowded;
  }

  /** Whether a claim is in flight that `cleanUp` undoes. */
  hasClaimFor(cleanUp: Operation): boolean {
    const waiters = cleanUp.words.map(waiterOf);
    for (const batch of this.#inFlight) if (batch.hasClaimOf(waiters)) return true;
    return false;
  }

  /**
   * Sends all of `operations` as one batch, which is then the same for all masters that have room for them: whether it did.
   * If not, each is to be taken by itself. `flush` is the number of this flush.
   */
  sendAll(operations: readonly Operation[], flush: number): boolean {
    const { window } = this.#origin;
    if (operations.length > largestBatch || this.#operations.length > 0 || this.hasBacklog) return false;
    if (this.#inFlight.size > 0 && this.#isSilentIn(flush)) return false;
    let keys = 0;
    let keeping = 0;
    let longestTtl = this.#longestTtl;
    for (const operation of operations) {
      if (operation.claim?.abandoned || (operation.isAlone && operations.length > 1)) return false;
      keys += operation.keys.length;
      if (purposeOf(operation) === "keep") keeping += 1;
      if (operation.ttl > longestTtl) longestTtl = operation.ttl;
    }
    const others = operations.length - keeping;
    if (keys > mostKeys && operations.length > 1) return false;
    if (this.#keeping + keeping > window || this.#others + others > window) return false;
    this.#sendBatch(operations, keeping);
    this.#longestTtl = longestTtl;
    this.#keeping += keeping;
    this.#others += others;
    return true;
  }

  /** Puts the operation into the next batch, or where it waits for room. `flush` is the number of this flush. */
  take(operation: Operation, flush: number): void {
    this.#isSilentIn(flush);
    if (isRelease(operation)) this.#takeRelease(operation);
    else if (this.#isSilent) this.#answer(operation, this.#silent());
    else if (purposeOf(operation) === "request") this.#takeRequest(operation);
    else if (this.#keeping < this.#origin.window && this.#keeps.length === 0) this.#add(operation);
    else this.#waitForRoom(this.#keeps, operation);
  }

  /** Fills the window from what waits, and sends it. */
  refill(): void {
    this.#fill();
    this.#behind = this.send() ?? this.#behind;
  }

  #fill(): void {
    while (this.#keeping < this.#origin.window && this.#keeps.length > 0)
      this.#addWanted(this.#keeps.shift()!);
    while (this.#others < this.#origin.window) {
      const operation = this.#releases.shift() ?? this.#shiftRequest();
      if (!operation) return;
      this.#addWanted(operation);
    }
  }

  /** Sends all that waits: the connection is about to be closed. */
  finish(): void {
    for (const operation of this.drain()) this.#addWanted(operation);
    this.send();
  }

  #shiftRequest(): Operation | undefined {
    const request = this.#requests.shift();
    if (request?.kind === "vote") this.#unsentVotes.delete(request.words[0]!);
    return request;
  }

  /** Takes out all that waits for room. */
  drain(): readonly Operation[] {
    this.#unsentVotes.clear();
    return [...this.#keeps.drain(), ...this.#releases.drain(), ...this.#requests.drain()];
  }

  /** The batch that goes out, if there is anything to send. */
  send(): Batch | undefined {
    if (this.#operations.length === 0) return undefined;
    const operations = this.#operations;
    const keeping = this.#keepingNext;
    this.#operations = [];
    this.#keys = 0;
    this.#keepingNext = 0;
    return this.#sendBatch(operations, keeping);
  }

  #sendBatch(operations: readonly Operation[], keeping: number): Batch {
    const batch = new Batch(
      this,
      operations,
      keeping,
      this.connection.session,
      this.#origin.runtime.monotonic(),
    );
    this.#inFlight.add(batch);
    this.#origin.sent();
    batch.send();
    return batch;
  }

  stands(batch: Batch): boolean {
    return this.connection.isReady && batch.session === this.connection.session;
  }

  refusesSlots(): void {
    this.#origin.refusesSlots();
  }

  answered(batch: Batch): void {
    const wasDraining =
      this.#isCrowded && this.isDraining && this.#origin.runtime.monotonic() - batch.sentAt <= slowAnswer;
    this.#inFlight.delete(batch);
    this.#keeping -= batch.keeping;
    this.#others -= batch.operations.length - batch.keeping;
    this.#origin.answered(this, wasDraining);
  }

  /** Looked at once in a flush. */
  #isSilentIn(flush: number): boolean {
    if (this.#flush !== flush) this.#isSilent = this.#isSilentNow();
    this.#flush = flush;
    return this.#isSilent;
  }

  /** It has said nothing for so long that somebody gave up on it. */
  #isSilentNow(): boolean {
    const [oldest] = this.#inFlight as Iterable<Batch | undefined>;
    const isOverdue = oldest && this.#origin.runtime.monotonic() - oldest.sentAt > this.#silence;
    // Late alone is not enough: whoever has a longer time-out may still wait for it.
    return isOverdue === true && oldest.operations.some(isOver);
  }

  /** After so long, ms. */
  get #silence(): number {
    return Math.min(Math.max(shortestSilence, this.#longestTtl * silenceFraction), longestSilence);
  }

  /** What is in flight tells when it is back. */
  #silent(): Fault {
    return this.#origin.unsentFor(`it has not answered for ${this.#silence} ms`);
  }

  /**
   * A clean-up of a claim that is in flight goes out at once, behind it on the same connection: sent on the next one it
   * might overtake it (PROTOCOL 2.6, 12.8).
   */
  #takeRelease(operation: Operation): void {
    // A vote that was given up before it was sent never will be, and left nothing here.
    const vote = operation.words.length === 1 ? this.#unsentVotes.get(operation.words[0]!) : undefined;
    if (vote && isAbandoned(vote)) {
      this.#answer(operation, { vote: "no" });
      return;
    }
    const mayGo = this.#others < this.#origin.window && this.#releases.length === 0 && !this.#isSilent;
    if (mayGo || this.hasClaimFor(operation)) this.#add(operation);
    else if (this.#isSilent && this.#releases.length >= mostKept) this.#answer(operation, this.#silent());
    else if (this.#isSilent) {
      this.#mayWait = true;
      this.#releases.push(operation);
    } else this.#waitForRoom(this.#releases, operation);
  }

  #waitForRoom(line: Fifo<Operation>, operation: Operation): void {
    this.#isCrowded = true;
    this.#mayWait = true;
    line.push(operation);
  }

  #takeRequest(operation: Operation): void {
    const mayGo = this.#others < this.#origin.window && this.#releases.length + this.#requests.length === 0;
    if (mayGo) this.#add(operation);
    else this.#keepRequest(operation);
  }

  #keepRequest(operation: Operation): void {
    if (this.#requests.length >= mostRequests) this.#dropAbandoned();
    if (this.#requests.length < mostRequests) {
      if (operation.kind === "vote") this.#unsentVotes.set(operation.words[0]!, operation);
      this.#waitForRoom(this.#requests, operation);
    } else this.#answer(operation, crowdedOut(this.connection.name, mostRequests));
  }

  #dropAbandoned(): void {
    const all = this.#requests.drain();
    for (const request of all) {
      if (!isAbandoned(request)) {
        this.#mayWait = true;
        this.#requests.push(request);
      } else {
        this.#unsentVotes.delete(request.words[0]!);
        this.#answer(request, this.abandoned);
      }
    }
  }

  #addWanted(operation: Operation): void {
    if (isAbandoned(operation)) this.#answer(operation, this.abandoned);
    else this.#add(operation);
  }

  #answer(operation: Operation, answer: ReleaseAnswer | Fault): void {
    operation.hear(this.connection.client, answer);
  }

  /** Puts the operation into the next batch; what is there goes out first where it is too much for one. */
  #add(operation: Operation): void {
    const isWhole = this.#operations.length >= largestBatch || this.#keys + operation.keys.length > mostKeys;
    if (operation.isAlone || isWhole) this.send();
    if (purposeOf(operation) === "keep") {
      this.#keeping += 1;
      this.#keepingNext += 1;
    } else this.#others += 1;
    this.#operations.push(operation);
    this.#keys += operation.keys.length;
    this.#longestTtl = Math.max(this.#longestTtl, operation.ttl);
    if (operation.isAlone) this.send();
  }
}
