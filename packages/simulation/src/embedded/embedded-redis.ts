import { randomBytes } from "node:crypto";
import { readWriteScripts } from "@quorlock/redlock/read-write-lock";
import { Channels } from "../master/channels.ts";
import { Keyspace } from "../master/keyspace.ts";
import { RedisModel } from "../master/redis-model.ts";
import { type Reply, ReplyError } from "../master/reply.ts";
import type { WriteGate } from "../master/write-refusal.ts";
import { knowReadWriteScripts } from "../read-write/twins.ts";
import { EmbeddedClock } from "./embedded-clock.ts";

knowReadWriteScripts(readWriteScripts);

/** The version whose answers the model gives. */
export const redisVersion = "7.2.0";

const databases = 16;

/** One Redis process without its connections: the model, by a wall clock, in 16 databases. */
export class EmbeddedRedis {
  readonly password: string | undefined;
  /** @internal */
  readonly clock: EmbeddedClock = new EmbeddedClock();
  /** @internal The listeners of each channel; the same in every database. */
  readonly channels: Channels = new Channels();
  #keyspaces: readonly Keyspace[] = emptyKeyspaces();
  #runId = newRunId();
  readonly #model: RedisModel = new RedisModel(
    this.#keyspaces[0]!,
    this.#runId,
    (channel, message) => this.channels.publish(channel, message),
    (channel) => this.channels.count(channel),
  );

  constructor(password?: string) {
    this.password = password;
  }

  /** @internal New with each start. */
  get runId(): string {
    return this.#runId;
  }

  /** @internal A new process: without cached scripts, and without keys if it `forgets`. */
  restart(forgets: boolean): void {
    if (forgets) this.#keyspaces = emptyKeyspaces();
    this.#runId = newRunId();
    this.#model.restart(this.#keyspaces[0]!, this.#runId);
  }

  /** @internal Whether it accepts writes at the moment. */
  get writes(): WriteGate {
    return this.#model.writes;
  }

  /** @internal */
  hasDatabase(index: number): boolean {
    return index >= 0 && index < databases;
  }

  /** @internal Error replies are thrown. */
  execute(database: number, command: string, args: readonly string[]): Reply {
    this.#model.replaceKeyspace(this.#keyspaces[database]!);
    try {
      return this.#model.execute(command, args, this.clock.now());
    } catch (error) {
      if (error instanceof ReplyError) throw error;
      throw new ReplyError(`ERR an embedded master cannot do this: ${(error as Error).message}`, {
        cause: error,
      });
    }
  }

  /** @internal */
  flush(database: number): void {
    this.#keyspaces[database]!.clear();
  }

  /** @internal */
  flushAll(): void {
    for (const keyspace of this.#keyspaces) keyspace.clear();
  }
}

function emptyKeyspaces(): readonly Keyspace[] {
  return Array.from({ length: databases }, () => new Keyspace());
}

function newRunId(): string {
  return randomBytes(20).toString("hex");
}
