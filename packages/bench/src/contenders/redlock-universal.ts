import { createRedlock, IoredisAdapter } from "redlock-universal";
import { closeClients, openClients, untilAnswered } from "../clients.ts";
import type { OpenContender } from "../contender.ts";

export const openRedlockUniversal: OpenContender = async (name, { urls, ttl }) => {
  const clients = await openClients(urls);
  const adapters = clients.map((client) => new IoredisAdapter(client));
  return {
    name,
    async acquire(resource) {
      const redlock = createRedlock({ adapters, key: resource, ttl });
      const handle = await redlock.acquire();
      return () => redlock.release(handle);
    },
    ready: () => untilAnswered(clients),
    async quit() {
      closeClients(clients);
    },
  };
};
