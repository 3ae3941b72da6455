import Redlock from "redlock";
import { closeClients, openClients, untilAnswered } from "../clients.ts";
import type { OpenContender } from "../contender.ts";

export const openRedlock5: OpenContender = async (name, { urls, ttl }) => {
  const clients = await openClients(urls);
  const redlock = new Redlock(clients);
  return {
    name,
    async acquire(resource) {
      const lock = await redlock.acquire([resource], ttl);
      return () => lock.release();
    },
    ready: () => untilAnswered(clients),
    async quit() {
      closeClients(clients);
    },
  };
};
