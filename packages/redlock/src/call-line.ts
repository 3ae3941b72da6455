import type { Connection } from "./connection.ts";
import { abandoned, failed, unexpected, unsent } from "./fault.ts";
import type { Claim, Fault } from "./node.ts";
import { UnexpectedReply } from "./transaction.ts";

/** Something that a master is asked. */
export interface Call<A> {
  /** Whom it is for: what was given up is not sent any more. `undefined` where it has to be sent in any case. */
  readonly claim?: Pick<Claim, "abandoned"> | undefined;
  /** Looked at when its turn comes: what it is answered instead of being sent. */
  readonly refusal?: (() => Fault | undefined) | undefined;
  /** What is sent, and must not be told. */
  readonly tokens: readonly string[];
  /** Whether nothing else may be sent until it is answered. */
  readonly isAlone: boolean;
  /** Sends, at once. */
  run(): Promise<A>;
}

interface Waiting extends Call<unknown> {
  readonly settle: (answer: unknown) => void;
}

/** So many wait for a master that does not answer; more would only pile up. */
const mostWaiting = 4096;
const silent = `${mostWaiting} calls wait for an answer`;

/**
 * The calls to one master, each sent in its turn: in the order in which they were made, and one transaction at a time,
 * since WATCH and MULTI are matters of the whole connection.
 */
export class CallLine {
  readonly #connection: Connection;
  #waiting: Waiting[] = [];
  #isTaken = false;
  #latest: Promise<unknown> = Promise.resolve();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Settles when all that has been called until now is answered. */
  get answered(): Promise<void> {
    return this.#latest.then(() => {});
  }

  /** `first`: before all that waits. Never rejects: what goes wrong is a fault. */
  post<A>(call: Call<A>, first = false): Promise<A | Fault> {
    const answer = new Promise<A | Fault>((resolve) => {
      // A call is answered in its own kind.
      const waiting: Waiting = { ...call, settle: resolve as Waiting["settle"] };
      if (first) this.#waiting.unshift(waiting);
      else if (this.#hasRoom()) this.#waiting.push(waiting);
      else resolve(unsent(this.#connection.name, silent));
    });
    this.#latest = answer;
    this.#goOn();
    return answer;
  }

  #hasRoom(): boolean {
    if (this.#waiting.length < mostWaiting) return true;
    const all = this.#waiting;
    this.#waiting = all.filter(({ claim }) => !claim?.abandoned);
    for (const call of all) if (call.claim?.abandoned) call.settle(abandoned(this.#connection.name));
    return this.#waiting.length < mostWaiting;
  }

  #goOn(): void {
    while (!this.#isTaken) {
      const call = this.#waiting[0];
      if (!call) return;
      if (!this.#connection.isReady) {
        this.#connect();
        return;
      }
      this.#waiting.shift();
      this.#send(call);
    }
  }

  /** A first connection is waited for. A lost one is not: what waits was called on that one. */
  #connect(): void {
    const connecting = this.#connection.connectFirst();
    const giveUp = () => {
      if (!this.#connection.isReady) this.#giveUpAll();
    };
    if (connecting === undefined) giveUp();
    else this.#takeUntil(connecting.then(giveUp));
  }

  #giveUpAll(): void {
    const { name, obstacle } = this.#connection;
    for (const call of this.#waiting.splice(0)) call.settle(unsent(name, obstacle));
  }

  #send(call: Waiting): void {
    if (call.claim?.abandoned) {
      call.settle(abandoned(this.#connection.name));
      return;
    }
    const refusal = call.refusal?.();
    if (refusal) {
      call.settle(refusal);
      return;
    }
    const answer = call.run().catch((error: unknown) => this.#faultOf(error, call));
    void answer.then((settled) => call.settle(settled));
    if (call.isAlone) this.#takeUntil(answer);
  }

  #takeUntil(end: Promise<unknown>): void {
    this.#isTaken = true;
    void end.then(() => {
      this.#isTaken = false;
      this.#goOn();
    });
  }

  #faultOf(error: unknown, { tokens }: Waiting): Fault {
    if (error instanceof UnexpectedReply) return unexpected(this.#connection.name, error.reply);
    const isReply = this.#connection.isReply(error);
    const fault = failed(this.#connection.name, error, isReply, tokens);
    if (isReply) this.#connection.complain?.(fault.error.error);
    return fault;
  }
}
