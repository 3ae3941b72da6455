import type { Redis } from "ioredis";
// The package has no name for the inside of a master: this is for just that.
import type { WriteRefusal } from "../../packages/simulation/src/master/write-refusal.ts";

/** For a server that is to refuse writes by MISCONF: it cannot write a snapshot there. */
export const refusingConfig: readonly string[] = ["--dir", "/proc"];

/** A replica of nothing: no server has this port. */
const nowhere = ["127.0.0.1", 1] as const;

const ways: Readonly<
  Record<WriteRefusal, { begin(redis: Redis): Promise<unknown>; end(redis: Redis): Promise<unknown> }>
> = {
  OOM: {
    begin: (redis) => redis.config("SET", "maxmemory", "1"),
    end: (redis) => redis.config("SET", "maxmemory", "0"),
  },
  // A snapshot has failed before; it counts where snapshots are wanted.
  MISCONF: {
    begin: (redis) => redis.config("SET", "save", "3600 1000000"),
    end: (redis) => redis.config("SET", "save", ""),
  },
  NOREPLICAS: {
    begin: (redis) => redis.config("SET", "min-replicas-to-write", "1"),
    end: (redis) => redis.config("SET", "min-replicas-to-write", "0"),
  },
  READONLY: {
    begin: (redis) => redis.replicaof(...nowhere),
    end: (redis) => redis.replicaof("NO", "ONE"),
  },
};

/** A real server that can be made to refuse writes; one that was started with {@link refusingConfig}. */
export class RefusingMaster {
  readonly #redis: Redis;
  #refusal: WriteRefusal | undefined;

  private constructor(redis: Redis) {
    this.#redis = redis;
  }

  static async of(redis: Redis): Promise<RefusingMaster> {
    await redis.config("SET", "maxmemory-policy", "noeviction");
    await redis.bgsave();
    for (;;) {
      const info = await redis.info("persistence");
      if (info.includes("rdb_last_bgsave_status:err")) return new RefusingMaster(redis);
      // It says so a moment after the child process has failed.
      if (!info.includes("rdb_bgsave_in_progress:1") && info.includes("rdb_last_bgsave_status:ok"))
        throw new Error("this server can write snapshots: start it with --dir /proc");
    }
  }

  async refuse(refusal: WriteRefusal | undefined): Promise<void> {
    if (this.#refusal) await ways[this.#refusal].end(this.#redis);
    this.#refusal = refusal;
    if (refusal) await ways[refusal].begin(this.#redis);
  }
}
