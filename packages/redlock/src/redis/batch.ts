import { failed, unexpected } from "../protocol/faults.ts";
import type { Fault } from "../protocol/node.ts";
import { waiterOf } from "../protocol/token.ts";
import {
  answerIn,
  type Cohort,
  cohortOf,
  errorIn,
  forget,
  isAbandoned,
  type Operation,
  repliesIn,
} from "./commands.ts";
import type { Args, Connection, Done } from "./connection.ts";

/** What a batch needs to know of where it is sent from. */
export interface BatchOrigin {
  readonly connection: Connection;
  /** What an operation is answered that was given up before it was sent. */
  readonly abandoned: Fault;
  /** Whether the connection that `batch` was sent on still stands: nothing that belongs to it goes out on another. */
  stands(batch: Batch): boolean;
  /** Every operation of `batch` has been answered. */
  answered(batch: Batch): void;
  /** The master takes no keys of different slots in one command. */
  refusesSlots(): void;
}

/** Operations that go out together, until the last of them is answered; each has its own reply, or its own error. */
export class Batch {
  readonly operations: readonly Operation[];
  /** How many of them keep a lease. */
  readonly keeping: number;
  /** The {@link Connection.session} that it is sent in. */
  readonly session: number;
  /** By the monotonic clock, ms. */
  readonly sentAt: number;
  readonly #origin: BatchOrigin;
  readonly #connection: Connection;
  readonly #cohort: Cohort;
  /** Commands that were sent and are unanswered. */
  #open = 0;
  /** Those it has claims of; made when first asked for. */
  #waiters: ReadonlySet<string> | undefined;

  constructor(
    origin: BatchOrigin,
    operations: readonly Operation[],
    keeping: number,
    session: number,
    sentAt: number,
  ) {
    this.#origin = origin;
    this.#connection = origin.connection;
    this.operations = operations.length > 1 ? timesLast(operations) : operations;
    this.#cohort = cohortOf(this.operations);
    this.keeping = keeping;
    this.session = session;
    this.sentAt = sentAt;
  }

  /** Whether it has a claim of one of these waiters. */
  hasClaimOf(waiters: readonly string[]): boolean {
    this.#waiters ??= new Set(
      this.operations.filter(({ claim }) => claim).map(({ words }) => waiterOf(words[0]!)),
    );
    for (const waiter of waiters) if (this.#waiters.has(waiter)) return true;
    return false;
  }

  send(cohort: Cohort = this.#cohort): void {
    this.#command(cohort, cohort.command, cohort.args);
  }

  #command(cohort: Cohort, command: string, args: Args): void {
    const { operations } = cohort;
    this.#open += 1;
    // Those that ask for the time are the last.
    for (let index = operations.length - 1; operations[index]?.onSend; index -= 1)
      operations[index]!.onSend!();
    const done: Done = (reply, error) => {
      forget(cohort);
      if (error === undefined) this.#read(cohort, reply);
      else this.#fail(cohort, error, command);
      this.#open -= 1;
      if (this.#open === 0) this.#origin.answered(this);
    };
    const connection = this.#connection;
    try {
      if (connection.ask) connection.ask(command, args, done);
      else connection.send(command, args).then(done, (error: unknown) => done(undefined, error ?? noReason));
    } catch (error) {
      // A client library that throws is a connection that fails.
      void Promise.resolve().then(() => done(undefined, error ?? noReason));
    }
  }

  /** Each operation has the reply in its own place (PROTOCOL 12.3). */
  #read(cohort: Cohort, reply: unknown): void {
    const { operations, script } = cohort;
    const { client, name } = this.#connection;
    if (!script) {
      const vote = operations[0]!;
      if (reply === "OK") vote.hear(client, { vote: "yes", remaining: vote.ttl });
      else if (reply === null) this.#askForOwner(vote);
      else vote.hear(client, unexpected(name, reply));
      return;
    }
    const replies = repliesIn(cohort, reply);
    for (let index = 0; index < operations.length; index += 1) {
      const operation = operations[index]!;
      const its = replies[index];
      const error = errorIn(its);
      if (error === undefined) operation.hear(client, answerIn(operation, its) ?? unexpected(name, its));
      else this.#refused(operation, error);
    }
  }

  /**
   * Taken. By whom, and for how long? It may be my own token, where a reply was lost (PROTOCOL 2.7). The question
   * sets nothing, so it may be asked even if the round has been rolled back meanwhile.
   */
  #askForOwner(vote: Operation): void {
    const { client, name, notReadyReason } = this.#connection;
    const hear: Operation["hear"] = (its, answer) => vote.hear(its, answer);
    if (this.#origin.stands(this)) this.send(cohortOf([{ ...vote, kind: "extend", claim: undefined, hear }]));
    // The SET was sent: the token may be there.
    else vote.hear(client, failed(name, notReadyReason, false, vote.words));
  }

  #fail(cohort: Cohort, error: unknown, command: string): void {
    const { operations, script, args } = cohort;
    const { client, name } = this.#connection;
    const isReply = this.#connection.isReply(error);
    const reason = isReply ? error.message : "";
    const mayGoOn = isReply && this.#origin.stands(this);
    if (script && mayGoOn && command === "EVALSHA" && reason.startsWith("NOSCRIPT")) {
      // By its text. That goes out behind whatever was sent meanwhile, a roll-back perhaps: so never for a claim that
      // was given up. A release may.
      const wanted = this.#wantedOf(operations);
      if (wanted.length === operations.length)
        this.#command(cohort, "EVAL", [script.source, ...args.slice(1)]);
      else if (wanted.length > 0) this.send(cohortOf(wanted));
    } else if (mayGoOn && operations.length > 1 && isBeforeAll.test(reason)) {
      if (reason.startsWith("CROSSSLOT")) this.#origin.refusesSlots();
      for (const operation of this.#wantedOf(operations)) this.send(cohortOf([operation]));
    } else {
      const words = operations.flatMap((operation) => operation.words);
      const fault = failed(name, error, isReply, words);
      if (isReply) this.#complain(fault);
      for (const operation of operations) operation.hear(client, fault);
    }
  }

  /** Without those that were given up: they are told so. */
  #wantedOf(operations: readonly Operation[]): readonly Operation[] {
    return operations.filter((operation) => {
      const isWanted = !isAbandoned(operation);
      if (!isWanted) operation.hear(this.#connection.client, this.#origin.abandoned);
      return isWanted;
    });
  }

  #refused(operation: Operation, error: string): void {
    const fault = failed(this.#connection.name, error, true, operation.words);
    this.#complain(fault);
    operation.hear(this.#connection.client, fault);
  }

  #complain({ error }: Fault): void {
    if (this.#origin.stands(this)) this.#connection.complain?.(error.error);
  }
}

const noReason = new Error("rejected without a reason");

/** The time is told behind what it was asked for with, and for all together: in its order nothing else is changed. */
function timesLast(operations: readonly Operation[]): readonly Operation[] {
  if (!operations.some(isTime)) return operations;
  return [...operations.filter((operation) => !isTime(operation)), ...operations.filter(isTime)];
}

function isTime({ kind }: Operation): boolean {
  return kind === "time";
}

/**
 * Errors by which a master refuses a batch for one of its keys, since some of them have moved with their slot and others have
 * not, or for a list that does not fit its arguments, before any of it is done: each operation may be sent again by itself.
 */
const isBeforeAll = /^(NOPERM|CROSSSLOT|TRYAGAIN|BATCH)\b/;
