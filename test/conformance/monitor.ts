import { randomUUID } from "node:crypto";
import { startMonitoring } from "@quorlock/testbed";
import type { Redis } from "ioredis";

/** The commands by which any library takes, extends or gives up a lock; looking at keys is none of them. */
const lockCommands = new Set(["set", "eval", "evalsha", "pexpire", "expire", "del"]);

/** Counts what lock commands one master executes for one resource, as the master itself tells it. */
export class Monitor {
  readonly #redis: Redis;
  readonly #stream: Redis;
  readonly #listeners = new Set<(args: readonly string[]) => void>();
  #count = 0;

  static async start(redis: Redis, resource: string): Promise<Monitor> {
    return new Monitor(redis, await startMonitoring(redis), resource);
  }

  private constructor(redis: Redis, stream: Redis, resource: string) {
    this.#redis = redis;
    this.#stream = stream;
    stream.on("monitor", (_time: string, args: readonly string[], source: string) => {
      // Commands inside a script are part of the script.
      if (source === "lua") return;
      if (lockCommands.has(args[0]?.toLowerCase() ?? "") && args.includes(resource)) this.#count += 1;
      for (const listener of this.#listeners) listener(args);
    });
  }

  /** How many were executed up to now: waits until the master has told all of them. */
  async count(): Promise<number> {
    const marker = randomUUID();
    const told = this.next((args) => args.includes(marker));
    await this.#redis.echo(marker);
    await told;
    return this.#count;
  }

  /** Resolves when the master has executed a command that matches. */
  next(match: (args: readonly string[]) => boolean): Promise<void> {
    return new Promise((resolve) => {
      const listener = (args: readonly string[]) => {
        if (!match(args)) return;
        this.#listeners.delete(listener);
        resolve();
      };
      this.#listeners.add(listener);
    });
  }

  stop(): void {
    this.#stream.disconnect();
  }
}
