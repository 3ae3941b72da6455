import type { NodeError } from "../errors.ts";
import { failed, unexpected } from "../protocol/faults.ts";
import type { Fault, Grant, LockQueue, OnPush, Wake } from "../protocol/node.ts";
import { outside } from "../time/async-context.ts";
import { noInbox } from "./commands.ts";
import type { Connection } from "./connection.ts";
import { digitsIn } from "./reply-numbers.ts";

/** The queue of a master, as its node uses it: a subscription to the grants. */
export class GrantSubscription implements LockQueue {
  readonly #connection: Connection;
  readonly #onFault: (error: NodeError) => void;
  readonly #pass: (push: Grant | Wake, to: OnPush) => void;
  #address = noInbox;
  #hasReported = false;
  /** Held here because the subscription ends when it is garbage-collected. */
  subscription: unknown;

  /** `onFault`: called once, with a failed subscription or a malformed message. `pass`: gets what is pushed, and for whom. */
  constructor(
    connection: Connection,
    onFault: (error: NodeError) => void = () => {},
    pass: (push: Grant | Wake, to: OnPush) => void = (push, to) => to(push),
  ) {
    this.#connection = connection;
    this.#onFault = onFault;
    this.#pass = pass;
  }

  /** The channel while the subscription works: a master must not be given a channel without a subscriber. */
  get address(): string {
    return this.#address;
  }

  get isListening(): boolean {
    return this.#address !== noInbox;
  }

  listen(channel: string, onPush: OnPush, onChange: () => void): Promise<void> {
    const connection = this.#connection;
    const inbox = channel.slice(channel.lastIndexOf(":") + 1);
    const onMessage = (message: string): void => {
      const push = pushOf(message);
      if (push) this.#pass(push, onPush);
      else this.#reportOnce(unexpected(connection.name, message));
    };
    return new Promise((resolve) => {
      const onStatus = (isListening: boolean, error?: unknown): void => {
        const wasListening = this.isListening;
        this.#address = isListening ? channel : noInbox;
        if (error !== undefined)
          this.#reportOnce(failed(connection.name, error, connection.isErrorReply(error), [inbox]));
        resolve();
        if (isListening || wasListening) onChange();
      };
      if (connection.subscribe) this.subscription = connection.subscribe(channel, onMessage, onStatus);
      else resolve();
    });
  }

  #reportOnce({ error }: Fault): void {
    if (this.#hasReported) return;
    this.#hasReported = true;
    outside(() => this.#onFault(error));
  }
}

/** Parses a message of the queue script: "token counter next" or "wake token"; `undefined` for any other. */
function pushOf(message: string): Grant | Wake | undefined {
  const [first, second, third, ...more] = message.split(" ");
  if (!first || !second || more.length > 0) return undefined;
  if (first === "wake") return third === undefined ? { is: "wake", token: second } : undefined;
  const counter = second === "-" ? undefined : digitsIn(second);
  const nextTicket = third === "-" ? Number.POSITIVE_INFINITY : digitsIn(third);
  if (nextTicket === undefined || (counter === undefined && second !== "-")) return undefined;
  return { is: "grant", token: first, counter, nextTicket };
}
