import { RedlockMutex } from "redis-semaphore";
import { closeClients, openClients, untilAnswered } from "../clients.ts";
import type { OpenContender } from "../contender.ts";

export const openRedisSemaphore: OpenContender = async (name, { urls, ttl }) => {
  const clients = await openClients(urls);
  // By default it throws where nobody can catch it when a lock is lost, and the benchmark would end there.
  const options = { lockTimeout: ttl, onLockLost: () => {} };
  return {
    name,
    async acquire(resource) {
      const mutex = new RedlockMutex(clients, resource, options);
      await mutex.acquire();
      return () => mutex.release();
    },
    ready: () => untilAnswered(clients),
    async quit() {
      closeClients(clients);
    },
  };
};
