import { Redlock as SesamecareRedlock } from "@sesamecare-oss/redlock";
import type { Redis } from "ioredis";
import { RedlockMutex } from "redis-semaphore";
import Redlock from "redlock";
import { createRedlock, IoredisAdapter } from "redlock-universal";
import {
  type ClientOptions,
  type Contender,
  type ContenderTerms,
  closeClients,
  type OpenContender,
  openClients,
  untilAnswered,
} from "./contender.ts";

/** The part of a contender that differs between the other libraries. */
type Locking = Pick<Contender, "acquire">;
type Peer = (clients: readonly Redis[], terms: ContenderTerms) => Locking;

/**
 * Pause between two attempts, ms: the default of redlock 5 (with a jitter of 100). Of 1 to 200 ms it performs best under
 * contention: a failed attempt leaves its votes behind, so shorter pauses make attempts block each other more.
 */
const redlockDelay = 200;
/** Its default is 200 ms. Under contention 5 to 20 ms perform best, with little difference between them. */
const universalDelay = 10;

const retriesOf = (waitTimeout: number | undefined): Readonly<Record<string, number>> =>
  waitTimeout === undefined
    ? {}
    : { retryDelay: redlockDelay, retryCount: Math.ceil(waitTimeout / redlockDelay) };

/** Of redlock 5, and of a fork with the same calls. */
const redlockOf =
  (Library: typeof Redlock | typeof SesamecareRedlock): Peer =>
  (clients, { ttl, waitTimeout }) => {
    const redlock = new Library(clients, retriesOf(waitTimeout));
    return {
      async acquire(resource) {
        const lock = await redlock.acquire([resource], ttl);
        return () => lock.release();
      },
    };
  };

const redisSemaphore: Peer = (clients, { ttl, waitTimeout }) => {
  const options = {
    lockTimeout: ttl,
    // By default a lost lock throws an error that cannot be caught, which would end the benchmark.
    onLockLost: () => {},
    // Its pause between two attempts is 10 ms by default.
    ...(waitTimeout !== undefined && { acquireTimeout: waitTimeout }),
  };
  return {
    async acquire(resource) {
      const mutex = new RedlockMutex([...clients], resource, options);
      await mutex.acquire();
      return () => mutex.release();
    },
  };
};

const redlockUniversal: Peer = (clients, { ttl, waitTimeout }) => {
  const options = {
    adapters: clients.map((client) => new IoredisAdapter(client)),
    ttl,
    ...(waitTimeout !== undefined && {
      retryDelay: universalDelay,
      retryAttempts: Math.ceil(waitTimeout / universalDelay),
    }),
  };
  return {
    async acquire(resource) {
      // The library is designed for one object per key.
      const redlock = createRedlock({ ...options, key: resource });
      const handle = await redlock.acquire();
      return () => redlock.release(handle);
    },
  };
};

/** The other libraries by their names in the tables, each with the name of its package. */
const libraries: Readonly<Record<string, { readonly packageName: string; readonly peer: Peer }>> = {
  redlock: { packageName: "redlock", peer: redlockOf(Redlock) },
  "redis-semaphore": { packageName: "redis-semaphore", peer: redisSemaphore },
  "redlock-universal": { packageName: "redlock-universal", peer: redlockUniversal },
  sesamecare: { packageName: "@sesamecare-oss/redlock", peer: redlockOf(SesamecareRedlock) },
};

export const peerPackages: readonly string[] = Object.values(libraries).map(({ packageName }) => packageName);

/** Opens each library on clients with these options; the keys are the names with `suffix` appended. */
export function peersOn(suffix: string, options?: ClientOptions): Readonly<Record<string, OpenContender>> {
  const opened = Object.entries(libraries).map(([name, { peer }]): [string, OpenContender] => [
    `${name}${suffix}`,
    openerOf(peer, options),
  ]);
  return Object.fromEntries(opened);
}

function openerOf(peer: Peer, options?: ClientOptions): OpenContender {
  return async (name, terms) => {
    const clients = await openClients(terms.urls, options);
    return {
      name,
      ...peer(clients, terms),
      ready: () => untilAnswered(clients),
      async quit() {
        closeClients(clients);
      },
    };
  };
}
