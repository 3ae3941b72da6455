import type { Connection } from "./connection.ts";
import type { Push } from "./node.ts";

/** What a waiter says instead of a channel where it listens on none. */
const nowhere = "-";

/** Where a node hears of keys that its master hands over. */
export class Inbox {
  readonly #connection: Connection;
  readonly #report: (error: unknown) => void;
  #address = nowhere;
  #hasReported = false;
  /** Only kept: it might end when nobody has it. */
  subscription: unknown;

  /** `report`: why it cannot listen, once. */
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
      const [first = "", second] = message.split(" ");
      if (first === "wake" && second) hear({ kind: "wake", token: second });
      else hear({ kind: "grant", token: first, counter: second === undefined ? undefined : Number(second) });
    };
    return new Promise((resolve) => {
      const changed = (isListening: boolean, error?: unknown): void => {
        const listened = this.isListening;
        this.#address = isListening ? channel : nowhere;
        if (error !== undefined && !this.#hasReported) {
          this.#hasReported = true;
          this.#report(error);
        }
        resolve();
        if (isListening || listened) onChange();
      };
      if (this.#connection.subscribe) this.subscription = this.#connection.subscribe(channel, read, changed);
      else resolve();
    });
  }
}
