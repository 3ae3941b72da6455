import type { Runtime, Timer } from "@quorlock/redlock";
import type { Connection } from "@quorlock/redlock/internal";

interface Command {
  readonly name: string;
  readonly args: readonly (string | number)[];
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** ioredis's `maxRetriesPerRequest`: the number of reconnects after which waiting commands fail. */
const maxTries = 20;

/** ioredis 5's `retryStrategy`, ms. */
function pauseBefore(attempt: number): number {
  return Math.min(attempt * 50, 2000);
}

/**
 * A simulated connection as ioredis 5 shows it by default: what is sent while there is no connection waits for
 * one (`enableOfflineQueue`), and what was unanswered when one was lost is sent again on the next
 * (`autoResendUnfulfilledCommands`), the old commands first. So a command may be executed late, or twice.
 */
export class IoredisConnection {
  readonly #connection: Connection;
  readonly #runtime: Runtime;
  /** In the order of sending: unanswered when the connection was lost, and sent since. */
  #unanswered: Command[] = [];
  #offline: Command[] = [];
  /** The end of a pause between two tries, while something waits. The tries are the simulated connection's. */
  #pause: Timer | undefined;
  #isClosed = false;

  constructor(connection: Connection, runtime: Runtime) {
    this.#connection = connection;
    this.#runtime = runtime;
    connection.onReady(() => this.#sendWaiting());
  }

  evalsha(sha1: string, keys: number, args: readonly (string | number)[]): Promise<unknown> {
    return this.#call("EVALSHA", [sha1, keys, ...args]);
  }

  eval(source: string, keys: number, args: readonly (string | number)[]): Promise<unknown> {
    return this.#call("EVAL", [source, keys, ...args]);
  }

  async quit(): Promise<"OK"> {
    this.#isClosed = true;
    await this.#connection.close();
    this.#failWaiting("Connection is closed.");
    return "OK";
  }

  #call(name: string, args: readonly (string | number)[]): Promise<unknown> {
    return new Promise((resolve, reject) => this.#dispatch({ name, args, resolve, reject }));
  }

  #dispatch(command: Command): void {
    if (this.#isClosed) {
      // In ioredis at once. Here later: a caller that tries again for as long as its clock says so would never
      // end, as no time passes in a turn.
      this.#runtime.setTimer(() => command.reject(new Error("Connection is closed.")), 1);
    } else if (this.#connection.isReady) this.#send(command);
    else {
      this.#offline.push(command);
      this.#countAttempts();
    }
  }

  #send(command: Command): void {
    this.#connection.send(command.name, command.args).then(command.resolve, (error: Error) => {
      if (this.#isClosed || this.#connection.isErrorReply(error)) {
        command.reject(error);
        return;
      }
      // All that was unanswered is rejected in order, in one turn.
      this.#unanswered.push(command);
      this.#countAttempts();
    });
  }

  #sendWaiting(): void {
    this.#pause?.cancel();
    this.#pause = undefined;
    for (const command of this.#takeWaiting()) this.#send(command);
  }

  #failWaiting(why: string): void {
    for (const command of this.#takeWaiting()) command.reject(new Error(why));
  }

  #takeWaiting(): readonly Command[] {
    const waiting = [...this.#unanswered, ...this.#offline];
    this.#unanswered = [];
    this.#offline = [];
    return waiting;
  }

  /** At ioredis's own pace, from the first command that waits. */
  #countAttempts(attempt = 1): void {
    if (attempt === 1 && this.#pause) return;
    this.#pause = this.#runtime.setTimer(() => {
      if (this.#isClosed) return;
      if (attempt % (maxTries + 1) === 0) {
        this.#failWaiting(`Reached the max retries per request limit (which is ${maxTries}).`);
      }
      this.#countAttempts(attempt + 1);
    }, pauseBefore(attempt));
  }
}
