import type { Redis } from "ioredis";
import { built } from "../built-package.ts";
import { type ClientOptions, closeClients, openClients, untilAnswered } from "../clients.ts";
import type { OpenContender } from "../contender.ts";

/** What our own connections differ in from ioredis's defaults, as far as it can matter for the time taken. */
const sameAsOurs: ClientOptions = {
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  enableAutoPipelining: false,
};

/**
 * The floor: the very commands that a lock costs, to all masters at once, done when a quorum has answered yes.
 * No clock, no timer, no time-out, no roll-back, and a token that anybody could guess.
 */
export const openBare: OpenContender = async (name, { urls, ttl }) => {
  const clients = await openClients(urls, sameAsOurs);
  const quorum = Math.floor(clients.length / 2) + 1;
  const { source, sha1 } = built.releaseScript;
  const ready = (): Promise<void> => untilAnswered(clients, (client) => client.script("LOAD", source));
  await ready();
  let count = 0;
  return {
    name,
    async acquire(resource) {
      count += 1;
      const token = count.toString(16).padStart(32, "0");
      await quorumOf(clients, quorum, "OK", (client) => client.set(resource, token, "PX", ttl, "NX"));
      return () => quorumOf(clients, quorum, 1, (client) => client.evalsha(sha1, 1, resource, token));
    },
    ready,
    async quit() {
      closeClients(clients);
    },
  };
};

function quorumOf(
  clients: readonly Redis[],
  quorum: number,
  yes: unknown,
  ask: (client: Redis) => Promise<unknown>,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let votes = 0;
    let against = 0;
    for (const client of clients) {
      ask(client).then(
        (reply) => {
          if (reply === yes) votes += 1;
          else against += 1;
          if (votes === quorum) resolve();
          else if (against > clients.length - quorum) reject(new Error("no quorum"));
        },
        (error) => {
          against += 1;
          if (against > clients.length - quorum) reject(error);
        },
      );
    }
  });
}
