import { failed, unexpected } from "../protocol/faults.ts";
import type { Fault } from "../protocol/node.ts";
import { waiterOf } from "../protocol/token.ts";
import {
  aloneIn,
  answerIn,
  errorIn,
  isAbandoned,
  type Operation,
  repliesTogether,
  replyAlone,
  togetherIn,
} from "./commands.ts";
import type { Connection } from "./connection.ts";
import type { Script } from "./lua/scripts.ts";

type Args = readonly (string | number)[];
type Read = (reply: unknown) => void;

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
  /** The connection that it is sent on. */
  readonly session: number;
  /** By the monotonic clock, ms. */
  readonly sentAt: number;
  readonly #origin: BatchOrigin;
  /** Commands that were sent and are unanswered. */
  #open = 0;
  /** Those it has claims of; made when first asked for. */
  #waiters: ReadonlySet<string> | undefined;

  constructor(origin: BatchOrigin, operations: readonly Operation[], session: number, sentAt: number) {
    this.#origin = origin;
    this.operations = operations.length > 1 ? timesLast(operations) : operations;
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

  send(): void {
    this.#send(this.operations);
  }

  #send(operations: readonly Operation[]): void {
    if (operations.length === 1) {
      this.#sendAlone(operations[0]!);
      return;
    }
    const { script, args } = togetherIn(operations);
    this.#run(script, args, operations, (reply) => this.#readAll(operations, reply));
  }

  #sendAlone(operation: Operation): void {
    const { kind, keys, words, ttl, claim, guard } = operation;
    if (kind !== "v" || keys.length > 1 || claim?.proposal !== undefined || guard) {
      const { script, args } = aloneIn(operation);
      this.#run(script, args, [operation], (reply) => this.#read(operation, replyAlone(operation, reply)));
      return;
    }
    // For one resource the bare command, so that a lone lock costs no more than that.
    const set = [keys[0]!, words[0]!, "NX", "PX", Math.ceil(ttl)];
    this.#command("SET", set, [operation], (reply) => {
      if (reply === "OK") operation.settle({ vote: "yes", remaining: ttl });
      else if (reply === null) this.#ask(operation);
      else operation.settle(unexpected(this.#name, reply));
    });
  }

  /**
   * Taken. By whom, and for how long? It may be my own token, where a reply was lost (PROTOCOL 2.7). The question
   * sets nothing, so it may be asked even if the round has been rolled back meanwhile.
   */
  #ask(vote: Operation): void {
    const question: Operation = { ...vote, kind: "e", claim: undefined };
    if (this.#origin.stands(this)) this.#sendAlone(question);
    // The SET was sent: the token may be there.
    else question.settle(failed(this.#name, this.#origin.connection.notReadyReason, false, vote.words));
  }

  /**
   * Runs a script by its digest, and by its text where the master does not know it. The text goes out behind
   * whatever was sent meanwhile, a roll-back perhaps: so never for a claim that was given up. A release may.
   */
  #run(script: Script, args: Args, operations: readonly Operation[], read: Read): void {
    this.#command("EVALSHA", [script.sha1, ...args], operations, read, () => {
      const wanted = this.#wantedOf(operations);
      if (wanted.length === operations.length)
        this.#command("EVAL", [script.source, ...args], operations, read);
      else if (wanted.length > 0) this.#send(wanted);
    });
  }

  #command(
    command: string,
    args: Args,
    operations: readonly Operation[],
    read: Read,
    sendText?: () => void,
  ): void {
    const { connection } = this.#origin;
    this.#open += 1;
    // Those that ask for the time are the last.
    for (let index = operations.length - 1; operations[index]?.onSend; index -= 1)
      operations[index]!.onSend!();
    ask(connection, command, args, (reply, error) => {
      if (error === undefined) read(reply);
      else this.#fail(operations, error, connection.isReply(error), sendText);
      this.#close();
    });
  }

  #fail(operations: readonly Operation[], error: unknown, isReply: boolean, sendText?: () => void): void {
    const reason = isReply ? (error as Error).message : "";
    const mayGoOn = isReply && this.#origin.stands(this);
    if (sendText && mayGoOn && reason.startsWith("NOSCRIPT")) sendText();
    else if (mayGoOn && operations.length > 1 && isBeforeAll.test(reason)) {
      if (reason.startsWith("CROSSSLOT")) this.#origin.refusesSlots();
      for (const operation of this.#wantedOf(operations)) this.#sendAlone(operation);
    } else {
      const words = operations.flatMap((operation) => operation.words);
      const fault = failed(this.#name, error, isReply, words);
      if (isReply) this.#complain(fault);
      for (const operation of operations) operation.settle(fault);
    }
  }

  /** Without those that were given up: they are told so. */
  #wantedOf(operations: readonly Operation[]): readonly Operation[] {
    return operations.filter((operation) => {
      const isWanted = !isAbandoned(operation);
      if (!isWanted) operation.settle(this.#origin.abandoned);
      return isWanted;
    });
  }

  #readAll(operations: readonly Operation[], reply: unknown): void {
    const replies = repliesTogether(operations, reply);
    // With a reply too few or too many nobody knows whose is whose.
    const isInStep = replies.length === operations.length;
    for (let index = 0; index < operations.length; index += 1)
      this.#read(operations[index]!, isInStep ? replies[index] : undefined);
  }

  #read(operation: Operation, reply: unknown): void {
    const error = errorIn(reply);
    if (error !== undefined) {
      const fault = failed(this.#name, error, true, operation.words);
      this.#complain(fault);
      operation.settle(fault);
    } else operation.settle(answerIn(operation, reply) ?? unexpected(this.#name, reply));
  }

  #complain({ error }: Fault): void {
    if (this.#origin.stands(this)) this.#origin.connection.complain?.(error.error);
  }

  #close(): void {
    this.#open -= 1;
    if (this.#open === 0) this.#origin.answered(this);
  }

  get #name(): string {
    return this.#origin.connection.name;
  }
}

/** The time is told behind what it was asked for with, and for all together: in its order nothing else is changed. */
function timesLast(operations: readonly Operation[]): readonly Operation[] {
  const times = operations.filter(({ kind }) => kind === "c");
  if (times.length === 0) return operations;
  return [...operations.filter(({ kind }) => kind !== "c"), ...times];
}

/**
 * Errors by which a master refuses a batch for one of its keys, since some of them have moved with their slot and others have
 * not, or for a list that does not fit its arguments, before any of it is done: each operation may be sent again by itself.
 */
const isBeforeAll = /^(NOPERM|CROSSSLOT|TRYAGAIN|BATCH)\b/;

type Done = (reply: unknown, error?: unknown) => void;

/** A client library that throws is a connection that fails. */
function ask(connection: Connection, command: string, args: Args, done: Done): void {
  const fail = (error: unknown): void => done(undefined, error ?? new Error("rejected without a reason"));
  try {
    if (connection.ask) connection.ask(command, args, done);
    else connection.send(command, args).then(done, fail);
  } catch (error) {
    void Promise.resolve().then(() => fail(error));
  }
}
