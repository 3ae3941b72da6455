import type { Connection } from "./connection.ts";
import { abandoned, failed, unexpected, unsent } from "./fault.ts";
import type { Fault } from "./node.ts";
import { aloneIn, answerIn, batchOf, errorIn, type Operation } from "./operation.ts";
import { batchScript, type Script } from "./scripts.ts";

type Args = readonly (string | number)[];

/** So many wait for a master that does not answer; more would only pile up. */
const mostUnanswered = 4096;
const silent = `${mostUnanswered} commands are unanswered`;
/** So many are sent in one batch: a master does nothing else meanwhile, some 3 us for each. */
const largestBatch = 128;

/**
 * What waits to be sent to one master (PROTOCOL 12, 14.16). Sent at once while nothing is in flight to it; what
 * comes meanwhile goes out together when the answer is there. So many locks at a time cost few commands, one
 * lock costs no more than its own, and a master that does not answer is not fed. Only a whole batch does not wait
 * for the answer: a distant master would be kept idle.
 *
 * In the order of the calls. A vote or an extension that was given up while it waited is taken out: its roll-back
 * stands behind it already. A release never is.
 */
export class Outbox {
  readonly #connection: Connection;
  readonly #gathers: boolean;
  readonly #onEmpty: (() => void) | undefined;
  #waiting: Operation[] = [];
  /** Operations that were sent and are unanswered. */
  #inFlight = 0;
  /** The same for all: under load many are given up, and an error takes its time to make. */
  readonly #abandoned: Fault;

  /** `gathers`: whether operations wait for each other at all. `onEmpty`: nothing is in flight or waits any more. */
  constructor(connection: Connection, gathers: boolean, onEmpty?: () => void) {
    this.#connection = connection;
    this.#gathers = gathers;
    this.#onEmpty = onEmpty;
    this.#abandoned = abandoned(connection.name);
  }

  /** To be called where the connection stands. */
  post(operation: Operation): void {
    const isFull = this.#inFlight + this.#waiting.length >= mostUnanswered;
    if (isFull) operation.settle(unsent(this.#connection.name, silent));
    else if (this.#inFlight === 0 || !this.#gathers) this.#sendAlone(operation);
    else {
      this.#waiting.push(operation);
      if (this.#waiting.length >= largestBatch) this.#takeOutAbandoned();
      if (this.#waiting.length >= largestBatch) this.#sendWaiting();
    }
  }

  #sendAlone(operation: Operation): void {
    const { kind, keys, tokens, ttl } = operation;
    if (kind !== "v" || keys.length > 1) {
      const { script, args } = aloneIn(operation);
      this.#run(script, args, [operation], (reply) => this.#settle(operation, reply));
      return;
    }
    // For one resource the bare command, so that a lone lock costs no more than that.
    this.#send("SET", [keys[0]!, tokens[0]!, "NX", "PX", ttl], [operation], (reply) => {
      if (reply === "OK") operation.settle({ vote: "yes", remaining: ttl });
      else if (reply !== null) operation.settle(unexpected(this.#connection.name, reply));
      // Taken. By whom, and for how long? It may be my own token, where a reply was lost (PROTOCOL 2.7). The
      // question sets nothing, so it may be asked even if the round has been rolled back meanwhile.
      else this.#ask({ ...operation, kind: "e", claim: undefined });
    });
  }

  /** Before all that waits. */
  #ask(question: Operation): void {
    if (!this.#gathers) this.#sendAlone(question);
    else this.#waiting.unshift(question);
  }

  #sendWaiting(): void {
    this.#takeOutAbandoned();
    const batch = this.#waiting.splice(0, largestBatch);
    if (batch.length === 1) this.#sendAlone(batch[0]!);
    else if (batch.length > 1) this.#sendBatch(batch);
  }

  #sendBatch(batch: readonly Operation[]): void {
    this.#run(batchScript, batchOf(batch), batch, (reply) => {
      const replies: readonly unknown[] = Array.isArray(reply) ? reply : [];
      for (const [index, operation] of batch.entries()) {
        const error = errorIn(replies[index]);
        if (error !== undefined)
          operation.settle(failed(this.#connection.name, error, true, tokensOf(batch)));
        else this.#settle(operation, replies[index]);
      }
    });
  }

  /**
   * Runs a script by its digest, and by its text where the master does not know it. The text goes out behind
   * whatever was sent meanwhile, a roll-back perhaps: so never for a claim that was given up. A release may.
   */
  #run(script: Script, args: Args, batch: readonly Operation[], read: (reply: unknown) => void): void {
    this.#send("EVALSHA", [script.sha1, ...args], batch, read, () => {
      if (!this.#connection.isReady) return false;
      const wanted = batch.filter((operation) => !isAbandoned(operation));
      for (const operation of batch) if (!wanted.includes(operation)) operation.settle(this.#abandoned);
      if (wanted.length === batch.length) this.#send("EVAL", [script.source, ...args], batch, read);
      else if (wanted.length === 1) this.#sendAlone(wanted[0]!);
      else if (wanted.length > 1) this.#sendBatch(wanted);
      return true;
    });
  }

  /** `retry`: makes something of the answer that a script is unknown, where it can. */
  #send(
    command: string,
    args: Args,
    batch: readonly Operation[],
    read: (reply: unknown) => void,
    retry: () => boolean = () => false,
  ): void {
    this.#inFlight += batch.length;
    this.#connection.send(command, args).then(
      (reply) => {
        this.#inFlight -= batch.length;
        read(reply);
        this.#goOn();
      },
      (error) => {
        this.#inFlight -= batch.length;
        const isReply = this.#connection.isReply(error);
        const isUnknown = isReply && error.message.startsWith("NOSCRIPT");
        if (!isUnknown || !retry()) {
          const fault = failed(this.#connection.name, error, isReply, tokensOf(batch));
          for (const operation of batch) operation.settle(fault);
        }
        this.#goOn();
      },
    );
  }

  #goOn(): void {
    if (this.#inFlight > 0) return;
    if (this.#waiting.length > 0) {
      if (this.#connection.isReady) this.#sendWaiting();
      else this.#giveUpWaiting();
    }
    if (this.#inFlight === 0) this.#onEmpty?.();
  }

  #giveUpWaiting(): void {
    const { name, obstacle } = this.#connection;
    for (const operation of this.#waiting.splice(0)) operation.settle(unsent(name, obstacle));
  }

  #takeOutAbandoned(): void {
    if (!this.#waiting.some(isAbandoned)) return;
    const all = this.#waiting;
    this.#waiting = all.filter((operation) => !isAbandoned(operation));
    for (const operation of all) if (isAbandoned(operation)) operation.settle(this.#abandoned);
  }

  #settle(operation: Operation, reply: unknown): void {
    operation.settle(answerIn(operation, reply) ?? unexpected(this.#connection.name, reply));
  }
}

function isAbandoned({ claim }: Operation): boolean {
  return claim?.abandoned === true;
}

/** A message may quote any of them. */
function tokensOf(batch: readonly Operation[]): readonly string[] {
  return batch.flatMap(({ tokens }) => tokens);
}
