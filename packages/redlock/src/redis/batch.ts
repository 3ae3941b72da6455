import { failed, unexpected } from "../protocol/faults.ts";
import type { Fault } from "../protocol/node.ts";
import { operationOf } from "../protocol/operation.ts";
import { waiterOf } from "../protocol/token.ts";
import {
  answerIn,
  type EncodedBatch,
  encoded,
  errorIn,
  forgetEncoded,
  isAbandoned,
  type Posted,
  repliesIn,
} from "./commands.ts";
import type { Connection, Done } from "./connection.ts";

/** The sender's side of a batch. */
export interface BatchOrigin {
  readonly connection: Connection;
  /** The answer to operations that were abandoned before they were sent. */
  readonly abandonedFault: Fault;
  /**
   * Whether the connection that `batch` was sent on is still the current one. Follow-up commands of a batch
   * never go to another connection.
   */
  isCurrent(batch: Batch): boolean;
  /** Called when every operation of `batch` has been answered. */
  onBatchAnswered(batch: Batch): void;
  /** Called when the master refuses keys of different slots in one command. */
  onCrossSlotRefusal(): void;
}

/** Operations sent together, until the last one is answered. Each has its own reply or its own error. */
export class Batch {
  readonly posted: readonly Posted[];
  /** The number of operations that keep a lease. */
  readonly keepCount: number;
  /** The {@link Connection.session} it was sent in. */
  readonly session: number;
  /** By the monotonic clock, ms. */
  readonly sentAt: number;
  readonly #origin: BatchOrigin;
  readonly #connection: Connection;
  /** The number of unanswered commands. */
  #open = 0;
  /** The waiters whose claims it contains; built on first use. */
  #waiters: ReadonlySet<string> | undefined;

  constructor(
    origin: BatchOrigin,
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
        .filter(({ operation }) => operation.claim)
        .map(({ operation }) => waiterOf(operation.values[0]!)),
    );
    for (const waiter of waiters) if (this.#waiters.has(waiter)) return true;
    return false;
  }

  send(posted: readonly Posted[] = this.posted, message: EncodedBatch = encoded(posted)): void {
    this.#open += 1;
    // Time reads are at the end of the batch.
    for (let place = posted.length - 1; posted[place]?.operation.onSend; place -= 1)
      posted[place]!.operation.onSend!();
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

  /** Gives each operation the reply at its own position (PROTOCOL 12.3). */
  #read(posted: readonly Posted[], message: EncodedBatch, reply: unknown): void {
    const { name } = this.#connection;
    if (!message.script) {
      const { operation: vote, index } = posted[0]!;
      if (reply === "OK") vote.onAnswer(index, { vote: "yes", remaining: vote.ttl });
      else if (reply === null) this.#askForOwner(posted[0]!);
      else vote.onAnswer(index, unexpected(name, reply));
      return;
    }
    const replies = repliesIn(message, reply);
    for (let place = 0; place < posted.length; place += 1) {
      const { operation, index } = posted[place]!;
      const ownReply = replies[place];
      const error = errorIn(ownReply);
      if (error === undefined)
        operation.onAnswer(index, answerIn(operation, ownReply) ?? unexpected(name, ownReply));
      else this.#refused(posted[place]!, error);
    }
  }

  /**
   * The SET was refused: asks for the owner and the remaining time. The owner may be this very token, if an
   * earlier reply was lost (PROTOCOL 2.7). The question sets no key, so it may be asked even after the round
   * was rolled back.
   */
  #askForOwner({ operation: vote, index }: Posted): void {
    const { name, notReadyReason } = this.#connection;
    const question = operationOf({ ...vote, kind: "extend", claim: undefined }, vote.onAnswer);
    if (this.#origin.isCurrent(this)) this.send([{ operation: question, index }]);
    // The SET was sent: the key may hold the token.
    else vote.onAnswer(index, failed(name, notReadyReason, false, vote.values));
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
      if (reason.startsWith("CROSSSLOT")) this.#origin.onCrossSlotRefusal();
      for (const one of this.#withoutAbandoned(posted)) this.send([one]);
    } else {
      const values = posted.flatMap(({ operation }) => operation.values);
      const fault = failed(name, error, isReply, values);
      if (isReply) this.#reportErrorReply(fault);
      for (const { operation, index } of posted) operation.onAnswer(index, fault);
    }
  }

  /** The operations without the abandoned ones, which are answered here. */
  #withoutAbandoned(posted: readonly Posted[]): readonly Posted[] {
    return posted.filter(({ operation, index }) => {
      const isWanted = !isAbandoned(operation);
      if (!isWanted) operation.onAnswer(index, this.#origin.abandonedFault);
      return isWanted;
    });
  }

  #refused({ operation, index }: Posted, error: string): void {
    const fault = failed(this.#connection.name, error, true, operation.values);
    this.#reportErrorReply(fault);
    operation.onAnswer(index, fault);
  }

  #reportErrorReply({ error }: Fault): void {
    if (this.#origin.isCurrent(this)) this.#connection.onErrorReply?.(error.error);
  }
}

const noReason = new Error("rejected without a reason");

/**
 * Moves time reads to the end: behind the operations they belong to, and once for all of them. The order of
 * the other operations stays the same.
 */
function timeReadsLast(posted: readonly Posted[]): readonly Posted[] {
  if (!posted.some(isTimeRead)) return posted;
  return [...posted.filter((one) => !isTimeRead(one)), ...posted.filter(isTimeRead)];
}

function isTimeRead({ operation }: Posted): boolean {
  return operation.kind === "time";
}

/**
 * Errors by which a master refuses a whole batch before executing any part of it: some keys have moved with
 * their slot and others have not, or the list does not match its arguments. Each operation may be sent again
 * by itself (PROTOCOL 12.6).
 */
const isRefusedUnexecuted = /^(NOPERM|CROSSSLOT|TRYAGAIN|BATCH)\b/;
