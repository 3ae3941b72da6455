import { createRedlock, IoredisAdapter, type Lock, type LockHandle } from "redlock-universal";
import { type Held, type Locker, type LockerSettings, notOffered, type Peer } from "./peer.ts";

interface UniversalLock {
  readonly redlock: Lock;
  readonly handle: LockHandle;
}

/** Its default is 200 ms. Under contention 5 to 20 ms perform best, with little difference between them. */
const bestDelay = 10;

/** redlock-universal 0.8.5. */
export const redlockUniversal: Peer = {
  packageName: "redlock-universal",
  on: lockerOn,
};

function lockerOn(clients: readonly object[], settings: LockerSettings): Locker {
  const { retryCount, retryDelay, waitTimeout } = settings;
  const options = {
    // It was made for several generations of ioredis, and declares its client by one of them.
    adapters: clients.map((client) => new IoredisAdapter(client as never)),
    ...(waitTimeout !== undefined && {
      retryDelay: bestDelay,
      retryAttempts: Math.ceil(waitTimeout / bestDelay),
    }),
    ...(retryCount !== undefined && { retryAttempts: retryCount < 0 ? 1_000_000 : retryCount }),
    ...(retryDelay !== undefined && { retryDelay }),
  };
  // The library is designed for one object for each key and ttl.
  const redlockOf = (key: string, ttl: number): Lock => createRedlock({ ...options, key, ttl });
  return {
    async acquire(resource, ttl) {
      const redlock = redlockOf(resource, ttl);
      return heldOf({ redlock, handle: await redlock.acquire() });
    },
    using: (resource, ttl, routine) => redlockOf(resource, ttl).using(routine),
    // It leaves its handle as it was; the new one counts from before the extension was sent.
    async extend(held, ttl) {
      const { redlock, handle } = held.lock as UniversalLock;
      const acquiredAt = Date.now();
      if (!(await redlock.extend(handle, ttl))) throw new Error("extend came to false");
      return heldOf({ redlock, handle: { ...handle, acquiredAt, ttl } });
    },
    release({ lock }) {
      const { redlock, handle } = lock as UniversalLock;
      return redlock.release(handle);
    },
    permit: notOffered("no semaphore"),
  };
}

function heldOf(lock: UniversalLock): Held {
  const { value, acquiredAt, ttl } = lock.handle;
  const remaining = () => acquiredAt + ttl - Date.now();
  return { token: value, isValid: () => remaining() > 0, remaining, lock };
}
