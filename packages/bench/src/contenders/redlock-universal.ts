import { createRedlock, IoredisAdapter, type Lock } from "redlock-universal";
import { type ClientOptions, closeClients, openClients, untilAnswered } from "./clients.ts";
import { acquireInOrder, type OpenContender, type Release } from "./contender.ts";

/** Between two attempts, ms, 200 as shipped. Under contention 5 to 20 are best for it, and hardly differ. */
const retryDelay = 10;

export function redlockUniversalOn(clientOptions?: ClientOptions): OpenContender {
  return async (name, { urls, ttl, waitTimeout }) => {
    const clients = await openClients(urls, clientOptions);
    const adapters = clients.map((client) => new IoredisAdapter(client));
    const options = {
      adapters,
      ttl,
      ...(waitTimeout !== undefined && { retryDelay, retryAttempts: Math.ceil(waitTimeout / retryDelay) }),
    };
    // An object for each key is how it is made to be used.
    const lockOf = (resource: string): Lock => createRedlock({ ...options, key: resource });
    const acquire = async (resource: string): Promise<Release> => {
      const redlock = lockOf(resource);
      const handle = await redlock.acquire();
      return () => redlock.release(handle);
    };
    return {
      name,
      acquire,
      // Its call for several keys asks one master only.
      acquireAll: (resources) => acquireInOrder(resources, acquire),
      using: (resource, routine) => lockOf(resource).using(routine),
      ready: () => untilAnswered(clients),
      async quit() {
        closeClients(clients);
      },
    };
  };
}
