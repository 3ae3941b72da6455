import type { Args, Connection } from "@quorlock/redlock/internal";
import type { Subscriber } from "../master/channels.ts";
import { ReplyError } from "../master/reply.ts";
import { EmbeddedRedis } from "./embedded-redis.ts";

let connections = 0;

/** A connection that calls the model directly: no network, no port, and it is never lost. */
export class InProcessConnection implements Connection {
  readonly name: string;
  readonly client: object = {};
  readonly session = 1;
  readonly notReadyReason = "the connection was closed";
  readonly #redis: EmbeddedRedis;
  readonly #subscribers: Subscriber[] = [];
  #isClosed = false;

  /** Connections to the same `redis` share its keys. Default: a new one. */
  constructor(redis: EmbeddedRedis = new EmbeddedRedis()) {
    connections += 1;
    this.name = `in-process:${connections}`;
    this.#redis = redis;
  }

  get isReady(): boolean {
    return !this.#isClosed;
  }

  get serverIds(): readonly string[] {
    return [this.#redis.runId];
  }

  connectFirst(): undefined {
    return undefined;
  }

  async send(command: string, args: Args): Promise<unknown> {
    if (this.#isClosed) throw new Error(this.notReadyReason);
    return this.#redis.execute(0, command, args.map(String));
  }

  isErrorReply(error: unknown): error is Error {
    return error instanceof ReplyError;
  }

  subscribe(
    channel: string,
    onMessage: (message: string) => void,
    onChange: (isListening: boolean) => void,
  ): unknown {
    // As on its own connection: a message comes after the command that published it.
    const push = (_: string, message: string): void => {
      void Promise.resolve().then(() => {
        if (!this.#isClosed) onMessage(message);
      });
    };
    const subscriber: Subscriber = { push };
    this.#subscribers.push(subscriber);
    this.#redis.channels.subscribe(channel, subscriber);
    void Promise.resolve().then(() => onChange(true));
    return subscriber;
  }

  onReady(): () => void {
    return () => {};
  }

  close(): Promise<void> {
    this.disconnect();
    return Promise.resolve();
  }

  disconnect(): void {
    this.#isClosed = true;
    for (const subscriber of this.#subscribers) this.#redis.channels.forget(subscriber);
  }
}
