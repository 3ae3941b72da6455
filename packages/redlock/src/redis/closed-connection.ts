import type { Connection } from "./connection.ts";

/** The connection of a Redlock that has quit, while its user's client stays open: nothing is sent, and nothing connects again. */
export class ClosedConnection implements Connection {
  readonly name: string;
  readonly client: object;
  readonly isReady = false;
  readonly session = 0;
  readonly notReadyReason = "this Redlock has quit";

  constructor({ name, client }: Connection) {
    this.name = name;
    this.client = client;
  }

  connectFirst(): undefined {
    return undefined;
  }

  send(): Promise<never> {
    return Promise.reject(new Error(this.notReadyReason));
  }

  isErrorReply(_error: unknown): _error is Error {
    return false;
  }

  onReady(): () => void {
    return () => {};
  }

  async close(): Promise<void> {}

  disconnect(): void {}
}
