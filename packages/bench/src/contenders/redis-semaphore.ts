import { RedlockMutex } from "redis-semaphore";
import { type ClientOptions, closeClients, openClients, untilAnswered } from "./clients.ts";
import { acquireInOrder, type OpenContender, type Release } from "./contender.ts";

export function redisSemaphoreOn(clientOptions?: ClientOptions): OpenContender {
  return async (name, { urls, ttl, waitTimeout }) => {
    const clients = await openClients(urls, clientOptions);
    const options = {
      lockTimeout: ttl,
      // By default it throws where nobody can catch it when a lock is lost, and the benchmark would end there.
      onLockLost: () => {},
      // Its pause between two attempts is 10 ms by default.
      ...(waitTimeout !== undefined && { acquireTimeout: waitTimeout }),
    };
    const acquire = async (resource: string): Promise<Release> => {
      const mutex = new RedlockMutex(clients, resource, options);
      await mutex.acquire();
      return () => mutex.release();
    };
    return {
      name,
      acquire,
      acquireAll: (resources) => acquireInOrder(resources, acquire),
      // A mutex keeps itself extended from the moment it is acquired.
      async using(resource, routine) {
        const release = await acquire(resource);
        await routine();
        await release();
      },
      ready: () => untilAnswered(clients),
      async quit() {
        closeClients(clients);
      },
    };
  };
}
