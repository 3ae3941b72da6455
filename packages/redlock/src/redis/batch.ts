import type { Answer, Fault, Guard, Question, Sink } from "../protocol/node.ts";
import type { Reading } from "../protocol/reading.ts";
import { waiterOf } from "../protocol/token.ts";
import type { Connection } from "./connection.ts";
import type { MasterClock } from "./master-clock.ts";

/**
 * `keep`: for a lease that is held. `release`: gives one back. `request`: requests a new one, or only reads.
 * Questions that cannot all be sent go in this order (PROTOCOL 12.7).
 */
export type Purpose = "keep" | "release" | "request";

/** A question on its way to one master. */
export interface Posted {
  readonly question: Question;
  /** Goes back to the sink with the answer. */
  readonly place: number;
  readonly sink: Sink;
  readonly purpose: Purpose;
  /** Whether the master's clock is read behind it. */
  readonly readsTime: boolean;
  readonly asker: Asker;
}

/** The node of the master, by which a question is posted, with what it adds. */
export interface Asker {
  readonly guard?: Guard | undefined;
  /** The channel of its grants, "-" for none; `undefined` if its master keeps no queue. */
  readonly inbox?: string | undefined;
  /** Whether each question is sent in a command of its own, instead of with the others that wait. */
  readonly isAlone: boolean;
  /** Called once for each question. `reading`: that of the clock, if it was read behind the question. */
  settled(posted: Posted, answer: Answer, reading?: Reading | Fault): void;
}

export function settle(posted: Posted, answer: Answer, reading?: Reading | Fault): void {
  posted.asker.settled(posted, answer, reading);
}

/** Whether the question may be removed before it is sent. The check may read the clocks and end a lease. */
export function isAbandoned({ question: { claim } }: Posted): boolean {
  return claim?.abandoned === true;
}

/** Those that are not abandoned. The others are answered, and not sent. */
export function withoutAbandoned(all: readonly Posted[], fault: Fault): readonly Posted[] {
  return all.filter((posted) => {
    const isWanted = !isAbandoned(posted);
    if (!isWanted) settle(posted, fault);
    return isWanted;
  });
}

/** Whether no caller waits for the answer any more, as far as is known. */
export function isUnawaited({ question: { claim } }: Posted): boolean {
  return claim === undefined || claim.abandoned;
}

/** How questions get to a master, and its answers back. */
export interface Wire {
  /**
   * Whether nothing else may be sent until the question is answered; missing if no question is like that. Such a question
   * is in a batch of its own.
   */
  isExclusive?(posted: Posted): boolean;
  /** With more waiting questions than this, a late answer is explained by those in front of it (PROTOCOL 12.9). */
  readonly patience: number;
  /** Sends the batch, settles each of its questions once, and {@link Batch.end}s each exchange that it has begun. */
  carry(batch: Batch): void;
}

/** The window of a batch, as far as the batch needs it. */
export interface BatchOwner {
  readonly connection: Connection;
  readonly clock: MasterClock;
  readonly abandonedFault: Fault;
  post(posted: Posted): void;
  onAnswered(batch: Batch): void;
}

/** Questions in flight together, until the last one is answered. Each has its own reply or its own error. */
export class Batch {
  readonly posted: readonly Posted[];
  /** The number of those that keep a lease. */
  readonly keeps: number;
  /** By the monotonic clock, ms. */
  readonly sentAt: number;
  /** Whether they had to wait for room. */
  readonly hasWaited: boolean;
  readonly owner: BatchOwner;
  readonly connection: Connection;
  readonly #session: number;
  /** The number of unanswered exchanges. */
  #open = 0;
  /** The waiters whose claims it contains; built on first use. */
  #waiters: ReadonlySet<string> | undefined;

  constructor(owner: BatchOwner, posted: readonly Posted[], sentAt: number, hasWaited: boolean) {
    this.owner = owner;
    this.connection = owner.connection;
    this.#session = owner.connection.session;
    this.posted = posted;
    this.keeps = posted.reduce((sum, { purpose }) => sum + Number(purpose === "keep"), 0);
    this.sentAt = sentAt;
    this.hasWaited = hasWaited;
  }

  /**
   * Whether the connection that it was sent on is still the current one. Follow-up commands never go to another
   * connection, perhaps to another database (PROTOCOL 2.16).
   */
  get isCurrent(): boolean {
    return isOpen(this.connection) && this.connection.session === this.#session;
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

  begin(): void {
    this.#open += 1;
  }

  end(): void {
    this.#open -= 1;
    if (this.#open === 0) this.owner.onAnswered(this);
  }
}

/** Whether what was begun on the connection can go on. */
export function isOpen(connection: Pick<Connection, "isOpen" | "isReady">): boolean {
  return connection.isOpen ?? connection.isReady;
}
