import type { NodeError } from "./errors.ts";

/** What an adapter supplies for one client library: a FIFO way to one master that sends now or not at all. */
export interface Connection {
  /** `host:port`. */
  readonly name: string;
  /** What the user passed. */
  readonly client: object;
  /**
   * Nothing where a command can be sent now; a promise that settles when the *first* connection stands or has
   * failed; the error where an established connection was lost.
   */
  obstacle(): undefined | Promise<void> | NodeError;
  /** Sends at once. Resolves to the reply, rejects with the master's error or the connection's. */
  send(command: string, args: readonly (string | number)[]): Promise<unknown>;
  /** Whether a rejection is the master's own answer (an error reply) and not the connection's failure. */
  isReply(error: unknown): error is Error;
  /** Why these resources cannot be locked together here, or nothing. */
  refuses?(resources: readonly string[]): string | undefined;
  onReady(listener: () => void): void;
  close(): Promise<void>;
  disconnect(): void;
}
