import type { Grant, Wake } from "../protocol/node.ts";
import { noInbox } from "./commands.ts";
import type { Connection } from "./connection.ts";
import { counterIn, ticketIn, UnexpectedReply } from "./reply-numbers.ts";

/** The subscription of a node to the grants of its master. */
export class GrantSubscription {
  readonly #connection: Connection;
  readonly #report: (error: unknown, channel: string) => void;
  #address = noInbox;
  #hasReported = false;
  /** Held here because the subscription ends when it is garbage-collected. */
  subscription: unknown;

  /** `report`: called once, with the reason why the subscription failed or with a malformed message. */
  constructor(connection: Connection, report: (error: unknown, channel: string) => void) {
    this.#connection = connection;
    this.#report = report;
  }

  /** The channel while the subscription works: a master must not be given a channel without a subscriber. */
  get address(): string {
    return this.#address;
  }

  get isListening(): boolean {
    return this.#address !== noInbox;
  }

  /** Resolves when it is known whether the subscription works. */
  listen(channel: string, onPush: (push: Grant | Wake) => void, onChange: () => void): Promise<void> {
    const onMessage = (message: string): void => {
      const push = pushOf(message);
      if (push) onPush(push);
      else this.#reportOnce(new UnexpectedReply(message), channel);
    };
    return new Promise((resolve) => {
      const onStatus = (isListening: boolean, error?: unknown): void => {
        const wasListening = this.isListening;
        this.#address = isListening ? channel : noInbox;
        if (error !== undefined) this.#reportOnce(error, channel);
        resolve();
        if (isListening || wasListening) onChange();
      };
      if (this.#connection.subscribe)
        this.subscription = this.#connection.subscribe(channel, onMessage, onStatus);
      else resolve();
    });
  }

  #reportOnce(error: unknown, channel: string): void {
    if (this.#hasReported) return;
    this.#hasReported = true;
    this.#report(error, channel);
  }
}

/** Parses a message of the queue script: "token counter next" or "wake token"; `undefined` for any other. */
function pushOf(message: string): Grant | Wake | undefined {
  const [first, second, third, ...more] = message.split(" ");
  if (!first || !second || more.length > 0) return undefined;
  if (first === "wake") return third === undefined ? { is: "wake", token: second } : undefined;
  const counter = second === "-" ? undefined : counterIn(second);
  const nextTicket = third === "-" ? Number.POSITIVE_INFINITY : ticketIn(third);
  if (nextTicket === undefined || (counter === undefined && second !== "-")) return undefined;
  return { is: "grant", token: first, counter, nextTicket };
}
