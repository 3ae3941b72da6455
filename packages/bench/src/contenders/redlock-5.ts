import Redlock from "redlock";
import { type ClientOptions, closeClients, openClients, untilAnswered } from "./clients.ts";
import type { OpenContender } from "./contender.ts";

/**
 * Between two attempts, ms, as shipped (and 100 more or less at random). Of 1 to 200 ms this is best for it under
 * contention: an attempt leaves its votes behind, so the sooner the next one comes the more get in each other's way.
 */
const retryDelay = 200;

export function redlock5On(clientOptions?: ClientOptions): OpenContender {
  return async (name, { urls, ttl, waitTimeout }) => {
    const clients = await openClients(urls, clientOptions);
    const redlock = new Redlock(
      clients,
      waitTimeout === undefined ? {} : { retryDelay, retryCount: Math.ceil(waitTimeout / retryDelay) },
    );
    return {
      name,
      async acquire(resource) {
        const lock = await redlock.acquire([resource], ttl);
        return () => lock.release();
      },
      async acquireAll(resources) {
        const lock = await redlock.acquire([...resources], ttl);
        return () => lock.release();
      },
      using: (resource, routine) => redlock.using([resource], ttl, routine),
      ready: () => untilAnswered(clients),
      async quit() {
        closeClients(clients);
      },
    };
  };
}
