import { abandoned, crowdedOut, unsent } from "../protocol/faults.ts";
import type { Fault, Question } from "../protocol/node.ts";
import { waiterOf } from "../protocol/token.ts";
import type { Runtime, Timer } from "../time/runtime.ts";
import { Backlog, maxWaitingRequests } from "./backlog.ts";
import {
  Batch,
  type BatchOwner,
  isAbandoned,
  isOpen,
  isUnawaited,
  type Posted,
  settle,
  type Wire,
  withoutAbandoned,
} from "./batch.ts";
import { needsOtherScript } from "./commands.ts";
import type { Connection } from "./connection.ts";
import type { MasterClock } from "./master-clock.ts";
import { turn } from "./turn.ts";

// The road of a question, from a node to the socket and back:
//
//   Master.ask ─▶ Window.post ── end of the turn ──▶ flush ──────────────────────▶ Batch ─▶ Wire.carry ─▶ Connection
//                 one for a connection               what there is room for,                encodes, sends, decodes
//                      ▲                             the rest to the backlog                 │
//                      └── sends what waits ◀── last answer of a batch ◀── settle ◀──────────┘
//                                                                            └─▶ Master.settled ─▶ sink.answered
//
// - *A single lock* takes the short way: `post` schedules one microtask for all masters, in which each window sends what
//   it has been given. The masters get the same questions, so one message is made for all of them (`Turn`).
// - *Under load* the window collects questions while two batches are in flight.
// - *Beyond its size* questions wait in the `Backlog`, and are sent as answers make room: those that keep a lease before
//   releases before requests (PROTOCOL 12.7).
// - *If the connection is lost*, nothing that waits here is sent on the next one (PROTOCOL 2.2): every question is
//   answered with a fault, once.

/**
 * Questions in one batch. The master executes a batch without interruption, at about 3 us per key: 128
 * of one key each take less than 0.5 ms.
 */
const maxBatchSize = 128;
/** Keys in one batch: about 1.5 ms of the master. */
const maxBatchKeys = 512;
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
/**
 * The default size: the maximum number of questions in flight, and the same number again of those that keep a lease. 512
 * are four full batches, enough to keep a master busy. Questions beyond it wait here, where an extension can overtake them;
 * in the master's socket it could not.
 */
export const defaultSize = 512;
/**
 * The maximum number of releases kept for a silent master. Further ones are refused; they stay pending
 * deletes until their keys expire.
 */
const maxWaitingReleases = 4096;
/**
 * A master without an answer for this time is silent and gets no further questions, ms. It is half of the
 * longest requested ttl, within these bounds. The lower bound is several times the default node timeout: on a
 * slow network a master that is only late must not count as dead, because a few of those would leave no
 * quorum to ask (simulation, seeds 588 and guarded 1688).
 */
const minSilence = 2500;
const maxSilence = 10_000;
const silenceFraction = 1 / 2;
/**
 * A master that takes longer than this for one batch is slow by itself, ms: waiting behind other questions
 * is then no reason to give it more time.
 */
const slowAnswerThreshold = 500;
export type WindowRuntime = Pick<Runtime, "monotonic" | "wall" | "setTimer">;

/** How many questions of each class may be sent now, and whether any may. */
interface Room {
  keeps: number;
  others: number;
  isFree: boolean;
}

/**
 * Bounds the questions in flight to one master (PROTOCOL 12), in three classes: those that keep a lease, releases, requests.
 *
 * Problem: a process may request thousands of locks at a time. One command per question costs the master and
 * both socket ends more than the question itself. The usual remedies do not fit. A fixed batching interval
 * delays every single lock by that interval. Pipelining without a limit moves the queue into the master's
 * socket, where an urgent extension cannot overtake anything. A plain bounded queue refuses extensions and
 * releases along with new requests, which loses locks that are held.
 *
 * Solution:
 * - Questions requested in one turn leave together, in a microtask behind the code that asks. A
 *   single lock pays nothing for this.
 * - While {@link maxBatchesInFlight} batches are unanswered, questions collect here until an answer arrives,
 *   {@link maxWait} passes, or a batch is full. The batch size therefore adapts to the load.
 * - Questions beyond the size of the window wait, those that keep a lease for a window of their own, so that no other
 *   questions can fill it: a delayed request costs latency, a delayed extension costs a lock.
 *
 * The order of the calls is preserved as long as nothing waits for room. A claim that is abandoned while it
 * waits is removed. A release may overtake the vote that it undoes: that vote is abandoned and no longer sent. A release is
 * never removed, and neither a release nor an extension is refused because of the load. A master that stays silent gets no
 * requests and no extensions, and keeps a bounded number of releases.
 */
export class Window implements BatchOwner {
  readonly connection: Connection;
  readonly clock: MasterClock;
  /** One shared error: under load many questions are abandoned, and an error is slow to build. */
  readonly abandonedFault: Fault;
  readonly #wire: Wire;
  readonly #runtime: WindowRuntime;
  readonly #size: number;
  /** Posted since the last flush. */
  #new: Posted[] = [];
  readonly #backlog = new Backlog();
  /** In the order of sending. */
  readonly #inFlight: Batch[] = [];
  #maxTtl = 0;
  #timer: Timer | undefined;
  #drainedAt = Number.NEGATIVE_INFINITY;
  /** Of those that close the connection once everything is answered. */
  readonly #onSent: Array<() => void> = [];

  constructor(connection: Connection, wire: Wire, clock: MasterClock, runtime: WindowRuntime, size: number) {
    this.connection = connection;
    this.abandonedFault = abandoned(connection.name);
    this.clock = clock;
    this.#wire = wire;
    this.#runtime = runtime;
    this.#size = size;
    // Questions for one connection are never sent on the next, which may lead to another database: the round may have
    // been decided since (PROTOCOL 2.2, 2.15).
    connection.onReady(() => this.#giveUpAll());
  }

  /** As in {@link LockNode.drainedAt}. */
  get drainedAt(): number {
    return this.#drainedAt;
  }

  /** Requires a ready connection. */
  post(posted: Posted): void {
    // A rollback goes behind its vote (PROTOCOL 2.6).
    this.#new.push(posted);
    // (It is flushed at the end of this turn already.)
    if (turn.has(this)) return;
    const isFull = this.#new.length >= maxBatchSize || posted.asker.isAlone;
    // (Looked up last: it goes through all that is in flight.)
    const isNow = this.#inFlight.length < maxBatchesInFlight || isFull || this.#isUrgent(posted);
    // In a microtask behind the code that asks now, together with everything that waits.
    if (isNow) turn.flushAtEnd(this);
    else this.#timer ??= this.#runtime.setTimer(this.flush, maxWait);
  }

  /** Sends the new questions, as far as there is room. */
  readonly flush = (): void => {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#new.length === 0) return;
    // Emptied first: the check whether a claim is abandoned may end a lease, and its owner may post more
    // questions.
    const all = this.#new;
    this.#new = [];
    if (!isOpen(this.connection)) {
      this.#giveUp(all);
      return;
    }
    const silence = this.#silenceFault();
    if (!silence && this.#backlog.length === 0 && this.#fits(all)) {
      this.#send(all, false);
    } else {
      this.#sort(all, silence);
      if (!silence) this.#fill();
    }
  };

  /** Sends everything: the connection is about to be closed. A promise if that takes a while. */
  finish(): Promise<void> | undefined {
    if (!isOpen(this.connection)) this.#giveUpAll();
    else if (this.#wire.isExclusive) {
      this.flush();
      if (this.#inFlight.length > 0) return new Promise((resolve) => this.#onSent.push(resolve));
    } else {
      const all = withoutAbandoned([...this.#backlog.drain(), ...this.#new.splice(0)], this.abandonedFault);
      this.#send(all, false);
    }
    return undefined;
  }

  onAnswered(batch: Batch): void {
    const wasCrowded = this.#isCrowded;
    const isDraining = wasCrowded || this.#inFlight.some(({ hasWaited }) => hasWaited);
    const now = this.#runtime.monotonic();
    if (isDraining && now - batch.sentAt <= slowAnswerThreshold) this.#drainedAt = now;
    // Not always the first: commands that follow up a batch may be answered later.
    this.#inFlight.splice(this.#inFlight.indexOf(batch), 1);
    // Questions that were posted since go first: they may include an extension.
    this.flush();
    if (this.#backlog.length > 0) {
      if (isOpen(this.connection)) this.#fill(wasCrowded);
      else this.#giveUp(this.#backlog.drain());
    }
    if (this.#inFlight.length === 0) for (const resolve of this.#onSent.splice(0)) resolve();
  }

  /**
   * Whether all of them can be sent as they are. The batches are then identical on all masters with enough room, and are
   * encoded once.
   */
  #fits(all: readonly Posted[]): boolean {
    const room = this.#room();
    for (const posted of all) {
      if (isAbandoned(posted) || this.#wire.isExclusive?.(posted)) return false;
      this.#take(room, posted);
    }
    return room.isFree && room.keeps >= 0 && room.others >= 0;
  }

  /** Sends those that there is room for, in order. The others wait for it, or are answered. */
  #sort(all: readonly Posted[], silence: Fault | undefined): void {
    const backlog = this.#backlog;
    const room = this.#room();
    const next: Posted[] = [];
    /** The tokens of votes that are never sent: there is nothing to roll back. */
    const unsent = new Set<string>();
    let hasLooked = false;
    for (const posted of all) {
      const { verb, words } = posted.question;
      const isRelease = posted.purpose === "release";
      const isRequest = posted.purpose === "request";
      if (isAbandoned(posted)) {
        if (verb === "vote") unsent.add(words[0]!);
        settle(posted, this.abandonedFault);
      } else if (isRelease && (words.every((token) => unsent.has(token)) || backlog.isNeedless(posted))) {
        settle(posted, { is: "missed" });
      } else if ((!silence && this.#hasPlace(room, posted)) || this.#isUrgent(posted)) {
        this.#take(room, posted);
        next.push(posted);
      } else if (silence && (!isRelease || backlog.releases.length >= maxWaitingReleases)) {
        settle(posted, silence);
      } else {
        // Once: for each of thousands of refused requests it would read thousands of waiting ones.
        if (isRequest && !backlog.hasRoom && !hasLooked) {
          hasLooked = true;
          for (const one of backlog.takeAbandoned()) settle(one, this.abandonedFault);
        }
        if (!isRequest || backlog.hasRoom) backlog.push(posted);
        else settle(posted, crowdedOut(this.connection.name, maxWaitingRequests));
      }
    }
    this.#send(next, false);
  }

  #room(): Room {
    const room = { keeps: this.#size, others: this.#size, isFree: true };
    for (const { posted, keeps } of this.#inFlight) {
      room.keeps -= keeps;
      room.others -= posted.length - keeps;
      if (this.#wire.isExclusive?.(posted[0]!)) room.isFree = false;
    }
    return room;
  }

  #take(room: Room, posted: Posted): void {
    if (posted.purpose === "keep") room.keeps -= 1;
    else room.others -= 1;
    if (this.#wire.isExclusive?.(posted)) room.isFree = false;
  }

  #hasPlace({ keeps, others, isFree }: Room, posted: Posted): boolean {
    return (posted.purpose === "keep" ? keeps : others) > 0 && isFree && !this.#backlog.hasBefore(posted);
  }

  /**
   * A release of a claim in flight is sent immediately, behind it on the same connection. Sent on the next
   * connection it might overtake the claim (PROTOCOL 2.6, 12.8).
   */
  #isUrgent({ purpose, question }: Posted): boolean {
    if (purpose !== "release" || this.#wire.isExclusive) return false;
    const waiters = question.words.map(waiterOf);
    return this.#inFlight.some((batch) => batch.hasClaimOf(waiters));
  }

  /** Sends waiting questions, as far as there is room. */
  #fill(hasWaited = this.#isCrowded): void {
    const room = this.#room();
    const next: Posted[] = [];
    while (room.isFree) {
      const posted = this.#backlog.shift(room.keeps > 0, room.others > 0);
      if (!posted) break;
      if (isAbandoned(posted)) settle(posted, this.abandonedFault);
      else {
        this.#take(room, posted);
        next.push(posted);
      }
    }
    this.#send(next, hasWaited);
  }

  #send(all: readonly Posted[], hasWaited: boolean): void {
    for (const { question } of all) this.#maxTtl = Math.max(this.#maxTtl, question.ttl);
    for (let start = 0; start < all.length; ) {
      const end = batchEnd(all, start);
      const posted = timeReadsLast(end - start === all.length ? all : all.slice(start, end));
      start = end;
      const batch = new Batch(this, posted, this.#runtime.monotonic(), hasWaited);
      this.#inFlight.push(batch);
      this.#wire.carry(batch);
    }
  }

  /** Whether so many wait that this explains late answers (PROTOCOL 12.9): not the few that a silent master has left. */
  get #isCrowded(): boolean {
    const { length } = this.#backlog;
    const inFlight = this.#inFlight.reduce((sum, { posted }) => sum + posted.length, 0);
    return length > this.#wire.patience && length + inFlight > this.#size;
  }

  /** Set if the oldest batch is overdue, and a caller has given up on it. */
  #silenceFault(): Fault | undefined {
    const oldest = this.#inFlight[0];
    // One server of a Cluster may hang while the others keep leases.
    if (!oldest || this.connection.isCluster) return undefined;
    const silence = Math.min(Math.max(minSilence, this.#maxTtl * silenceFraction), maxSilence);
    // Being overdue is not enough: a caller with a longer timeout may still be waiting.
    const isSilent = this.#runtime.monotonic() - oldest.sentAt > silence && oldest.posted.some(isUnawaited);
    return isSilent ? unsent(this.connection.name, `it has not answered for ${silence} ms`) : undefined;
  }

  #giveUpAll(): void {
    this.#giveUp([...this.#backlog.drain(), ...this.#new.splice(0)]);
  }

  #giveUp(all: readonly Posted[]): void {
    if (all.length === 0) return;
    const fault = unsent(this.connection.name, this.connection.notReadyReason);
    for (const posted of all) settle(posted, fault);
  }
}

/** Where the batch that begins at `start` ends: what comes before can be sent together. */
export function batchEnd(all: readonly Posted[], start: number): number {
  let keys = 0;
  let keyed: Question | undefined;
  for (let index = start; index < all.length; index += 1) {
    const { question, asker } = all[index]!;
    const isFull = index - start >= maxBatchSize || keys + question.keys.length > maxBatchKeys;
    const isOther = keyed !== undefined && needsOtherScript(question, keyed);
    if (index > start && (isFull || isOther || asker.isAlone || all[index - 1]!.asker.isAlone)) return index;
    keys += question.keys.length;
    // One without keys, such as a time read, fits both scripts.
    if (question.keys.length > 0) keyed = question;
  }
  return all.length;
}

/** Behind the claims that they judge (PROTOCOL 12.8). */
function timeReadsLast(batch: readonly Posted[]): readonly Posted[] {
  if (!batch.some(isTimeRead)) return batch;
  return [...batch.filter((one) => !isTimeRead(one)), ...batch.filter(isTimeRead)];
}

function isTimeRead({ question }: Posted): boolean {
  return question.verb === "time";
}
