import type { Push } from "../protocol/node.ts";
import type { Connection } from "./connection.ts";
import { counterIn } from "./reply-numbers.ts";
import { UnexpectedReply } from "./transaction.ts";

/** What a waiter says instead of a channel where it listens on none. */
const nowhere = "-";

/** Where a node hears of keys that its master hands over. */
export class GrantSubscription {
  readonly #connection: Connection;
  readonly #report: (error: unknown) => void;
  #address = nowhere;
  #hasReported = false;
  /** Only kept: it might end when nobody has it. */
  subscription: unknown;

  /** `report`: why it cannot listen, or that what it hears is no message; once. */
  constructor(connection: Connection, report: (error: unknown) => void) {
    this.#connection = connection;
    this.#report = report;
  }

  /** The channel as long as it is listened to: a master is told only what is true now. */
  get address(): string {
    return this.#address;
  }

  get isListening(): boolean {
    return this.#address !== nowhere;
  }

  /** Settles when it is known whether it can. */
  listen(channel: string, hear: (push: Push) => void, onChange: () => void): Promise<void> {
    const read = (message: string): void => {
      const push = pushOf(message);
      if (push) hear(push);
      else this.#tellOnce(new UnexpectedReply(message));
    };
    return new Promise((resolve) => {
      const changed = (isListening: boolean, error?: unknown): void => {
        const listened = this.isListening;
        this.#address = isListening ? channel : nowhere;
        if (error !== undefined) this.#tellOnce(error);
        resolve();
        if (isListening || listened) onChange();
      };
      if (this.#connection.subscribe) this.subscription = this.#connection.subscribe(channel, read, changed);
      else resolve();
    });
  }

  #tellOnce(error: unknown): void {
    if (this.#hasReported) return;
    this.#hasReported = true;
    this.#report(error);
  }
}

/** A message of the queue script: "token", "token counter" or "wake token"; nothing for any other. */
function pushOf(message: string): Push | undefined {
  const [first = "", second, ...more] = message.split(" ");
  if (first === "" || second === "" || more.length > 0) return undefined;
  if (first === "wake") return second === undefined ? undefined : { kind: "wake", token: second };
  if (second === undefined) return { kind: "grant", token: first, counter: undefined };
  const counter = counterIn(second);
  return counter === undefined ? undefined : { kind: "grant", token: first, counter };
}
