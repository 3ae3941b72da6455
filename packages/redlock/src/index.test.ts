import type { Cluster, Redis } from "ioredis";
import type { Cluster as Cluster5, Redis as Redis5 } from "ioredis-5";
import type { createClient, createClientPool, createCluster, createSentinel } from "redis";
import type { createClient as createClient5 } from "redis-5";
import { describe, expect, expectTypeOf, test } from "vitest";
import type { Lock } from "./holding/lock.ts";
import * as entry from "./index.ts";
import {
  type AcquireOptions,
  type Client,
  type ClockWatchOptions,
  type DetachedLock,
  type ExecutionError,
  type ExecutionResult,
  type ExecutionStats,
  type ExponentialBackoffOptions,
  type LockNode,
  type LockState,
  type NodeError,
  type ReadyOptions,
  Redlock,
  type RedlockAbortSignal,
  type RedlockErrorCode,
  type RedlockOptions,
  type RestartGuardOptions,
  type Runtime,
} from "./index.ts";
import type { LeadOptions } from "./primitives/lead.ts";
import type { OnceOptions, RunCoordinatorOptions } from "./primitives/once.ts";
import type { WriteOptions } from "./primitives/read-write-lock.ts";
import type { SemaphoreOptions } from "./primitives/semaphore.ts";
import type { RedisNodeOptions } from "./redis/redis-node.ts";

// Most of this is checked with the types (`pnpm check`); the functions that are not called are examples of users' code.

declare const redisA: Redis;
declare const redisB: Redis5;
declare const cluster: Cluster;
declare const cluster5: Cluster5;
declare const nodeRedis: ReturnType<typeof createClient>;
declare const nodeRedis5: ReturnType<typeof createClient5>;

/** The names that take no `undefined`. */
type RequiredIn<Options> = {
  [Name in keyof Options]-?: { [Only in Name]: undefined } extends Pick<Options, Name> ? never : Name;
}[keyof Options];

function mixed(): Redlock {
  // Without its type the compiler looks for the one that all four have in common, for ten seconds.
  const ofNodeRedis: Client[] = [nodeRedis, nodeRedis5];
  return new Redlock([redisA, redisB, cluster, cluster5, ...ofNodeRedis]);
}

describe("the entry point", () => {
  test("exports Redlock by name and as default, and only names for users", () => {
    expect(entry.default).toBe(entry.Redlock);
    expect(Object.keys(entry).sort()).toEqual([
      "AbortError",
      "ClosedError",
      "ExecutionError",
      "InvalidArgumentError",
      "Lock",
      "LockLostError",
      "NodeError",
      "Redlock",
      "RedlockError",
      "ResourceLockedError",
      "default",
      "exponentialBackoff",
      "fixedBackoff",
      "systemRuntime",
    ]);
  });
});

describe("types", () => {
  test("clients of ioredis and node-redis, 5 and 6, and Clusters of ioredis are accepted", () => {
    expectTypeOf<Redis>().toExtend<Client>();
    expectTypeOf<Redis5>().toExtend<Client>();
    expectTypeOf<Cluster>().toExtend<Client>();
    expectTypeOf<Cluster5>().toExtend<Client>();
    expectTypeOf<ReturnType<typeof createClient>>().toExtend<Client>();
    expectTypeOf<ReturnType<typeof createClient5>>().toExtend<Client>();
    expectTypeOf<ReturnType<typeof createCluster>>().not.toExtend<Client>();
    expectTypeOf<ReturnType<typeof createClientPool>>().not.toExtend<Client>();
    expectTypeOf<ReturnType<typeof createSentinel>>().not.toExtend<Client>();
    expectTypeOf<LockNode>().toExtend<Client>();
    expectTypeOf<string>().not.toExtend<Client>();
    expectTypeOf<{ host: string }>().not.toExtend<Client>();
    expectTypeOf(mixed).returns.toEqualTypeOf<Redlock>();
  });

  test("using infers the result of the routine", () => {
    const redlock = {} as Redlock;
    const plain = () => redlock.using("r", 1000, () => 42);
    const later = () => redlock.using(["r"], 1000, async () => ["a"]);
    const withOptions = () => redlock.using("r", 1000, { maxHoldTime: 5 }, async (signal) => signal.error);
    const nothing = () => redlock.using("r", 1000, undefined, () => {});
    expectTypeOf(plain).returns.toEqualTypeOf<Promise<number>>();
    expectTypeOf(later).returns.toEqualTypeOf<Promise<string[]>>();
    expectTypeOf(withOptions).returns.toEqualTypeOf<Promise<Error | undefined>>();
    expectTypeOf(nothing).returns.toEqualTypeOf<Promise<void>>();
    void redlock.using?.("r", 1000, (signal, lock) => {
      expectTypeOf(signal).toEqualTypeOf<RedlockAbortSignal>();
      expectTypeOf(lock).toEqualTypeOf<Lock>();
    });
  });

  test("each option may be undefined, also under exactOptionalPropertyTypes", () => {
    expectTypeOf<RequiredIn<RedlockOptions>>().toBeNever();
    expectTypeOf<RequiredIn<AcquireOptions>>().toBeNever();
    expectTypeOf<RequiredIn<ReadyOptions>>().toBeNever();
    expectTypeOf<RequiredIn<Extract<Parameters<Redlock["quit"]>[0], object>>>().toBeNever();
    expectTypeOf<RequiredIn<ClockWatchOptions>>().toBeNever();
    expectTypeOf<RequiredIn<ExponentialBackoffOptions>>().toBeNever();
    expectTypeOf<RequiredIn<RestartGuardOptions>>().toEqualTypeOf<"maxTtl">();
    expectTypeOf<RequiredIn<RedisNodeOptions>>().toBeNever();
    expectTypeOf<RequiredIn<LeadOptions>>().toBeNever();
    expectTypeOf<RequiredIn<OnceOptions>>().toEqualTypeOf<"keepFor">();
    expectTypeOf<RequiredIn<RunCoordinatorOptions>>().toBeNever();
    expectTypeOf<RequiredIn<SemaphoreOptions>>().toBeNever();
    expectTypeOf<RequiredIn<WriteOptions>>().toBeNever();
    expect(new Redlock([{ ask() {} } as unknown as LockNode], { logger: undefined })).toBeDefined();
  });

  test("a lock has the documented members", () => {
    expectTypeOf<Lock["resources"]>().toEqualTypeOf<string[]>();
    expectTypeOf<Lock["value"]>().toEqualTypeOf<string>();
    expectTypeOf<Lock["expiration"]>().toEqualTypeOf<number>();
    expectTypeOf<Lock["state"]>().toEqualTypeOf<LockState>();
    expectTypeOf<LockState>().toEqualTypeOf<"held" | "unknown" | "lost" | "released" | "detached">();
    expectTypeOf<Lock["signal"]>().toEqualTypeOf<AbortSignal>();
    expectTypeOf<ReturnType<Lock["remaining"]>>().toEqualTypeOf<number>();
    expectTypeOf<ReturnType<Lock["verify"]>>().toEqualTypeOf<Promise<boolean>>();
    expectTypeOf<ReturnType<Lock["release"]>>().toEqualTypeOf<Promise<ExecutionResult>>();
    expectTypeOf<ExecutionResult["outcome"]>().toEqualTypeOf<
      "released" | "expired" | "partial" | "detached"
    >();
    expectTypeOf<ReturnType<Lock["detach"]>>().toEqualTypeOf<Promise<DetachedLock>>();
    expectTypeOf<Parameters<Redlock["resume"]>>().toEqualTypeOf<[detached: DetachedLock]>();
    type Logged = { resources: string[]; state: LockState; remaining: number; expiration: number };
    expectTypeOf<ReturnType<Lock["toJSON"]>>().toEqualTypeOf<Readonly<Logged>>();
    expectTypeOf<Awaited<ReturnType<Redlock["tryAcquire"]>>>().toEqualTypeOf<Lock | null>();
    expectTypeOf<Lock>().toExtend<AsyncDisposable>();
  });

  test("the codes of errors are a closed set", () => {
    expectTypeOf<RedlockErrorCode>().toEqualTypeOf<
      "INVALID_ARGUMENT" | "RESOURCE_LOCKED" | "NO_QUORUM" | "LOCK_LOST" | "ABORTED" | "CLOSED" | "NODE"
    >();
    expectTypeOf<ExecutionError["attempts"]>().toEqualTypeOf<ReadonlyArray<Promise<ExecutionStats>>>();
  });
});

/** Wrong calls, which do not compile. */
export function wrong(redlock: Redlock): Redlock {
  // @ts-expect-error a ttl is needed
  void redlock.acquire("r");
  // @ts-expect-error numbers are no resources
  void redlock.acquire([42], 1000);
  // @ts-expect-error no such setting
  void redlock.acquire("r", 1000, { retries: 5 });
  // @ts-expect-error a routine is needed
  void redlock.using("r", 1000, {});
  // @ts-expect-error no such event
  redlock.on("locked", () => {});
  // @ts-expect-error a connection string is no client
  return new Redlock(["redis://localhost"]);
}

/** Code written for redlock 5.0.0-beta.2. */
export async function migrated(client: Redis, other: Redis5): Promise<void> {
  const redlock = new entry.default([client, other], { driftFactor: 0.01, retryCount: -1 }, {});
  redlock.on("error", (error) => {
    if (error instanceof entry.ResourceLockedError) return;
    throw error;
  });
  let lock = await redlock.acquire(["a", "b"], 5000, { retryCount: 3 });
  lock = await lock.extend(5000);
  lock = await redlock.extend(lock, 5000, { retryCount: 3 });
  await redlock.release(lock, { retryCount: 3 });
  const result = await redlock.using([...lock.resources], 5000, { retryDelay: 5 }, async (signal) => {
    if (signal.aborted) throw signal.error;
    return lock.expiration - Date.now();
  });
  expectTypeOf(result).toEqualTypeOf<number>();
  await redlock.using(["a"], 5000, async (signal) => {
    if (signal.aborted) throw signal.error;
  });
  try {
    await redlock.acquire(["a"], 5000);
  } catch (error) {
    if (!(error instanceof entry.ExecutionError)) throw error;
    for (const attempt of error.attempts) {
      const stats: ExecutionStats = await attempt;
      for (const [who, why] of stats.votesAgainst) void [who, why.message];
      void [stats.membershipSize, stats.quorumSize, stats.votesFor.size];
    }
  }
  await redlock.quit();
}

/** Options and runtimes that users pass through their own functions. */
export function passedThrough(
  runtime: Runtime,
  options: RedlockOptions,
  signal?: AbortSignal,
): AcquireOptions {
  const redlock = new Redlock([{} as LockNode], { ...options, runtime });
  redlock.on("error", (error: NodeError) => void error.reason);
  return { signal, nodeTimeout: undefined };
}
