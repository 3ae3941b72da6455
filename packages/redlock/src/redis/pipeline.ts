import { crowdedOut, failed, unexpected } from "../protocol/faults.ts";
import type { Answer, Fault, Question } from "../protocol/node.ts";
import { questionOf } from "../protocol/question.ts";
import { waiterOf } from "../protocol/token.ts";
import { Fifo } from "../time/fifo.ts";
import type { Runtime } from "../time/runtime.ts";
import {
  answerIn,
  type EncodedBatch,
  encoded,
  errorIn,
  forgetEncoded,
  isAbandoned,
  isRelease,
  isUnawaited,
  needsOtherScript,
  type Posted,
  repliesIn,
} from "./commands.ts";
import type { Connection, Done } from "./connection.ts";

/**
 * Questions in one batch. The master executes a batch without interruption, at about 3 us per key: 128
 * of one key each take less than 0.5 ms.
 */
export const maxBatchSize = 128;
/** Keys in one batch: about 1.5 ms of the master. */
const maxBatchKeys = 512;
/**
 * The default send window: the maximum number of questions in flight, and the same number again of those
 * that keep a lease. 512 are four full batches, enough to keep a master busy. Questions beyond it wait here,
 * where an extension can overtake them; in the master's socket it could not.
 */
export const defaultWindow = 512;
/** The maximum number of requests waiting for room: bounds the memory while a master hangs. */
const maxWaitingRequests = 4096;
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
export const slowAnswerThreshold = 500;

/** Whether what was begun on the connection can go on. */
export function isOpen(connection: Pick<Connection, "isOpen" | "isReady">): boolean {
  return connection.isOpen ?? connection.isReady;
}

/** The part of a send queue that its pipeline uses. */
export interface PipelineOrigin {
  readonly connection: Connection;
  readonly abandonedFault: Fault;
  /** The maximum number of questions in flight, and the same again of those that keep a lease. */
  readonly window: number;
  readonly runtime: Pick<Runtime, "monotonic">;
  /** The fault for questions that are not sent, for the reason `why`. */
  unsentFault(why: string): Fault;
  /** Called when a batch is sent. */
  onBatchSent(): void;
  /** Called when a batch has been answered. `wasDraining`: see {@link Pipeline.isDraining}. */
  onBatchAnswered(wasDraining: boolean): void;
}

/**
 * The path to one master.
 *
 * Backpressure: while the window is full, questions wait by purpose. Those that keep a lease go first, then
 * releases, then requests, each group in the order of the calls (PROTOCOL 12.7). Extensions have a window of
 * their own, so that no other questions can fill it: a delayed request costs latency, a delayed extension
 * costs a lock. A release may overtake the vote that it undoes: that vote is abandoned and no longer sent. A
 * master that stays silent gets no requests and no extensions, and keeps a bounded number of releases.
 */
export class Pipeline {
  readonly connection: Connection;
  readonly #origin: PipelineOrigin;
  /** In the order of sending. */
  readonly #inFlight: Batch[] = [];
  /** The questions of the next batch. */
  #next: Posted[] = [];
  #keys = 0;
  /** One of them that has a key: it decides on the script. */
  #keyed: Question | undefined;
  /** The number of questions that keep a lease, in flight and in the next batch. */
  #keepCount = 0;
  /** The part of it that is in the next batch. */
  #nextKeepCount = 0;
  /** The number of all other questions, in flight and in the next batch. */
  #otherCount = 0;
  readonly #keeps = new Fifo<Posted>();
  readonly #releases = new Fifo<Posted>();
  #requests = new Fifo<Posted>();
  /** The votes among the waiting requests, by token. */
  readonly #unsentVotes = new Map<string, Question>();
  #isSilent = false;
  #maxTtl = 0;
  /** False only if no question waits for room. */
  #mayHaveBacklog = false;
  /** The latest batch with questions that had to wait for room. */
  #lastOfBacklog: Batch | undefined;
  /**
   * Whether questions wait for room or did so recently, apart from releases that were kept because the
   * master is silent.
   */
  #hadBacklog = false;
  /** The flush in which the silence was last checked. */
  #checkedInFlush = 0;
  /** The flush in which abandoned requests were last dropped. */
  #droppedInFlush = 0;

  constructor(origin: PipelineOrigin) {
    this.#origin = origin;
    this.connection = origin.connection;
  }

  get abandonedFault(): Fault {
    return this.#origin.abandonedFault;
  }

  /** Whether questions wait for room. */
  get hasBacklog(): boolean {
    this.#mayHaveBacklog &&= this.#keeps.length + this.#releases.length + this.#requests.length > 0;
    return this.#mayHaveBacklog;
  }

  /**
   * Whether questions wait for room, or had to and are unanswered. Releases kept for a silent master do not
   * count: they are no reason to give it more time.
   */
  get isDraining(): boolean {
    if (!this.#hadBacklog) return false;
    const isBehind = this.#lastOfBacklog !== undefined && this.#inFlight.includes(this.#lastOfBacklog);
    this.#hadBacklog = this.hasBacklog || isBehind;
    return this.#hadBacklog;
  }

  /** Whether a claim is in flight that `release` undoes. */
  hasClaimUndoneBy(release: Question): boolean {
    const waiters = release.words.map(waiterOf);
    for (const batch of this.#inFlight) if (batch.hasClaimOf(waiters)) return true;
    return false;
  }

  /**
   * All of them as one batch, for the caller to send. That batch is then identical on all masters with enough room,
   * and is encoded once. `undefined` if they must be sent one by one instead. `flush` is the number of the current
   * flush.
   */
  batchOfAll(all: readonly Posted[], flush: number): Batch | undefined {
    const { window } = this.#origin;
    if (all.length > maxBatchSize || this.#next.length > 0 || this.hasBacklog) return undefined;
    if (this.#inFlight.length > 0 && this.#isSilentIn(flush)) return undefined;
    let keys = 0;
    let keepCount = 0;
    let maxTtl = this.#maxTtl;
    let { question: other } = all[0]!;
    for (const posted of all) {
      const { question } = posted;
      if (question.claim?.abandoned || (posted.isUnbatched && all.length > 1)) return undefined;
      if (question !== other && needsOtherScript(question, other)) return undefined;
      // One without keys, such as a time read, fits both scripts.
      if (question.keys.length > 0) other = question;
      keys += question.keys.length;
      if (posted.purpose === "keep") keepCount += 1;
      if (question.ttl > maxTtl) maxTtl = question.ttl;
    }
    const others = all.length - keepCount;
    if (keys > maxBatchKeys && all.length > 1) return undefined;
    if (this.#keepCount + keepCount > window || this.#otherCount + others > window) return undefined;
    const batch = this.#batchOf(all, keepCount);
    this.#maxTtl = maxTtl;
    this.#keepCount += keepCount;
    this.#otherCount += others;
    return batch;
  }

  /**
   * Adds the question to the next batch, or to the questions that wait for room. `flush` is the number of
   * the current flush.
   */
  take(posted: Posted, flush: number): void {
    const { question } = posted;
    this.#isSilentIn(flush);
    if (isRelease(question)) this.#takeRelease(posted);
    else if (this.#isSilent) this.#answer(posted, this.#silenceFault());
    else if (posted.purpose === "request") this.#takeRequest(posted, flush);
    else if (this.#keepCount < this.#origin.window && this.#keeps.length === 0) this.#add(posted);
    else this.#waitForRoom(this.#keeps, posted);
  }

  /** Fills the window with waiting questions and sends them. */
  refill(): void {
    this.#fill();
    this.#lastOfBacklog = this.send() ?? this.#lastOfBacklog;
  }

  #fill(): void {
    while (this.#keepCount < this.#origin.window && this.#keeps.length > 0)
      this.#addUnlessAbandoned(this.#keeps.shift()!);
    while (this.#otherCount < this.#origin.window) {
      const posted = this.#releases.shift() ?? this.#shiftRequest();
      if (!posted) return;
      this.#addUnlessAbandoned(posted);
    }
  }

  /** Sends all waiting questions: the connection is about to be closed. */
  finish(): void {
    for (const posted of this.drain()) this.#addUnlessAbandoned(posted);
    this.send();
  }

  #shiftRequest(): Posted | undefined {
    const request = this.#requests.shift();
    if (request?.question.verb === "vote") this.#unsentVotes.delete(request.question.words[0]!);
    return request;
  }

  /** Removes and returns all waiting questions. */
  drain(): readonly Posted[] {
    this.#unsentVotes.clear();
    return [...this.#keeps.drain(), ...this.#releases.drain(), ...this.#requests.drain()];
  }

  /** Sends the next batch, if it contains anything, and returns it. */
  send(): Batch | undefined {
    if (this.#next.length === 0) return undefined;
    const next = this.#next;
    const keepCount = this.#nextKeepCount;
    this.#next = [];
    this.#keys = 0;
    this.#keyed = undefined;
    this.#nextKeepCount = 0;
    const batch = this.#batchOf(next, keepCount);
    batch.send();
    return batch;
  }

  #batchOf(posted: readonly Posted[], keepCount: number): Batch {
    const sentAt = this.#origin.runtime.monotonic();
    const batch = new Batch(this, posted, keepCount, this.connection.session, sentAt);
    this.#inFlight.push(batch);
    this.#origin.onBatchSent();
    return batch;
  }

  /**
   * Whether the connection that `batch` was sent on is still the current one. Follow-up commands of a batch
   * never go to another connection.
   */
  isCurrent(batch: Batch): boolean {
    return isOpen(this.connection) && batch.session === this.connection.session;
  }

  /** Every question of `batch` has been answered. */
  onBatchAnswered(batch: Batch): void {
    const wasDraining =
      this.#hadBacklog &&
      this.isDraining &&
      this.#origin.runtime.monotonic() - batch.sentAt <= slowAnswerThreshold;
    // Not always the first: commands that follow up a batch may be answered later.
    this.#inFlight.splice(this.#inFlight.indexOf(batch), 1);
    this.#keepCount -= batch.keepCount;
    this.#otherCount -= batch.posted.length - batch.keepCount;
    this.#origin.onBatchAnswered(wasDraining);
  }

  /** Checks for silence once per flush. */
  #isSilentIn(flush: number): boolean {
    if (this.#checkedInFlush !== flush) this.#isSilent = this.#checkSilence();
    this.#checkedInFlush = flush;
    return this.#isSilent;
  }

  /** The oldest batch is overdue, and a caller has given up on it. */
  #checkSilence(): boolean {
    // One server of a Cluster may hang while the others keep leases.
    if (this.connection.isCluster) return false;
    const oldest: Batch | undefined = this.#inFlight[0];
    const isOverdue = oldest && this.#origin.runtime.monotonic() - oldest.sentAt > this.#silence;
    // Being overdue is not enough: a caller with a longer timeout may still be waiting.
    return isOverdue === true && oldest.posted.some(({ question }) => isUnawaited(question));
  }

  /** The time after which an unanswered batch counts as silence, ms. */
  get #silence(): number {
    return Math.min(Math.max(minSilence, this.#maxTtl * silenceFraction), maxSilence);
  }

  /** The fault while the master is silent. An answer to a question in flight ends the silence. */
  #silenceFault(): Fault {
    return this.#origin.unsentFault(`it has not answered for ${this.#silence} ms`);
  }

  /**
   * A release of a claim in flight is sent immediately, behind it on the same connection. Sent on the next
   * connection it might overtake the claim (PROTOCOL 2.6, 12.8).
   */
  #takeRelease(posted: Posted): void {
    const { question } = posted;
    // An abandoned vote that was never sent stays unsent, so it set no key here (PROTOCOL 12.2).
    const vote = this.#unsentVotes.get(question.words[0]!);
    if (vote && isAbandoned(vote)) {
      this.#answer(posted, { is: "missed" });
      return;
    }
    const canSend = this.#otherCount < this.#origin.window && this.#releases.length === 0 && !this.#isSilent;
    if (canSend || this.hasClaimUndoneBy(question)) this.#add(posted);
    else if (this.#isSilent && this.#releases.length >= maxWaitingReleases)
      this.#answer(posted, this.#silenceFault());
    else if (this.#isSilent) {
      this.#mayHaveBacklog = true;
      this.#releases.push(posted);
    } else this.#waitForRoom(this.#releases, posted);
  }

  #waitForRoom(queue: Fifo<Posted>, posted: Posted): void {
    this.#hadBacklog = true;
    this.#mayHaveBacklog = true;
    queue.push(posted);
  }

  #takeRequest(posted: Posted, flush: number): void {
    const canSend =
      this.#otherCount < this.#origin.window && this.#releases.length + this.#requests.length === 0;
    if (canSend) this.#add(posted);
    else this.#keepRequest(posted, flush);
  }

  #keepRequest(posted: Posted, flush: number): void {
    const { question } = posted;
    // Once per flush: for each of thousands of refused requests it would read thousands of waiting ones.
    if (this.#requests.length >= maxWaitingRequests && this.#droppedInFlush !== flush) {
      this.#droppedInFlush = flush;
      this.#dropAbandoned();
    }
    if (this.#requests.length < maxWaitingRequests) {
      if (question.verb === "vote") this.#unsentVotes.set(question.words[0]!, question);
      this.#waitForRoom(this.#requests, posted);
    } else this.#answer(posted, crowdedOut(this.connection.name, maxWaitingRequests));
  }

  #dropAbandoned(): void {
    const all = this.#requests.drain();
    for (const request of all) {
      if (!isAbandoned(request.question)) {
        this.#mayHaveBacklog = true;
        this.#requests.push(request);
      } else {
        this.#unsentVotes.delete(request.question.words[0]!);
        this.#answer(request, this.abandonedFault);
      }
    }
  }

  #addUnlessAbandoned(posted: Posted): void {
    if (isAbandoned(posted.question)) this.#answer(posted, this.abandonedFault);
    else this.#add(posted);
  }

  #answer({ place, sink }: Posted, answer: Answer): void {
    sink.answered(place, answer);
  }

  /** Adds the question to the next batch. A batch that would become too large is sent first. */
  #add(posted: Posted): void {
    const { question } = posted;
    const isFull = this.#next.length >= maxBatchSize || this.#keys + question.keys.length > maxBatchKeys;
    const isOther = this.#keyed !== undefined && needsOtherScript(question, this.#keyed);
    if (posted.isUnbatched || isFull || isOther) this.send();
    if (posted.purpose === "keep") {
      this.#keepCount += 1;
      this.#nextKeepCount += 1;
    } else this.#otherCount += 1;
    this.#next.push(posted);
    this.#keys += question.keys.length;
    if (question.keys.length > 0) this.#keyed = question;
    this.#maxTtl = Math.max(this.#maxTtl, question.ttl);
    if (posted.isUnbatched) this.send();
  }
}

/** Questions sent together, until the last one is answered. Each has its own reply or its own error. */
class Batch {
  readonly posted: readonly Posted[];
  /** The number of questions that keep a lease. */
  readonly keepCount: number;
  /** The {@link Connection.session} it was sent in. */
  readonly session: number;
  /** By the monotonic clock, ms. */
  readonly sentAt: number;
  readonly #origin: Pipeline;
  readonly #connection: Connection;
  /** The number of unanswered commands. */
  #open = 0;
  /** The waiters whose claims it contains; built on first use. */
  #waiters: ReadonlySet<string> | undefined;

  constructor(
    origin: Pipeline,
    posted: readonly Posted[],
    keepCount: number,
    session: number,
    sentAt: number,
  ) {
    this.#origin = origin;
    this.#connection = origin.connection;
    this.posted = posted.length > 1 ? timeReadsLast(posted) : posted;
    this.keepCount = keepCount;
    this.session = session;
    this.sentAt = sentAt;
  }

  /** Whether it contains a claim of one of these waiters. */
  hasClaimOf(waiters: readonly string[]): boolean {
    this.#waiters ??= new Set(
      this.posted
        .filter(({ question }) => question.claim)
        .map(({ question }) => waiterOf(question.words[0]!)),
    );
    for (const waiter of waiters) if (this.#waiters.has(waiter)) return true;
    return false;
  }

  send(posted: readonly Posted[] = this.posted, message: EncodedBatch = encoded(posted)): void {
    this.#open += 1;
    // Time reads are at the end of the batch.
    for (let place = posted.length - 1; posted[place]?.onSend; place -= 1) posted[place]!.onSend!();
    const done: Done = (reply, error) => {
      forgetEncoded(message);
      if (error === undefined) this.#read(posted, message, reply);
      else this.#fail(posted, message, error);
      this.#open -= 1;
      if (this.#open === 0) this.#origin.onBatchAnswered(this);
    };
    const connection = this.#connection;
    try {
      if (connection.deliver) connection.deliver(message, done);
      else
        connection
          .send(message.command, message.args)
          .then(done, (error: unknown) => done(undefined, error ?? noReason));
    } catch (error) {
      // A client library that throws counts as a failed connection.
      void Promise.resolve().then(() => done(undefined, error ?? noReason));
    }
  }

  /** Gives each question the reply at its own position (PROTOCOL 12.3). */
  #read(posted: readonly Posted[], message: EncodedBatch, reply: unknown): void {
    const { name } = this.#connection;
    if (!message.script) {
      const { question, place, sink } = posted[0]!;
      if (reply === "OK") sink.answered(place, { is: "yes", remaining: question.ttl });
      else if (reply === null) this.#askForOwner(posted[0]!);
      else sink.answered(place, unexpected(name, reply));
      return;
    }
    const replies = repliesIn(message, reply);
    for (let index = 0; index < posted.length; index += 1) {
      const { question, place, sink } = posted[index]!;
      const ownReply = replies[index];
      const error = errorIn(ownReply);
      if (error === undefined)
        sink.answered(place, answerIn(question, ownReply) ?? unexpected(name, ownReply));
      else this.#refused(posted[index]!, error);
    }
  }

  /**
   * The SET was refused: asks for the owner and the remaining time. The owner may be this very token, if an
   * earlier reply was lost (PROTOCOL 2.7). The question sets no key, so it may be asked even after the round
   * was rolled back.
   */
  #askForOwner(vote: Posted): void {
    const { name, notReadyReason } = this.#connection;
    const question = questionOf({ ...vote.question, verb: "extend", claim: undefined });
    if (this.#origin.isCurrent(this)) this.send([{ ...vote, question, onSend: undefined }]);
    // The SET was sent: the key may hold the token.
    else vote.sink.answered(vote.place, failed(name, notReadyReason, false, question.words));
  }

  #fail(posted: readonly Posted[], message: EncodedBatch, error: unknown): void {
    const { script, args, command } = message;
    const { name } = this.#connection;
    const isReply = this.#connection.isErrorReply(error);
    const reason = isReply ? error.message : "";
    const canRetry = isReply && this.#origin.isCurrent(this);
    if (script && canRetry && command === "EVALSHA" && reason.startsWith("NOSCRIPT")) {
      // Sends the script text instead. It goes out behind later commands, possibly behind a rollback, so
      // never for an abandoned claim. A release may be sent late.
      const wanted = this.#withoutAbandoned(posted);
      const byText = {
        ...message,
        command: "EVAL",
        args: [script.source, ...args.slice(1)],
        wire: undefined,
      };
      if (wanted.length === posted.length) this.send(posted, byText);
      else if (wanted.length > 0) this.send(wanted);
    } else if (canRetry && posted.length > 1 && isRefusedUnexecuted.test(reason)) {
      for (const one of this.#withoutAbandoned(posted)) this.send([one]);
    } else {
      const values = posted.flatMap(({ question }) => question.words);
      const fault = failed(name, error, isReply, values);
      if (isReply) this.#reportErrorReply(fault);
      for (const { place, sink } of posted) sink.answered(place, fault);
    }
  }

  /** The questions without the abandoned ones, which are answered here. */
  #withoutAbandoned(posted: readonly Posted[]): readonly Posted[] {
    return posted.filter(({ question, place, sink }) => {
      const isWanted = !isAbandoned(question);
      if (!isWanted) sink.answered(place, this.#origin.abandonedFault);
      return isWanted;
    });
  }

  #refused({ question, place, sink }: Posted, error: string): void {
    const fault = failed(this.#connection.name, error, true, question.words);
    this.#reportErrorReply(fault);
    sink.answered(place, fault);
  }

  #reportErrorReply({ error }: Fault): void {
    if (this.#origin.isCurrent(this)) this.#connection.onErrorReply?.(error.error);
  }
}

const noReason = new Error("rejected without a reason");

/**
 * Moves time reads to the end: behind the questions they belong to, and once for all of them. The order of
 * the other questions stays the same.
 */
function timeReadsLast(posted: readonly Posted[]): readonly Posted[] {
  if (!posted.some(isTimeRead)) return posted;
  return [...posted.filter((one) => !isTimeRead(one)), ...posted.filter(isTimeRead)];
}

function isTimeRead({ question }: Posted): boolean {
  return question.verb === "time";
}

/**
 * Errors by which a master refuses a whole batch before executing any part of it: the user may not run the script on
 * some of the keys, it is a server of a Cluster, or the list does not match its arguments. Each question may be sent
 * again by itself (PROTOCOL 12.6).
 */
const isRefusedUnexecuted = /^(NOPERM|CROSSSLOT|BATCH)\b/;
