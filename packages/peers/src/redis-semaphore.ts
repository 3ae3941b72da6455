import { RedlockMutex, RedlockSemaphore } from "redis-semaphore";
import {
  type Held,
  type Locker,
  type LockerSettings,
  NotOfferedError,
  notOffered,
  type Peer,
} from "./peer.ts";

type Mutex = InstanceType<typeof RedlockMutex>;
type Clients = ConstructorParameters<typeof RedlockMutex>[0];
type MutexOptions = NonNullable<ConstructorParameters<typeof RedlockMutex>[2]>;

const keyPrefix = "mutex:";

/** redis-semaphore 5.8. */
export const redisSemaphore: Peer = {
  packageName: "redis-semaphore",
  keyPrefix,
  // It was made for several generations of ioredis, and declares its clients by one of them.
  on: (clients, settings) => lockerOn([...clients] as unknown as Clients, settings),
};

/** A mutex extends itself once it is acquired, unless that is switched off. */
function lockerOn(clients: Clients, settings: LockerSettings): Locker {
  const { retryCount, retryDelay, waitTimeout, extensionThreshold } = settings;
  const acquired = async (resource: string, ttl: number, options: MutexOptions): Promise<Mutex> => {
    const mutex = new RedlockMutex(clients, withoutPrefix(resource), {
      lockTimeout: ttl,
      // Its pause between two attempts is 10 ms by default.
      ...(waitTimeout !== undefined && { acquireTimeout: waitTimeout }),
      ...(retryCount !== undefined && retryCount >= 0 && { acquireAttemptsLimit: retryCount + 1 }),
      ...(retryDelay !== undefined && { retryInterval: retryDelay }),
      ...options,
    });
    await mutex.acquire();
    return mutex;
  };
  return {
    acquire: async (resource, ttl) => heldOf(await acquired(resource, ttl, { refreshInterval: 0 })),
    // The code of its documentation. `onLockLost` is ours: by default it throws an error that no caller can catch.
    async using(resource, ttl, routine) {
      const controller = new AbortController();
      const mutex = await acquired(resource, ttl, {
        ...(extensionThreshold !== undefined && { refreshInterval: ttl - extensionThreshold }),
        onLockLost: (error: Error) => controller.abort(error),
      });
      try {
        return await routine(controller.signal);
      } finally {
        await mutex.release();
      }
    },
    extend: notOffered("extends by itself only"),
    release: ({ lock }) => (lock as Mutex).release(),
    async permit(resource, limit, ttl) {
      const options = { lockTimeout: ttl, acquireAttemptsLimit: 1, refreshInterval: 0 };
      const semaphore = new RedlockSemaphore(clients, withoutPrefix(resource), limit, options);
      return (await semaphore.tryAcquire()) ? () => semaphore.release() : undefined;
    },
  };
}

/** The name of the resource whose key this is; a benchmark gives names. */
function withoutPrefix(key: string): string {
  return key.startsWith(keyPrefix) ? key.slice(keyPrefix.length) : key;
}

function heldOf(mutex: Mutex): Held {
  return {
    token: mutex.identifier,
    isValid: () => mutex.isAcquired,
    remaining: () => {
      throw new NotOfferedError("does not tell what remains");
    },
    lock: mutex,
  };
}
