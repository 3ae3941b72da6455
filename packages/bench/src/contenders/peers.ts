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

/** How users of another library lock. */
type Locking = Pick<Contender, "acquire">;
type Peer = (clients: readonly Redis[], terms: ContenderTerms) => Locking;

/**
 * Pauses between two attempts, ms, as shipped (and 100 more or less at random). Of 1 to 200 ms this is best for redlock 5 under
 * contention: an attempt leaves its votes behind, so the sooner the next one comes the more get in each other's way.
 */
const redlockDelay = 200;
/** 200 as shipped. Under contention 5 to 20 are best for it, and hardly differ. */
const universalDelay = 10;

const retriesOf = (waitTimeout: number | undefined): Readonly<Record<string, number>> =>
  waitTimeout === undefined
    ? {}
    : { retryDelay: redlockDelay, retryCount: Math.ceil(waitTimeout / redlockDelay) };

const redlock5: Peer = (clients, { ttl, waitTimeout }) => {
  const redlock = new Redlock(clients, retriesOf(waitTimeout));
  return {
    async acquire(resource) {
      const lock = await redlock.acquire([resource], ttl);
      return () => lock.release();
    },
  };
};

/** A fork of redlock 5. */
const sesamecare: Peer = (clients, { ttl, waitTimeout }) => {
  const redlock = new SesamecareRedlock(clients, retriesOf(waitTimeout));
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
    // By default it throws where nobody can catch it when a lock is lost, and the benchmark would end there.
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
      // An object for each key is how it is made to be used.
      const redlock = createRedlock({ ...options, key: resource });
      const handle = await redlock.acquire();
      return () => redlock.release(handle);
    },
  };
};

/** The other libraries, by the names they have in every table, and by those of their packages. */
const libraries: Readonly<Record<string, { readonly packageName: string; readonly peer: Peer }>> = {
  redlock: { packageName: "redlock", peer: redlock5 },
  "redis-semaphore": { packageName: "redis-semaphore", peer: redisSemaphore },
  "redlock-universal": { packageName: "redlock-universal", peer: redlockUniversal },
  sesamecare: { packageName: "@sesamecare-oss/redlock", peer: sesamecare },
};

export const peerPackages: readonly string[] = Object.values(libraries).map(({ packageName }) => packageName);

/** Each of them, on clients with these options, by its name and `suffix`. */
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
