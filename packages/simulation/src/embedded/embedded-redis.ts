import { randomBytes } from "node:crypto";
import { Channels } from "../master/channels.ts";
import type { Entry } from "../master/entries.ts";
import { Keyspace } from "../master/keyspace.ts";
import { RedisModel } from "../master/redis-model.ts";
import { type Reply, ReplyError } from "../master/reply.ts";
import type { WriteGate } from "../master/write-refusal.ts";
import { EmbeddedClock } from "./embedded-clock.ts";

/** The version whose answers the model gives. */
export const redisVersion = "7.2.0";

const databases = 16;

/** The data of a master at one moment, as a file or a replica has it. */
export class Snapshot {
  readonly #databases: ReadonlyArray<ReadonlyArray<readonly [string, Entry]>>;

  /** @internal */
  constructor(keyspaces: readonly Keyspace[]) {
    // No key keeps its encoding.
    this.#databases = keyspaces.map((keyspace) =>
      keyspace.entries().map(([key, { value, expiresAt }]) => [key, { value, expiresAt }] as const),
    );
  }

  /** @internal */
  keyspaces(): readonly Keyspace[] {
    return this.#databases.map((entries) => new Keyspace(entries));
  }
}

/** One Redis process without its connections: the model, by a wall clock, in 16 databases. */
export class EmbeddedRedis {
  readonly password: string | undefined;
  /** @internal */
  readonly clock: EmbeddedClock = new EmbeddedClock();
  /** @internal The listeners of each channel; the same in every database. */
  readonly channels: Channels = new Channels();
  /** @internal Whether it answers every command with BUSY. */
  isBusy = false;
  #keyspaces: readonly Keyspace[] = emptyKeyspaces();
  #runId = newRunId();
  #replId = this.#runId;
  readonly #model: RedisModel = new RedisModel(
    this.#keyspaces[0]!,
    this.#runId,
    (channel, message) => this.channels.publish(channel, message),
    (channel) => this.channels.count(channel),
  );

  constructor(password?: string) {
    // As in Redis, an empty one is none.
    this.password = password || undefined;
  }

  /** @internal New with each start. */
  get runId(): string {
    return this.#runId;
  }

  /** @internal A new process: without cached scripts, and without keys if it `forgets`. */
  restart(forgets: boolean): void {
    if (forgets) this.#keyspaces = emptyKeyspaces();
    this.#runId = newRunId();
    this.#replId = this.#runId;
    this.isBusy = false;
    this.#model.restart(this.#keyspaces[0]!, this.#runId);
  }

  /** @internal The same process with the data of `snapshot`. `isPromoted`: it was a replica for a moment. */
  load(snapshot: Snapshot, isPromoted: boolean): void {
    this.#keyspaces = snapshot.keyspaces();
    const [first] = this.#keyspaces;
    if (!isPromoted) this.#model.replaceKeyspace(first!);
    else {
      const formerId = this.#replId;
      this.#replId = newRunId();
      this.#model.promote(first!, this.#replId, formerId);
    }
  }

  /** @internal */
  snapshot(): Snapshot {
    return new Snapshot(this.#keyspaces);
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
